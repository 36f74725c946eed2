"""A log of which rows were written, in a schema of every clone that the agent cannot reach.

Row triggers note the key of every row that is inserted, updated or deleted; where a table has no key that the server
can look up, they note only that it was written, and so does TRUNCATE. The functions run with the rights of the
administrator, the triggers fire whatever `session_replication_role` says, and an event trigger, which an owner of
tables cannot stop, notes every DDL statement and the relations that it altered. The log of an altered table proves
nothing; that of the others goes on, unless the statement is of a kind that may reach rows of tables which it does not
name. Counters of the server (`pg_stat_user_tables`) would say less: they can be lost, and know nothing of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from pytest_thinkingbox.backends.postgres.catalog import Table
from pytest_thinkingbox.backends.postgres.compare import names
from pytest_thinkingbox.backends.postgres.queries import LOG_SCHEMA
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.state.model import Row

Connection = psycopg.Connection[Any]
Key = tuple[str, ...]

ROW_TRIGGER = "thinkingbox_row"
WHOLE_TRIGGER = "thinkingbox_whole"
_EVENT_TRIGGER = "thinkingbox_ddl"

_STEADY_TAGS = frozenset({
    "ALTER INDEX", "ALTER SEQUENCE", "ALTER TABLE", "ALTER TRIGGER", "ALTER VIEW", "COMMENT", "CREATE FUNCTION",
    "CREATE INDEX", "CREATE MATERIALIZED VIEW", "CREATE PROCEDURE", "CREATE SCHEMA", "CREATE SEQUENCE", "CREATE TABLE",
    "CREATE TABLE AS", "CREATE TRIGGER", "CREATE TYPE", "CREATE VIEW", "DROP INDEX", "DROP SEQUENCE", "DROP TABLE",
    "DROP TRIGGER", "DROP VIEW", "GRANT", "REFRESH MATERIALIZED VIEW", "REVOKE", "SELECT INTO",
})  # fmt: skip
"""Statements after which rows of a steady table that they do not alter are what they were, and still logged.

