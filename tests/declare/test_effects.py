from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.declare import Database, Environment, Reply, Server, task_of


def environment(**options: Any) -> Environment:
    database = Database(schema=lambda connection: None)
    return Environment(name="shop", database=database, servers=[Server.functions([print])], **options)


def routes(env: Environment, **options: Any) -> Any:
    @env.task("Do it.", **options)
    def test_it() -> None: ...

    task = task_of(test_it)
    assert task is not None
    return task.routes


def test_a_task_has_the_routes_of_its_environment_and_its_own_win() -> None:
    ok, busy = Reply(200), Reply(503)
    assert routes(environment()) is None
    assert routes(environment(http=True)) == {}
    world = environment(http={"POST /a": ok, "GET /b": [busy, ok]})
    assert routes(world) == {"POST /a": (ok,), "GET /b": (busy, ok)}
    assert list(routes(world, http={"* /c": ok, "GET /b": busy}).items()) == [
        ("* /c", (ok,)),
        ("GET /b", (busy,)),
        ("POST /a", (ok,)),
    ]


def test_replies_of_a_task_need_a_sink() -> None:
    with pytest.raises(TypeError, match="needs an HTTP sink: give the Environment http=True"):
        routes(environment(), http={"* /c": Reply()})


def test_a_working_directory_starts_from_a_folder_that_exists(tmp_path: Path) -> None:
    assert environment(workdir=str(tmp_path)).workdir == tmp_path.resolve()
    assert environment(workdir=True).workdir is True
    with pytest.raises(FileNotFoundError, match="workdir='nowhere' is no folder"):
        environment(workdir="nowhere")
    with pytest.raises(TypeError, match="workdir=3 must be True"):
        environment(workdir=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"http": {"POST /a": []}}, "at least one Reply"),
        ({"http": {"POST /a": {"status": 200}}}, "must be Reply"),
        ({"http": {"post /a": Reply()}}, "must be a method and a path"),
        ({"tools": ["pay"]}, "tools=.*must be Tools"),
    ],
)
def test_wrong_effects_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        environment(**arguments)
