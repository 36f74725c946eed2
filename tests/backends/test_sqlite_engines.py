"""Engines that share compiled statements and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, literal, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction

from pytest_thinkingbox.backends.sqlite import SqliteBackend
from tests.backends.sqlite_worlds import environment_of

rooms = environment_of("CREATE TABLE rooms (id INTEGER PRIMARY KEY)", "INSERT INTO rooms VALUES (1)")


class abs_seen(GenericFunction[Any]):
    inherit_cache = True


compiled: list[str] = []


@compiles(abs_seen)
def _compile(element: abs_seen, compiler: Any, **options: Any) -> str:
    compiled.append("once")
    return f"abs({compiler.process(element.clauses, **options)})"


@contextmanager
def attempt(backend: SqliteBackend, name: str) -> Iterator[Engine]:
    lease = backend.acquire(rooms, None, attempt_id=name)
    try:
        yield lease.engine
    finally:
        lease.release()


@contextmanager
def judged(backend: SqliteBackend, name: str) -> Iterator[Connection]:
    lease = backend.acquire(rooms, None, attempt_id=name)
    try:
        lease.cut()
        yield lease.connect_after()
    finally:
        lease.release()


def test_a_statement_is_compiled_once_for_all_attempts(backend: SqliteBackend) -> None:
    compiled.clear()
    for number in (-1, -2, -3):
        with attempt(backend, f"a{number}") as engine, engine.connect() as connection:
            assert connection.scalar(select(abs_seen(literal(number)))) == -number
    assert compiled == ["once"]


def test_a_checkers_statement_is_compiled_once_for_all_attempts(backend: SqliteBackend) -> None:
    compiled.clear()
    for number in (-1, -2, -3):
        with judged(backend, f"a{number}") as connection:
            assert connection.scalar(select(abs_seen(literal(number)))) == -number
    assert compiled == ["once"]


def test_a_listener_of_one_attempt_does_not_hear_another(backend: SqliteBackend) -> None:
    heard: list[str] = []
    with attempt(backend, "a") as one, attempt(backend, "b") as other:
        event.listen(one, "handle_error", lambda context: heard.append("one"))
        event.listen(other, "handle_error", lambda context: heard.append("other"))
        with other.connect() as connection, pytest.raises(OperationalError):
            connection.execute(text("SELECT * FROM nowhere"))
    assert heard == ["other"]


def test_a_listener_of_an_ended_attempt_is_not_there_in_the_next(backend: SqliteBackend) -> None:
    heard: list[str] = []
    with attempt(backend, "a") as engine:
        event.listen(engine, "handle_error", lambda context: heard.append("a"))
    with attempt(backend, "b") as engine, engine.connect() as connection, pytest.raises(OperationalError):
        connection.execute(text("SELECT * FROM nowhere"))
    assert heard == []


def test_columns_of_one_attempt_do_not_show_in_another(backend: SqliteBackend) -> None:
    everything = text("SELECT * FROM rooms")
    with attempt(backend, "a") as engine, engine.begin() as connection:
        connection.execute(text("ALTER TABLE rooms ADD COLUMN floor INTEGER DEFAULT 2"))
        assert [dict(row) for row in connection.execute(everything).mappings()] == [{"id": 1, "floor": 2}]
    with attempt(backend, "b") as engine, engine.connect() as connection:
        assert [dict(row) for row in connection.execute(everything).mappings()] == [{"id": 1}]


def test_connections_have_the_functions_that_sqlalchemy_promises(backend: SqliteBackend) -> None:
    matches = select(literal("room 12").regexp_match("[0-9]+$"))
    with attempt(backend, "a") as engine, engine.connect() as connection:
        assert connection.scalar(matches) == 1
    with judged(backend, "b") as connection:
        assert connection.scalar(matches) == 1


def test_the_engine_says_where_its_database_is(backend: SqliteBackend) -> None:
    lease = backend.acquire(rooms, None, attempt_id="a")
    try:
        assert str(lease.engine.url) == lease.url
    finally:
        lease.release()