Not so, for example, ALTER TYPE ... RENAME VALUE, which changes values everywhere.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTable:
    """A table whose key the log knows; `types` are those of the key, as SQL writes them."""

    table: Table
    types: tuple[str, ...]

    @property
    def keys(self) -> sql.Identifier:
        return sql.Identifier(LOG_SCHEMA, f"k_{self.table.oid}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What a template's log consists of.

    `triggers` are the oids of its triggers, with the table that each is for. `steady` are tables whose log goes on
    while other ones are altered: no partitions, no inheritance, no types that mean something else after DDL.
    `quiet` says that rows can be put back without any code of the schema that runs for them.
    """

    tables: tuple[LoggedTable, ...]
    triggers: Mapping[int, int]
    steady: frozenset[int]
    quiet: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What the log says of one attempt. With `trusted` False it proves nothing.

    `whole` are oids of tables that may have changed anywhere; `altered` says that the schema may have changed too.
    """

    trusted: bool
    altered: bool
    whole: frozenset[int]
    keys: Mapping[LoggedTable, Sequence[Key]]


def remove(connection: Connection) -> None:
    """Take the log out of a database that was made of a template with one."""
    connection.execute(f"DROP EVENT TRIGGER IF EXISTS {_EVENT_TRIGGER}")
    connection.execute(f"DROP SCHEMA IF EXISTS {LOG_SCHEMA} CASCADE")


def install(connection: Connection, tables: Iterable[Table]) -> None:
    """Set the log up, as the administrator. Raises ConfigurationError when its names are taken."""
    row = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", [LOG_SCHEMA]).fetchone()
    if row is not None and row[0]:
        raise ConfigurationError(f"the schema {LOG_SCHEMA} is what changes are logged in: rename yours")
    connection.execute(_SET_UP)
    for table in tables:
        types = _key_types(connection, table)
        function = "whole"
        if types is not None:
            function = f"f_{table.oid}"
            _log_keys(connection, table, function)
        for part in table.parts:
            _trigger(connection, part, ROW_TRIGGER, "INSERT OR UPDATE OR DELETE", "ROW", function, table.oid)
            _trigger(connection, part, WHOLE_TRIGGER, "TRUNCATE", "STATEMENT", "whole", table.oid)
    connection.execute(
        f"CREATE EVENT TRIGGER {_EVENT_TRIGGER} ON ddl_command_end EXECUTE FUNCTION {LOG_SCHEMA}.ddl()"
    )
    connection.execute(f"ALTER EVENT TRIGGER {_EVENT_TRIGGER} ENABLE ALWAYS")


def read_log(connection: Connection, tables: Iterable[Table]) -> Log:
    """What was installed, from the reference."""
    logged = []
    for table in tables:
        types = _key_types(connection, table)
        if types is not None:
            logged.append(LoggedTable(table=table, types=types))
    owners = {part: table.oid for table in tables for part in table.parts}
    triggers = connection.execute(
        "SELECT oid::int8, tgrelid::int8 FROM pg_trigger WHERE tgname = ANY(%s)",
        [[ROW_TRIGGER, WHOLE_TRIGGER]],
    ).fetchall()
    steady = connection.execute(_STEADY, [[table.oid for table in tables]]).fetchall()
    noisy = connection.execute(_NOISY, [[ROW_TRIGGER, WHOLE_TRIGGER]]).fetchone()
    return Log(
        tables=tuple(logged),
        triggers={oid: owners[part] for oid, part in triggers},
        steady=frozenset(oid for (oid,) in steady),
        quiet=noisy is not None and not noisy[0],
    )


_NOISY = """
SELECT EXISTS (SELECT FROM pg_trigger WHERE tgenabled IN ('A', 'R') AND NOT tgname = ANY(%s))
    OR EXISTS (SELECT FROM pg_rewrite WHERE ev_enabled IN ('A', 'R') AND ev_type <> '1')
"""
"""Triggers and rules that an author enabled as ALWAYS or REPLICA: they work where others do not."""

_STEADY = """
SELECT c.oid::int8 FROM pg_class c WHERE c.oid = ANY(%s) AND c.relkind = 'r'
  AND NOT EXISTS (SELECT FROM pg_inherits WHERE c.oid IN (inhrelid, inhparent))
  AND NOT EXISTS (
    SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type e ON e.oid = t.typelem
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      AND NOT (t.typnamespace = 'pg_catalog'::regnamespace AND t.typname !~ '^_?reg')
      AND t.typtype <> 'e' AND coalesce(e.typtype, '') <> 'e')
"""


def read_written(connection: Connection, log: Log) -> Written:
    """In the snapshot of the final state."""
    row = connection.execute(
        f"SELECT (SELECT array_agg(DISTINCT tag) FROM {LOG_SCHEMA}.ddl),"
        f" (SELECT array_agg(DISTINCT relid::int8) FROM {LOG_SCHEMA}.ddl WHERE relid IS NOT NULL),"
        f" (SELECT array_agg(DISTINCT relid::int8) FROM {LOG_SCHEMA}.whole),"
        " (SELECT array_agg(oid::int8) FROM pg_trigger WHERE tgname = ANY(%s) AND tgenabled = 'A')",
        [[ROW_TRIGGER, WHOLE_TRIGGER]],
    ).fetchone()
    assert row is not None
    tags, altered, noted, firing = row
    stopped = {table for oid, table in log.triggers.items() if oid not in set(firing or ())}
    if stopped if tags is None else not _STEADY_TAGS.issuperset(tags):
        return Written(trusted=False, altered=True, whole=frozenset(), keys={})
    whole = {*(noted or ())}
    if tags is not None:
        whole |= stopped | {*(altered or ())} | ({*log.triggers.values()} - log.steady)
    found: dict[LoggedTable, list[Key]] = {}
    parts = [
        sql.SQL("SELECT DISTINCT {}, ARRAY[{}] FROM {}").format(
            sql.Literal(index),
            sql.SQL(", ").join(sql.SQL(f"c{place}::text") for place in range(len(one.types))),
            one.keys,
        )
        for index, one in enumerate(log.tables)
        if one.table.oid not in whole
    ]
    if parts:
        for index, key in connection.execute(sql.SQL(" UNION ALL ").join(parts)).fetchall():
            found.setdefault(log.tables[index], []).append(tuple(key))
    return Written(trusted=True, altered=tags is not None, whole=frozenset(whole), keys=found)


def rows_at(
    connection: Connection, logged: LoggedTable, keys: Sequence[Key], columns: Sequence[str]
) -> list[Row]:
    """The rows with these keys, by the primary key's index; each once, also where two texts are one key (1 and 1.0)."""
    query = sql.SQL("SELECT DISTINCT ON (t.tableoid, t.ctid) {} FROM {} AS t JOIN {} ON {}").format(
        sql.SQL(", ").join(sql.SQL("t.{}").format(sql.Identifier(one)) for one in columns),
        logged.table.relation,
        _listed(logged, keys),
        _joined(logged),
    )
    found = connection.execute(query).fetchall()
    return [dict(zip(columns, row, strict=True)) for row in found]


def _listed(logged: LoggedTable, keys: Sequence[Key]) -> sql.Composable:
    """As literals: in a statement with parameters, a name that holds a % would be taken for one."""
    places = range(len(logged.types))
    arrays = sql.SQL(", ").join(
        sql.SQL("{}::text[]").format(sql.Literal([key[place] for key in keys])) for place in places
    )
    columns = sql.SQL(", ").join(sql.SQL(f"c{place}") for place in places)
    return sql.SQL("unnest({}) AS l ({})").format(arrays, columns)


def _joined(logged: LoggedTable) -> sql.Composable:
    return sql.SQL(" AND ").join(
        sql.SQL("t.{} = l.{}::{}").format(sql.Identifier(name), sql.SQL(f"c{place}"), sql.SQL(declared))
        for place, (name, declared) in enumerate(zip(logged.table.info.key, logged.types, strict=True))
    )


def undo(connection: Connection, logged: LoggedTable, keys: Sequence[Key], *, reference: Connection) -> bool:
    """Put the rows with these keys back as the reference has them. Whether they are the same then.

    Called in a transaction in which triggers of the schema do not fire; of a `quiet` log none is left that does.
    """
    columns = _columns(connection, logged.table)
    connection.execute(
        sql.SQL("DELETE FROM {} AS t USING {} WHERE {}").format(
            logged.table.relation, _listed(logged, keys), _joined(logged)
        )
    )
    wanted = _texts(reference, logged, keys, columns)
    copy = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(logged.table.schema, logged.table.local_name), names(columns)
    )
    with connection.cursor() as cursor, cursor.copy(copy) as rows:
        for row in wanted:
            rows.write_row(row)
    return sorted(_texts(connection, logged, keys, columns), key=repr) == sorted(wanted, key=repr)


