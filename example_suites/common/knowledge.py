"""A knowledge base: articles, and a full text search with the means of the database at hand.

    articles = articles_table(metadata)                                                        # schema.py
    fill(connection, articles, articles_in(Path(__file__).with_name("knowledge.md")))          # seed.py
    return {"articles": search(desk.db, question)}                                             # reads.py

SQLite finds articles by an FTS5 index, PostgreSQL by a GIN index on text search vectors; on MariaDB and MySQL, whose
FULLTEXT knows no word of two letters, all are read, for they are few. Which comes first is decided here and not by the
database, so that it is the same on all of them. The seed fills the articles in and nobody writes to them after that.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from sqlalchemy import (
    DDL,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    event,
    func,
    literal_column,
    text,
)

_FTS5 = DDL(
    "CREATE VIRTUAL TABLE article_index USING "
    "fts5(words, content='articles', content_rowid='id', tokenize='unicode61 remove_diacritics 0')"
)
_FIND = "SELECT id, title, body, words FROM articles "
_BY_DIALECT = {
    "sqlite": _FIND
    + "WHERE id IN (SELECT rowid FROM article_index WHERE article_index MATCH :wanted) ORDER BY id",
    "postgresql": _FIND + "WHERE to_tsvector('simple', words) @@ to_tsquery('simple', :wanted) ORDER BY id",
}
_QUERY = {"sqlite": '" OR "', "postgresql": "' | '"}
_MOST = 5

_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ations", "ation", "ments", "ment", "ings", "ing", "ies", "ied", "ed", "es", "s", "y", "e")
_LITTLE = """
a an and any are as at be been by can could do does for from had has have how i if in is it its may me my no not of on
or our so that the their them then there they this to was we what when where which who why will with you your
"""
_LITTLE_WORDS = frozenset(_LITTLE.split())


def articles_table(metadata: MetaData) -> Table:
    """The table `articles` with the index that its database can search."""
    articles = Table(
        "articles",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("title", String(120), nullable=False, unique=True),
        Column("body", Text, nullable=False),
        Column("words", Text, nullable=False, comment="what is searched: the stems of title and body"),
    )
    vector = func.to_tsvector(literal_column("'simple'"), articles.c.words)
    Index("ix_articles_vector", vector, postgresql_using="gin").ddl_if(dialect="postgresql")
    event.listen(articles, "after_create", _FTS5.execute_if(dialect="sqlite"))
    return articles


def articles_in(path: Path) -> list[dict[str, Any]]:
    """The articles of a Markdown file, each under a heading of the second level, numbered from 1."""
    _, *parts = re.split(r"^## +", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    split = (part.partition("\n") for part in parts)
    return [
        {"id": number, "title": title.strip(), "body": body}
        for number, (title, _, body) in enumerate(split, 1)
    ]


def fill(connection: Connection, articles: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert articles with id, title and body and, where the index does not follow by itself, index them.

    Line breaks of a body remain only between its paragraphs.
    """
    content = []
    for row in rows:
        body = "\n\n".join(" ".join(part.split()) for part in row["body"].strip().split("\n\n"))
        words = " ".join(stems(f"{row['title']} {body}"))
        content.append({"id": row["id"], "title": row["title"], "body": body, "words": words})
    connection.execute(articles.insert(), content)
    if connection.dialect.name == "sqlite":
        connection.execute(text("INSERT INTO article_index(article_index) VALUES ('rebuild')"))


def search(connection: Connection, question: str) -> list[dict[str, Any]]:
    """The articles that have most to do with the words of a question, at most five; best first.

    A word counts the more the fewer articles hold it, and three times in a title. Ties go to the lower number.
    """
    wanted = sorted(set(stems(question)))
    if not wanted:
        return []
    dialect = connection.dialect.name
    quote = _QUERY.get(dialect, "")
    query = {"wanted": quote[0] + quote.join(wanted) + quote[0]} if quote else {}
    found = connection.execute(text(_BY_DIALECT.get(dialect, _FIND + "ORDER BY id")), query).all()
    held = {row.id: frozenset(row.words.split()) & frozenset(wanted) for row in found}
    rarity = {word: Fraction(1, sum(word in one for one in held.values()) or 1) for word in wanted}

    def rank(row: Any) -> Fraction:
        title = stems(row.title)
        return sum((rarity[word] * (3 if word in title else 1) for word in held[row.id]), Fraction(0))

    best = sorted((row for row in found if held[row.id]), key=rank, reverse=True)[:_MOST]
    return [{"id": row.id, "title": row.title, "body": row.body} for row in best]


def stems(words: str) -> list[str]:
    """The words of a text in small letters, without their endings and without those that say nothing."""
    found = _WORD.findall(unicodedata.normalize("NFKC", words).casefold())
    return [_stem(word) for word in found if word not in _LITTLE_WORDS]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
