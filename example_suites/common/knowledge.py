"""A knowledge base: articles, and a full-text search in the way of the database at hand.

SQLite keeps an FTS5 index beside the table, PostgreSQL a GIN index on its text search vectors, MariaDB and MySQL a
FULLTEXT index. Articles are filled in by the seed and only read after that, so no index ever changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    "fts5(title, body, content='articles', content_rowid='id', tokenize='porter unicode61')"
)
_BY_DIALECT = {
    "sqlite": "SELECT articles.id, articles.title, articles.body FROM article_index "
    "JOIN articles ON articles.id = article_index.rowid WHERE article_index MATCH :words "
    "ORDER BY article_index.rank, articles.id LIMIT :most",
    "postgresql": "SELECT id, title, body FROM articles, to_tsquery('english', :words) AS wanted "
    "WHERE to_tsvector('english', title || ' ' || body) @@ wanted "
    "ORDER BY ts_rank(to_tsvector('english', title || ' ' || body), wanted) DESC, id LIMIT :most",
    "mysql": "SELECT id, title, body FROM articles WHERE MATCH (title, body) AGAINST (:words) "
    "ORDER BY MATCH (title, body) AGAINST (:words) DESC, id LIMIT :most",
}
_JOINED = {"sqlite": '" OR "', "postgresql": " | ", "mysql": " "}
_MOST = 5


def articles_table(metadata: MetaData) -> Table:
    """The table `articles` with the index that its database can search."""
    articles = Table(
        "articles",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("title", String(120), nullable=False, unique=True),
        Column("body", Text, nullable=False),
    )
    vector = func.to_tsvector(
        literal_column("'english'"), articles.c.title + literal_column("' '") + articles.c.body
    )
    Index("ix_articles_vector", vector, postgresql_using="gin").ddl_if(dialect="postgresql")
    Index("ix_articles_text", articles.c.title, articles.c.body, mysql_prefix="FULLTEXT").ddl_if(
        dialect=("mysql", "mariadb")
    )
    event.listen(articles, "after_create", _FTS5.execute_if(dialect="sqlite"))
    return articles


def fill(connection: Connection, articles: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert the articles and, where the index does not follow by itself, index them."""
    connection.execute(articles.insert(), list(rows))
    if connection.dialect.name == "sqlite":
        connection.execute(text("INSERT INTO article_index(article_index) VALUES ('rebuild')"))


def search(connection: Connection, question: str) -> list[dict[str, Any]]:
    """The articles that have most to do with the words of a question, at most five; best first."""
    words = re.findall(r"\w+", question)
    if not words:
        return []
    dialect = "mysql" if connection.dialect.name == "mariadb" else connection.dialect.name
    wanted = _JOINED[dialect].join(words)
    found = connection.execute(
        text(_BY_DIALECT[dialect]),
        {"words": f'"{wanted}"' if dialect == "sqlite" else wanted, "most": _MOST},
    )
    return [dict(row) for row in found.mappings()]
