"""What the companies of the pool have in common: seeds row by row, names of people, the form of amounts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, dataclass_transform, get_args

import pytest
from annotated_types import Ge, Le, MaxLen, MinLen
from sqlalchemy import CheckConstraint, Column, Connection, Integer, MetaData, Row, Table, func, select, text

Id = Annotated[int, Ge(1), Le(2_147_483_647)]
Cents = Annotated[int, Ge(0), Le(100_000_000)]
Line = Annotated[str, MinLen(1), MaxLen(120)]
Section = Annotated[str, MinLen(3), MaxLen(3)]

_FIRST = [
    "Ada", "Bruno", "Celia", "Dmitri", "Esme", "Farid", "Greta", "Hugo", "Imani", "Jarek", "Keiko", "Leon",
    "Maud", "Nils", "Opal", "Pavel", "Quinn", "Rosa", "Stellan", "Tamsin", "Umar", "Vera", "Wendell", "Xenia",
    "Yorick", "Zelda", "Alban", "Birgit", "Cosmo", "Delphine",
]  # fmt: skip
_LAST = [
    "Abara", "Birch", "Calloway", "Drummond", "Eklund", "Fonseca", "Garrick", "Hollis", "Ibsen", "Jankovic",
    "Kettle", "Larch", "Mwangi", "Norgaard", "Oduya", "Pettifer", "Quayle", "Rasmussen", "Sorrel", "Thackeray",
    "Ueda", "Villiers", "Winslow",
]  # fmt: skip


def person(number: int) -> str:
    """A name; the first 690 are all different."""
    return f"{_FIRST[number % len(_FIRST)]} {_LAST[number % len(_LAST)]}"


def amount(cents: int) -> str:
    """1240 as people write it: 12.40."""
    return f"{cents // 100}.{cents % 100:02d}"


def day(moment: date) -> str:
    """A date as people say it: Friday 15 May."""
    return f"{moment:%A} {moment.day} {moment:%B}"


def key() -> Column[Any]:
    return Column("id", Integer, primary_key=True)


def one_of(column: str, literal: Any) -> CheckConstraint:
    """A check that the column holds one of the literal's values."""
    values = ", ".join(f"'{value}'" for value in get_args(literal))
    return CheckConstraint(f"{column} IN ({values})")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def template(cls: type) -> type:
    """The class of the instances of one template: what is different in each of them, and its `id`."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def each(cases: Iterable[Any]) -> pytest.MarkDecorator:
    """One task for each instance of a template, as the test's parameter `case`."""
    return pytest.mark.parametrize("case", [pytest.param(one, id=one.id) for one in cases])


def tags(kind: str, level: Literal["easy", "middle", "hard"], company: str, name: str) -> list[str]:
    """Tags of a task. Tasks of one template ask in the same words, whatever has to be done in each of them."""
    return [f"kind:{kind}", f"difficulty:{level}", f"domain:{company}", f"template:{company}-{name}"]


class Rows:
    """The rows of a seed, with keys that count from 1 in each table."""

    def __init__(self, metadata: MetaData) -> None:
        self._tables: dict[Table, list[dict[str, Any]]] = {table: [] for table in metadata.sorted_tables}

    def add(self, table: Table, **columns: Any) -> int:
        """The key of the new row. Columns that are not named are NULL."""
        rows = self._tables[table]
        empty = dict.fromkeys(one.name for one in table.columns)
        rows.append({**empty, "id": len(rows) + 1, **columns})
        return len(rows)

    def count(self, table: Table) -> int:
        return len(self._tables[table])

    def fill(self, connection: Connection) -> None:
        """Fill empty tables."""
        for table, rows in self._tables.items():
            connection.execute(table.insert(), rows)
            if connection.dialect.name == "postgresql":  # which does not notice keys that were given
                highest = select(func.max(table.c.id)).scalar_subquery()
                connection.execute(select(func.setval(text(f"'{table.name}_id_seq'"), highest)))


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
    found(db, table, number, what)
    db.execute(table.update().where(table.c.id == number).values(**columns))
    return {"id": number, **columns}
