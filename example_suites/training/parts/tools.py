"""What the companies' tools do with a row. They enforce no rule of any policy."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen, MinLen
from sqlalchemy import Connection, Row, Table, select

Cents = Annotated[int, Ge(0), Le(100_000_000)]
Section = Annotated[str, MinLen(3), MaxLen(3)]


def found(db: Connection, table: Table, number: int, what: str) -> Row[Any]:
    """The row with this key. Raises ValueError in words for the agent."""
    row = db.execute(select(table).where(table.c.id == number)).one_or_none()
    if row is None:
        raise ValueError(f"There is no {what} {number}.")
    return row


def inserted(db: Connection, table: Table, **columns: Any) -> dict[str, Any]:
    """Insert a row; its key as a tool's answer."""
    made = db.execute(table.insert().values(**columns)).inserted_primary_key
    return {"id": made[0]} if made else {}


def changed(db: Connection, table: Table, number: int, what: str, **columns: Any) -> dict[str, Any]:
    """Change the row with this key, which must be there; what it holds now as a tool's answer."""
    if not db.execute(table.update().where(table.c.id == number).values(**columns)).rowcount:
        raise ValueError(f"There is no {what} {number}.")
    return {"id": number, **columns}
