"""Seeds row by row, and the people in them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Connection, Integer, MetaData, Table

from example_suites.common.sequences import advance_sequences

_FIRST = [
    "Ada", "Bruno", "Celia", "Dmitri", "Esme", "Farid", "Greta", "Hugo", "Imani", "Jarek", "Keiko", "Leon", "Maud",
    "Nils", "Opal", "Pavel", "Quinn", "Rosa", "Stellan", "Tamsin", "Umar", "Vera", "Wendell", "Xenia", "Yorick",
    "Zelda", "Alban", "Birgit", "Cosmo", "Delphine",
]  # fmt: skip
_LAST = [
    "Abara", "Birch", "Calloway", "Drummond", "Eklund", "Fonseca", "Garrick", "Hollis", "Ibsen", "Jankovic", "Kettle",
    "Larch", "Mwangi", "Norgaard", "Oduya", "Pettifer", "Quayle", "Rasmussen", "Sorrel", "Thackeray", "Ueda",
    "Villiers", "Winslow",
]  # fmt: skip


def person(number: int) -> str:
    """A name; the first 690 are all different."""
    return f"{_FIRST[number % len(_FIRST)]} {_LAST[number % len(_LAST)]}"


def key() -> Column[Any]:
    return Column("id", Integer, primary_key=True)


class Rows:
    """The rows of a seed, with keys that count from 1 in each table."""

    def __init__(self, metadata: MetaData) -> None:
        self._metadata = metadata
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
        advance_sequences(connection, self._metadata)
