"""Wrong arguments fail at import with the name of the argument, the value and the way out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sqlalchemy import MetaData

from pytest_thinkingbox import Database, Environment, Limits, Server, call
from pytest_thinkingbox.declare import task_of


def build(context):
    raise AssertionError("no test here builds a server")


def environment(**changes):
    arguments = {
        "name": "shop",
        "database": Database(schema=MetaData()),
        "servers": [Server.in_process(build)],
        **changes,
    }
    return Environment(**arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: environment(name="Shop One"), "Environment: name='Shop One' must be lower-case letters"),
        (
            lambda: environment(database=MetaData()),
            "Environment: database=MetaData() must be a Database(...)",
        ),
        (lambda: environment(servers=Server.in_process(build)), "must be a list"),
        (lambda: environment(servers=[build]), "servers item="),
        (lambda: environment(now="2026-01-01"), "Environment: now='2026-01-01' must be a datetime"),
        (lambda: environment(limits=40), "Environment: limits=40 must be Limits(...)"),
        (lambda: Database(schema=3), "Database: schema=3 must be SQLAlchemy metadata, a path or a callable"),
        (lambda: Database(schema=MetaData(), seed=MetaData()), "must be a path or a callable"),
        (lambda: Database(schema=MetaData(), volatile=["updated_at"]), "volatile item='updated_at' must be"),
        (lambda: Database(schema=MetaData(), bookkeeping="log"), "a list of strings, for example ['log']"),
        (lambda: Limits(turns=0), "Limits: turns=0 must be a number above 0"),
        (
            lambda: Server.http("shop.example"),
            "Server.http: url='shop.example' must be an http:// or https://",
        ),
        (lambda: Server.stdio("server --fast"), "Server.stdio: command='server --fast' must be a list"),
        (lambda: Server.stdio([]), "Server.stdio: command=[] must be a program and its arguments"),
        (
            lambda: Server.functions([]),
            "Server.functions: functions=[] must be a non-empty list of functions",
        ),
        (lambda: call(""), "call: tool='' must be a non-empty string"),
        (lambda: environment().task(""), "shop.task: prompt='' must be a non-empty string"),
        (lambda: environment().task("x", user=3), "shop.task: user=3 must be a non-empty string"),
        (lambda: environment().task("x", start=3), "shop.task: start=3 must be a callable"),
        (lambda: environment().task("x", solution=["get"]), "shop.task: solution[0]='get' must be call(...)"),
        (lambda: environment().task("x", solution=[call.say("x"), call("y")]), "the last step"),
        (lambda: environment().task("x", tags="money"), "tags='money' must be a list of strings"),
        (lambda: environment().task("x", min_pass_rate=95), "min_pass_rate=95 must be a number from 0 to 1"),
        (lambda: environment().task("x", strict="no"), "strict='no' must be True or False"),
        (lambda: environment().task("x")(type("TestX", (), {})), "decorate its methods"),
    ],
)
def test_a_wrong_argument_is_named(make, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Database(schema="nowhere.sql"), "Database: schema='nowhere.sql' is no file"),
        (lambda: environment(instructions=Path("nowhere.md")), "instructions='nowhere.md' is no file"),
        (lambda: environment().task("x", start="nowhere.sql"), "start='nowhere.sql' is no file"),
    ],
)
def test_a_missing_file_is_named(make, message):
    with pytest.raises(FileNotFoundError, match=re.escape(message)):
        make()


def test_an_unknown_argument_is_python_s_own_error():
    with pytest.raises(TypeError, match="'retries'"):
        environment().task("x", retries=3)


def test_the_decorated_function_stays_the_same_function():
    def check(changes):
        return changes

    assert environment().task("x")(check) is check
    assert check(3) == 3
    assert task_of(check).prompt == "x"


def test_instructions_are_read_from_a_file(tmp_path):
    (tmp_path / "policy.md").write_text("Be kind.", encoding="utf-8")
    assert environment(instructions=tmp_path / "policy.md").instructions == "Be kind."


def test_limits_come_from_the_environment_unless_the_task_has_its_own():
    shop = environment(limits=Limits(turns=3))

    @shop.task("x")
    def test_a(changes): ...

    @shop.task("x", limits=Limits(turns=5))
    def test_b(changes): ...

    assert (task_of(test_a).limits.turns, task_of(test_b).limits.turns) == (3, 5)
