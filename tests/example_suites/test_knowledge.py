"""The knowledge base that the suites have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, MetaData, create_engine, text

from example_suites.common.knowledge import articles_in, articles_table, fill, search, stems

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