def clear(connection: Connection, log: Log) -> None:
    """Forget what was written."""
    connection.execute(
        sql.SQL("DELETE FROM {}; ").format(sql.Identifier(LOG_SCHEMA, "whole"))
        + sql.SQL("; ").join(sql.SQL("DELETE FROM {}").format(one.keys) for one in log.tables)
    )


def _texts(
    connection: Connection, logged: LoggedTable, keys: Sequence[Key], columns: Iterable[str]
) -> list[tuple[Any, ...]]:
    query = sql.SQL("SELECT DISTINCT ON (t.tableoid, t.ctid) {} FROM {} AS t JOIN {} ON {}").format(
        sql.SQL(", ").join(sql.SQL("t.{}::text").format(sql.Identifier(one)) for one in columns),
        logged.table.relation,
        _listed(logged, keys),
        _joined(logged),
    )
    return connection.execute(query).fetchall()


def _columns(connection: Connection, table: Table) -> list[str]:
    """Those that can be written."""
    found = connection.execute(
        "SELECT attname::text FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped"
        " AND attgenerated = '' ORDER BY attnum",
        [table.oid],
    )
    return [name for (name,) in found.fetchall()]


def _key_types(connection: Connection, table: Table) -> tuple[str, ...] | None:
    """None when rows cannot be looked up by their key: there is none, or its `=` is an extension's."""
    if not table.info.key:
        return None
    found = {
        name: (declared, known)
        for name, declared, known in connection.execute(
            "SELECT attname::text, format_type(a.atttypid, a.atttypmod), n.nspname = 'pg_catalog' OR t.typtype = 'e'"
            " FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace n ON n.oid = t.typnamespace"
            " WHERE a.attrelid = %s AND a.attnum > 0",
            [table.oid],
        ).fetchall()
    }
    types = [found[name] for name in table.info.key]
    return tuple(declared for declared, _ in types) if all(known for _, known in types) else None


