"""What a task's servers say they did, as rows of the attempt's own database: records, regrading and rewards need no
other way to keep it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.declare import Database, Environment

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

TABLE = "servers"
EFFECTS = "effects"


def schema(connection: Connection) -> None:
    """One row for each server: its name, what it answered when the attempt began, and its effects at the end, the
    latter as compressed JSON."""
    from sqlalchemy import Column, LargeBinary, MetaData, String, Table, Text

    metadata = MetaData()
    Table(
        TABLE,
        metadata,
        Column("name", String(200), primary_key=True),
        Column("init", Text, nullable=False),
        Column(EFFECTS, LargeBinary(length=2**24), nullable=False),
    )
    metadata.create_all(connection)


def write(engine: Engine, *, init: Mapping[str, Any], effects: Mapping[str, Any]) -> None:
    from sqlalchemy import text

    rows = [
        {
            "name": name,
            "init": json.dumps(init.get(name, {})),
            "effects": zlib.compress(json.dumps(effects[name]).encode("ascii"), 6),
        }
        for name in effects
    ]
    with engine.begin() as connection:
        for row in rows:
            connection.execute(
                text("INSERT INTO servers (name, init, effects) VALUES (:name, :init, :effects)"), row
            )


def environment(name: str, instructions: str) -> Environment:
    """The servers of such an environment belong to its tasks."""
    return Environment(
        name=name, database=Database(schema=schema), servers=[], instructions=instructions, mail=False
    )
