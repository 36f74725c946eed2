"""What a database defines: tables to compare, and the statement that makes every object of its schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from pymysql.err import MySQLError

from pytest_thinkingbox.backends.mysql import sql, values
from pytest_thinkingbox.backends.mysql.sql import Connection, query
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.state.model import TableInfo

_AUTO_INCREMENT = re.compile(r"(?m)^(\) ENGINE=\w+) AUTO_INCREMENT=\d+")
_READ_ONLY = "\nREAD ONLY"
_ROUTINES = ("FUNCTION", "PACKAGE", "PACKAGE BODY", "PROCEDURE")
ROUTINES = frozenset(map(str.lower, _ROUTINES))
"""Kinds of objects. MariaDB makes packages of routines where the session's mode is ORACLE."""
UNREADABLE = "reading of "
_JSON_VALID = re.compile(r"json_valid\(`((?:[^`]|``)*)`\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """`kinds` are the names of the columns' types, `json` where a text column must hold JSON; `written` are the
    columns that are not computed."""

    info: TableInfo
    kinds: Mapping[str, str] = field(hash=False)
    written: tuple[str, ...]

    def selected(self, columns: Sequence[str]) -> str:
        return ", ".join(values.selected(one, self.kinds[one]) for one in columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A view, trigger or routine: how it is made, and under which settings of the session."""

    statement: str
    sql_mode: str | None
    charset: str
    collation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The schema of one database.

    `objects` are what two schemas are compared by: (kind, name) and definition. `creates` are the statements that
    make tables and sequences anew, with their counters; `code` what is made once rows are there, in this order.
    """

    tables: Mapping[str, Table]
    objects: Mapping[tuple[str, str], str]
    creates: Mapping[str, str]
    sequences: tuple[str, ...]
    code: tuple[Code, ...]


def read_catalog(connection: Connection, database: str, *, whole: bool = True) -> Catalog:
    """As the administrator. The connection's default database becomes this one, so that names in it are short.

    Without `whole`, tables and views of which the server says nothing but an error are objects of a kind of their own.
    """
    connection.select_db(database)
    here = sql.text(database)
    objects: dict[tuple[str, str], str] = {("database", "defaults"): _defaults(connection, here)}
    creates: dict[str, str] = {}
    sequences: list[str] = []
    views: list[str] = []
    base: list[str] = []
    for name, kind in query(
        connection,
        f"SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA = {here} ORDER BY 1",
    ):
        if kind in ("VIEW", "SYSTEM VIEW"):
            views.append(name)
            continue
        what = "SEQUENCE" if kind == "SEQUENCE" else "TABLE"
        shown = _shown(connection, what, name, None if whole else objects)
        if shown is None:
            continue
        create = shown[1]
        creates[name] = create
        if kind == "SEQUENCE":
            sequences.append(name)
            objects["sequence", name] = create
        else:
            base.append(name)
            objects["table", name] = _AUTO_INCREMENT.sub(r"\1", create)
        if kind == "SYSTEM VERSIONED":
            objects["table", name] += "\nSYSTEM VERSIONED"
    code = _views(connection, views, objects, whole=whole)
    code += _routines(connection, here, objects)
    code += _triggers(connection, here, objects)
    _events(connection, here, objects)
    mariadb = _is_mariadb(connection)
    if not mariadb:
        _of_mysql_alone(connection, here, objects)
    return Catalog(
        tables=_tables(connection, here, base, _json_columns(connection, here) if mariadb else set()),
        objects=objects,
        creates=creates,
        sequences=tuple(sequences),
        code=tuple(code),
    )


def refuse_unsupported(catalog: Catalog, environment: str) -> None:
    """Raises ConfigurationError for what a seed may not hold, because attempts could not start from the same."""
    if not catalog.tables:
        raise ConfigurationError(f"environment {environment!r}: its schema makes no table")
    for (kind, name), definition in catalog.objects.items():
        if kind == "event":
            raise ConfigurationError(
                f"environment {environment!r}: the event {name} would change databases at times of its own; "
                "leave it out of the schema"
            )
        if kind == "library":
            raise ConfigurationError(f"environment {environment!r}: the library {name} cannot be copied")
        if definition.endswith(_READ_ONLY):
            raise ConfigurationError(
                f"environment {environment!r}: its schema makes the database read-only; end it with "
                "ALTER DATABASE READ ONLY = 0"
            )
        if definition.endswith("\nSYSTEM VERSIONED"):
            raise ConfigurationError(
                f"environment {environment!r}: the history of the system-versioned table {name} cannot be copied"
            )


def _defaults(connection: Connection, here: str) -> str:
    [(charset, collation)] = query(
        connection,
        "SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA"
        f" WHERE SCHEMA_NAME = {here}",
    )
    return f"CHARACTER SET {charset} COLLATE {collation}"


def _tables(
    connection: Connection, here: str, base: Sequence[str], json: Set[tuple[str, str]]
) -> dict[str, Table]:
    """`json` are the columns that hold JSON without a type that says so: (table, column)."""
    where = f"TABLE_SCHEMA = {here}"
    columns: dict[str, list[str]] = {name: [] for name in base}
    kinds: dict[str, dict[str, str]] = {name: {} for name in base}
    generated: dict[str, set[str]] = {name: set() for name in base}
    computed: dict[str, set[str]] = {name: set() for name in base}
    keys: dict[str, list[str]] = {name: [] for name in base}
    for table, column, kind, extra, expression in query(
        connection,
        "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, EXTRA, GENERATION_EXPRESSION FROM information_schema.COLUMNS"
        f" WHERE {where} ORDER BY TABLE_NAME, ORDINAL_POSITION",
    ):
        if table not in columns:
            continue
        columns[table].append(column)
        kinds[table][column] = "json" if (table, column) in json else kind.lower()
        if expression:
            computed[table].add(column)
        if expression or "auto_increment" in extra.lower():
            generated[table].add(column)
    for table, column in query(
        connection,
        f"SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE {where} AND INDEX_NAME = 'PRIMARY'"
        " ORDER BY TABLE_NAME, SEQ_IN_INDEX",
    ):
        if table in keys:
            keys[table].append(column)
    return {
        name: Table(
            info=TableInfo(
                name=name,
                columns=tuple(columns[name]),
                key=tuple(keys[name]),
                generated=frozenset(generated[name]),
            ),
            kinds=kinds[name],
            written=tuple(one for one in columns[name] if one not in computed[name]),
        )
        for name in base
    }


def _is_mariadb(connection: Connection) -> bool:
    return bool(
        query(
            connection,
            "SELECT 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'information_schema'"
            " AND TABLE_NAME = 'CHECK_CONSTRAINTS' AND COLUMN_NAME = 'TABLE_NAME'",
        )
    )


def _json_columns(connection: Connection, here: str) -> set[tuple[str, str]]:
    """MariaDB has no type for JSON: such a column is a text that is checked."""
    found = query(
        connection,
        "SELECT TABLE_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS"
        f" WHERE CONSTRAINT_SCHEMA = {here}",
    )
    return {
        (table, match[1].replace("``", "`"))
        for table, clause in found
        if (match := _JSON_VALID.fullmatch(clause))
    }


def _of_mysql_alone(connection: Connection, here: str, objects: dict[tuple[str, str], str]) -> None:
    """That a database is read-only (since 8.0.22), and libraries of code (since 9.2)."""
    there = query(
        connection,
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'information_schema'"
        " AND TABLE_NAME IN ('SCHEMATA_EXTENSIONS', 'LIBRARIES')",
    )
    if ("SCHEMATA_EXTENSIONS",) in there:
        [(options,)] = query(
            connection,
            f"SELECT OPTIONS FROM information_schema.SCHEMATA_EXTENSIONS WHERE SCHEMA_NAME = {here}",
        )
        if "READ ONLY=1" in (options or ""):
            objects["database", "defaults"] += _READ_ONLY
    if ("LIBRARIES",) in there:
        for name, language, code in query(
            connection,
            "SELECT LIBRARY_NAME, LANGUAGE, LIBRARY_DEFINITION FROM information_schema.LIBRARIES"
            f" WHERE LIBRARY_SCHEMA = {here}",
        ):
            objects["library", name] = f"{language}\n{code}"


def unreadable(kind: str, name: str) -> tuple[str, str]:
    """The key of an object that cannot be read: of a kind that no checker accounts for by chance."""
    return f"{UNREADABLE}{kind}", name


def because(error: Exception) -> str:
    """Why something cannot be read."""
    return f"not possible: {sql.first_line(error)}"


def _shown(
    connection: Connection, what: str, name: str, objects: dict[tuple[str, str], str] | None
) -> tuple[Any, ...] | None:
    """How something was made. With `objects`, an error is kept there, and None returned."""
    try:
        return query(connection, f"SHOW CREATE {what} {sql.name(name)}")[0]
    except MySQLError as error:
        if objects is None or sql.is_outage(error):
            raise
        objects[unreadable(what.lower(), name)] = because(error)
        return None


def _views(
    connection: Connection, views: Sequence[str], objects: dict[tuple[str, str], str], *, whole: bool
) -> list[Code]:
    code = []
    for name in views:
        shown = _shown(connection, "VIEW", name, None if whole else objects)
        if shown is None:
            continue
        _, statement, charset, collation = shown[:4]
        objects["view", name] = sql.without_definer(statement)
        code.append(Code(statement=statement, sql_mode=None, charset=charset, collation=collation))
    return code


def _routines(connection: Connection, here: str, objects: dict[tuple[str, str], str]) -> list[Code]:
    code = []
    for name, kind in query(
        connection,
        "SELECT ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES"
        f" WHERE ROUTINE_SCHEMA = {here} AND ROUTINE_TYPE IN ({', '.join(map(sql.text, _ROUTINES))})"
        " ORDER BY 2, 1",
    ):
        row = query(connection, f"SHOW CREATE {kind} {sql.name(name)}")[0]
        objects[kind.lower(), name] = f"{sql.without_definer(row[2])}\nsql_mode {row[1]}"
        code.append(Code(statement=row[2], sql_mode=row[1], charset=row[3], collation=row[4]))
    return code


def _triggers(connection: Connection, here: str, objects: dict[tuple[str, str], str]) -> list[Code]:
    code = []
    for name, table in query(
        connection,
        "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS"
        f" WHERE TRIGGER_SCHEMA = {here} ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER",
    ):
        row = query(connection, f"SHOW CREATE TRIGGER {sql.name(name)}")[0]
        objects["trigger", f"{table}.{name}"] = f"{sql.without_definer(row[2])}\nsql_mode {row[1]}"
        code.append(Code(statement=row[2], sql_mode=row[1], charset=row[3], collation=row[4]))
    return code


def _events(connection: Connection, here: str, objects: dict[tuple[str, str], str]) -> None:
    for (name,) in query(
        connection, f"SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {here}"
    ):
        row = query(connection, f"SHOW CREATE EVENT {sql.name(name)}")[0]
        objects["event", name] = sql.without_definer(row[3])
