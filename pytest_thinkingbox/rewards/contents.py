"""What the tasks of a suite consist of, read without playing them: in a child process, or of plans that are there.

python -m pytest_thinkingbox.rewards.contents OUTPUT ARGUMENT_OF_PYTEST...
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, create_engine

from pytest_thinkingbox.backends.sqlite.backend import SqliteBackend
from pytest_thinkingbox.declare import Environment, Limits, Script, User
from pytest_thinkingbox.declare.database import Database
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.plugin.collect import Plan
from pytest_thinkingbox.plugin.collected import collect
from pytest_thinkingbox.plugin.record import hashes_of
from pytest_thinkingbox.records.model import shallow
from pytest_thinkingbox.selection.contents import (
    GRAM,
    Contents,
    TaskContents,
    World,
    digest,
    grams_of,
    normalised,
    text_digest,
    words_digest,
)
from pytest_thinkingbox.tools.containers import Containers
from pytest_thinkingbox.tools.failures import nobody_to_blame
from pytest_thinkingbox.tools.session import open_toolbox

_IN_PROCESS = ("functions", "in_process")
_KEY_AND_ONE_MORE = 2
"""Columns of a table that is nobody's own."""
_TELLING = 3
"""Parameters of a tool that tell it from others."""


def contents_of_suite(arguments: Sequence[str], *, cwd: Path) -> Contents:
    """Of the tasks that these arguments of pytest collect, in a process of their own: suites may have modules of the
    same name. Raises ConfigurationError with what pytest said."""
    with tempfile.TemporaryDirectory(prefix="thinkingbox-contents-") as folder:
        output = Path(folder) / "contents.json"
        done = subprocess.run(
            [sys.executable, "-m", "pytest_thinkingbox.rewards.contents", str(output), *arguments],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="backslashreplace",
            check=False,
        )
        if not output.is_file():
            raise ConfigurationError(
                done.stdout.strip() or f"{' '.join(arguments)}: status {done.returncode}"
            )
        return Contents.from_json(output.read_text("ascii"))


def contents_of(plans: Mapping[str, Plan]) -> Contents:
    environments = list(dict.fromkeys(plan.task.environment for plan in plans.values()))
    backend = SqliteBackend(label="contents")
    try:
        seeds = [_loaded(environment, backend) for environment in environments]
    finally:
        backend.close()
    order = {environment: index for index, environment in enumerate(environments)}
    return Contents(
        worlds=[_world(environment, seed) for environment, seed in zip(environments, seeds, strict=True)],
        tasks={
            name: _task(name, plan, order[plan.task.environment], seeds[order[plan.task.environment]])
            for name, plan in plans.items()
        },
    )


def _task(name: str, plan: Plan, world: int, seed: str | None) -> TaskContents:
    user = _words_of(plan.user)
    return TaskContents(
        task=name,
        world=world,
        tags=plan.task.tags,
        prompt=text_digest(plan.prompt),
        words=words_digest(plan.prompt),
        prompt_grams=grams_of(plan.prompt),
        user=text_digest(user),
        user_grams=grams_of(user),
        checker=_checker(plan),
        hashes=shallow(hashes_of(plan, seed=seed)),
    )


def _words_of(user: object) -> str:
    """What a user was told or says; of a function its source."""
    match user:
        case None:
            return ""
        case User():
            return " ".join(
                [user.context, *user.private.values(), *(one.value for one in user.checked.values())]
            )
        case Script():
            said = " ".join(user.lines)
            return said if len(normalised(said).split()) >= GRAM else ""  # "Yes, please." is everybody's
    return _source(user)


