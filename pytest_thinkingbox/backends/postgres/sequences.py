"""Where sequences stand. What was used up is put back, and is no change."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql


def read_sequences(connection: psycopg.Connection[Any]) -> dict[int, tuple[int, bool]]:
    """Where every sequence stands: its last value, and whether that was given out."""
    found = connection.execute(
        "SELECT s.seqrelid::int8, s.seqrelid::regclass::text FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid"
        " WHERE c.relpersistence <> 't'"
    ).fetchall()
    if not found:
        return {}
    parts = [
        sql.SQL("SELECT {}::int8, last_value, is_called FROM {}").format(sql.Literal(oid), sql.SQL(name))
        for oid, name in found
    ]
    return {
        oid: (last, called)
        for oid, last, called in connection.execute(sql.SQL(" UNION ALL ").join(parts)).fetchall()
    }