def _log_keys(connection: Connection, table: Table, function: str) -> None:
    keys = sql.Identifier(LOG_SCHEMA, f"k_{table.oid}")
    connection.execute(
        sql.SQL("CREATE TABLE {} AS SELECT {} FROM {} WITH NO DATA").format(
            keys,
            sql.SQL(", ").join(
                sql.SQL("{} AS {}").format(sql.Identifier(name), sql.SQL(f"c{place}"))
                for place, name in enumerate(table.info.key)
            ),
            table.relation,
        )
    )
    of = {
        row: sql.SQL(", ").join(sql.SQL(row + ".{}").format(sql.Identifier(name)) for name in table.info.key)
        for row in ("OLD", "NEW")
    }
    body = sql.SQL(
        "BEGIN IF TG_OP <> 'INSERT' THEN INSERT INTO {keys} VALUES ({old}); END IF;"
        " IF TG_OP <> 'DELETE' THEN INSERT INTO {keys} VALUES ({new}); END IF; RETURN NULL; END"
    ).format(keys=keys, old=of["OLD"], new=of["NEW"])
    connection.execute(
        sql.SQL(
            "CREATE FUNCTION {} () RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
            " SET search_path = pg_catalog, pg_temp AS {}"
        ).format(sql.Identifier(LOG_SCHEMA, function), sql.Literal(body.as_string(connection)))
    )


def _trigger(
    connection: Connection, part: int, name: str, events: str, each: str, function: str, oid: int
) -> None:
    row = connection.execute("SELECT %s::oid::regclass::text", [part]).fetchone()
    assert row is not None
    relation = sql.SQL(row[0])
    connection.execute(
        sql.SQL(
            f"CREATE TRIGGER {name} AFTER {events} ON {{}} FOR EACH {each} EXECUTE FUNCTION {{}} ({{}})"
        ).format(relation, sql.Identifier(LOG_SCHEMA, function), sql.Literal(str(oid)))
    )
    connection.execute(sql.SQL(f"ALTER TABLE {{}} ENABLE ALWAYS TRIGGER {name}").format(relation))


_SET_UP = f"""
CREATE SCHEMA {LOG_SCHEMA};
CREATE TABLE {LOG_SCHEMA}.whole (relid oid);
CREATE TABLE {LOG_SCHEMA}.ddl (tag text, relid oid);
CREATE FUNCTION {LOG_SCHEMA}.whole() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM {LOG_SCHEMA}.whole WHERE relid = TG_ARGV[0]::oid) THEN
    INSERT INTO {LOG_SCHEMA}.whole VALUES (TG_ARGV[0]::oid);
  END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION {LOG_SCHEMA}.ddl() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  altered oid;
BEGIN
  IF TG_TAG = 'CREATE FUNCTION' AND '{LOG_SCHEMA}' = ALL (SELECT coalesce(schema_name, '')
      FROM pg_event_trigger_ddl_commands()) THEN
    RETURN;  -- what is done below, and nobody else may do
  END IF;
  INSERT INTO {LOG_SCHEMA}.ddl VALUES (TG_TAG, NULL);
  INSERT INTO {LOG_SCHEMA}.ddl SELECT command_tag, CASE classid WHEN 'pg_class'::regclass THEN objid END
    FROM pg_event_trigger_ddl_commands();
  -- An altered table may have lost the columns of its key: writing to it must not fail for the sake of its log.
  FOR altered IN
    WITH RECURSIVE tree (oid) AS (
      SELECT objid FROM pg_event_trigger_ddl_commands() WHERE command_tag = 'ALTER TABLE'
      UNION SELECT inhrelid FROM pg_inherits JOIN tree ON inhparent = tree.oid
    )
    SELECT t.oid FROM tree t JOIN pg_proc p ON p.proname = 'f_' || t.oid::text
    WHERE p.pronamespace = '{LOG_SCHEMA}'::regnamespace AND p.prosrc <> 'BEGIN RETURN NULL; END'
  LOOP
    INSERT INTO {LOG_SCHEMA}.ddl VALUES (TG_TAG, altered);  -- also one that it was only handed down to
    EXECUTE format('CREATE OR REPLACE FUNCTION {LOG_SCHEMA}.f_%s() RETURNS trigger LANGUAGE plpgsql'
      ' AS $f$BEGIN RETURN NULL; END$f$', altered);
  END LOOP;
END $$;
"""