def _world(environment: Environment, loaded: str | None) -> World:
    schema = environment.database.schema
    tables = schema.tables if isinstance(schema, MetaData) else {}
    tools = {spec.name: spec.input_schema for spec in _tools(environment)}
    policy = str(environment.instructions)
    return World(
        name=environment.name,
        names=tuple(_names(environment)),
        tables=tuple(tables),
        columns={
            ", ".join(sorted(f"{one.name} {one.type}" for one in table.columns)): name
            for name, table in tables.items()
            if len(table.columns) > _KEY_AND_ONE_MORE
        },
        tools=tuple(tools),
        schemas={
            _shape(parameters): name
            for name, parameters in tools.items()
            if len(parameters.get("properties", {})) >= _TELLING
        },
        policy=text_digest(policy),
        policy_grams=grams_of(policy),
        seed=_seed(environment.database, loaded),
    )


def _names(environment: Environment) -> Iterator[str]:
    """The environment's own, and who its policy says it is: the heading up to the colon."""
    yield environment.name
    heading = re.match(r"# ([^:\n]+)", str(environment.instructions))
    if heading:
        yield heading[1].strip().casefold()


def _loaded(environment: Environment, backend: SqliteBackend) -> str | None:
    """Of schema and rows, as SQLite holds them; None where they do not load there."""
    try:
        return backend.seed_hash(environment)
    except ConfigurationError:
        return None


def _seed(database: Database, loaded: str | None) -> str:
    """Of the rows that all tasks begin with, or of what makes them. "" where there are none."""
    if database.seed is None and isinstance(database.schema, MetaData):
        return ""
    return loaded or digest(" ".join(_made_by(database)))


def _made_by(database: Database) -> Iterator[str]:
    for source in (database.schema, database.seed):
        if isinstance(source, Path):
            yield normalised(source.read_text("utf-8", errors="replace"))
        elif source is not None and not isinstance(source, MetaData):
            yield _source(source)


def _shape(schema: Mapping[str, Any]) -> str:
    """The parameters and their types, without titles and descriptions."""

    def bare(part: object) -> object:
        if isinstance(part, Mapping):
            return {name: bare(one) for name, one in part.items() if name not in ("title", "description")}
        return [bare(one) for one in part] if isinstance(part, list) else part

    return json.dumps(bare(schema.get("properties", {})), sort_keys=True)


def _tools(environment: Environment) -> Sequence[Any]:
    """As an agent sees them; nothing is called. Programs and containers are not begun for it: theirs are left out."""
    if not all(server.kind in _IN_PROCESS for server in environment.servers):
        return ()

    async def listed() -> Sequence[Any]:
        async with open_toolbox(
            environment,
            engine=create_engine("sqlite://"),
            database_url="sqlite://",
            attempt_id="contents",
            mail_host="127.0.0.1",
            mail_port=9,
            seed=1,
            limits=Limits(),
            containers=Containers(),
            alive=lambda: True,
            blames=nobody_to_blame,
        ) as toolbox:
            return tuple(toolbox.specs)

    return asyncio.run(listed())


def _checker(plan: Plan) -> str:
    """The body without name, decorators and docstring, with its own values. "" of one that names no value: `assert
    changes == []` is everybody's."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(plan.function))))
    except (OSError, TypeError, SyntaxError):
        return ""
    [function] = tree.body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    body = function.body[1:] if ast.get_docstring(function) else function.body
    values = any(isinstance(node, ast.Constant) for part in body for node in ast.walk(part))
    if not values and not plan.parameters:
        return ""
    return digest(f"{' '.join(map(ast.dump, body))} {dict(plan.parameters)}")


def _source(function: Any) -> str:
    code: Any = function if inspect.isroutine(function) else type(function)
    try:
        return inspect.getsource(inspect.unwrap(code))
    except (OSError, TypeError):
        return f"{code.__module__}.{code.__qualname__}"


def main(output: str, *arguments: str) -> None:
    try:
        # What is skipped here is played elsewhere.
        found = contents_of(collect(arguments, cwd=Path.cwd(), agent="none", skipped=True).plans)
    except ConfigurationError as error:
        print(error)
        return
    Path(output).write_text(found.to_json(), encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
