"""A database as SQL: the client that could write it is not everywhere."""

from __future__ import annotations

from io import StringIO

from pytest_thinkingbox.backends.mysql import sql, values
from pytest_thinkingbox.backends.mysql.catalog import ROUTINES, Catalog, Code, read_catalog
from pytest_thinkingbox.backends.mysql.compare import read_rows
from pytest_thinkingbox.backends.mysql.sql import Connection, query

_DELIMITER = "//$$//"
_RESET = "SET foreign_key_checks = 1, unique_checks = 1;"


def dump_of(connection: Connection, database: str) -> str:
    """Tables with their rows and counters, then what is code. As the administrator, with `values.SETTINGS`."""
    catalog = read_catalog(connection, database)
    file = StringIO()
    file.write(f"{values.SETTINGS};\n")
    for name, create in catalog.creates.items():
        file.write(f"{create};\n")
        if name in catalog.sequences:
            [(following,)] = query(
                connection, f"SELECT next_not_cached_value FROM {sql.name(database, name)}"
            )
            file.write(f"SELECT SETVAL({sql.name(name)}, {following}, 0);\n")
    for name, table in catalog.tables.items():
        into = f"INSERT INTO {sql.name(name)} ({sql.names(table.written)}) VALUES"
        for row in read_rows(connection, database, table, table.written):
            terms = ", ".join(values.literal(row[one], table.kinds[one]) for one in table.written)
            file.write(f"{into} ({terms});\n")
    file.write(f"{_RESET}\nDELIMITER {_DELIMITER}\n")
    for one in _in_order(catalog):
        if one.sql_mode is not None:
            file.write(f"SET sql_mode = {sql.text(one.sql_mode)}{_DELIMITER}\n")
        file.write(f"{sql.without_definer(one.statement)}{_DELIMITER}\n")
    file.write("DELIMITER ;\n")
    return file.getvalue()


def _in_order(catalog: Catalog) -> list[Code]:
    """Routines, which nobody checks before they are called, then views after those that they read, then triggers."""
    views = [name for kind, name in catalog.objects if kind == "view"]
    waiting = dict(zip(views, catalog.code, strict=False))
    routines = [kind for kind, _ in catalog.objects if kind in ROUTINES]
    others = catalog.code[len(views) :]
    ordered = list(others[: len(routines)])
    while waiting:
        # A view cannot read itself, nor one that reads it; should a name be hidden from us, what is left goes as it is.
        ready = [
            name
            for name, one in waiting.items()
            if not any(sql.name(other) in one.statement for other in waiting if other != name)
        ] or list(waiting)
        ordered += [waiting.pop(name) for name in ready]
    return ordered + list(others[len(routines) :])
