"""The knowledge base that the suites have in common."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, MetaData, create_engine, make_url, text

from example_suites.common.knowledge import articles_in, articles_table, fill, search, stems
from tests.example_suites.suites import SUITES, tasks_of
from tests.support.servers import mariadb_server, mysql_server, postgres_server

FILE = """# Articles

## Refunds

Money goes back within ten days.

It goes back to the card
that was charged.

## Late cancellation

Who cancels late pays one night; the rest of the money goes back.

## Cafés

Our cafés are open until 22:00; the nearest one is in "Rue d'Or".
"""


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    path = tmp_path / "articles.md"
    path.write_text(FILE, encoding="utf-8")
    metadata = MetaData()
    articles = articles_table(metadata)
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        metadata.create_all(connection)
        fill(connection, articles, articles_in(path))
        yield connection
    engine.dispose()


def titles(connection: Connection, question: str) -> list[str]:
    return [one["title"] for one in search(connection, question)]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("How do I get refunded?", ["Refunds"]),
        ("cancelling", ["Late cancellation"]),
        ("cancelled nights", ["Late cancellation"]),
        ("money", ["Refunds", "Late cancellation"]),
        ("money of a late guest", ["Late cancellation", "Refunds"]),
        ("money for refunds", ["Refunds", "Late cancellation"]),
        ("CAFÉ", ["Cafés"]),
        ("22", ["Cafés"]),
        ("helicopter", []),
        ("who is it?", []),
        ("", []),
    ],
)
def test_articles_are_found_by_their_words_the_best_first(
    connection: Connection, question: str, found: list[str]
) -> None:
    assert titles(connection, question) == found


@pytest.mark.parametrize(
    "question", ['"', "d'Or", "money AND (", "NEAR(money", "* money:*", "money'; --", "\0"]
)
def test_a_question_is_never_a_query(connection: Connection, question: str) -> None:
    assert len(titles(connection, question)) <= 2


def test_a_body_keeps_its_paragraphs_only(connection: Connection) -> None:
    [article] = search(connection, "refund")
    assert article["body"] == "Money goes back within ten days.\n\nIt goes back to the card that was charged."
    assert set(article) == {"id", "title", "body"}


def test_the_articles_are_found_by_the_index(connection: Connection) -> None:
    plan = connection.execute(
        text("EXPLAIN QUERY PLAN SELECT rowid FROM article_index WHERE article_index MATCH '\"refund\"'")
    )
    assert "VIRTUAL TABLE INDEX" in plan.one().detail
    assert "refund" in stems("Refunding, refunded")


@contextmanager
def in_a_database_of_its_own(server: str) -> Iterator[Engine]:
    """An empty database of a server, dropped again."""
    name = f"knowledge_{secrets.token_hex(4)}"
    admin = create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine = create_engine(make_url(server).set(database=name))
    try:
        yield engine
    finally:
        engine.dispose()
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name}"))
        admin.dispose()


def answers(engine: Engine, rows: list[dict[str, Any]], questions: list[str]) -> list[list[dict[str, Any]]]:
    metadata = MetaData()
    articles = articles_table(metadata)
    with engine.begin() as connection:
        metadata.drop_all(connection)
        metadata.create_all(connection)
        fill(connection, articles, rows)
    with engine.connect() as connection:
        return [search(connection, question) for question in questions]


@pytest.mark.slow
@pytest.mark.parametrize(
    "server", [postgres_server, mariadb_server, mysql_server], ids=["postgresql", "mariadb", "mysql"]
)
def test_servers_answer_as_sqlite_does(server: Callable[[], AbstractContextManager[str]]) -> None:
    with server() as url, in_a_database_of_its_own(url) as engine:
        for suite in SUITES:
            rows = import_module(f"example_suites.{suite}.seed").rows()["articles"]
            questions = [row["title"] for row in rows]
            questions += [str(one.prompt) for one in tasks_of(suite)]
            here = create_engine("sqlite://")
            assert answers(engine, rows, questions) == answers(here, rows, questions)
            here.dispose()
