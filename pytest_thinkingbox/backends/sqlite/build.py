"""Making a template: schema, seed and start state become one file that is never written again."""

from __future__ import annotations

import hashlib
import inspect
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event
from sqlalchemy.pool import NullPool

from pytest_thinkingbox.backends.server.sqlite_rows import check_tables, is_sqlite, opened, tables_of
from pytest_thinkingbox.backends.sqlite.catalog import Catalog, quote
from pytest_thinkingbox.backends.sqlite.decoding import decode_text
from pytest_thinkingbox.backends.sqlite.script import run_script
from pytest_thinkingbox.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy import MetaData

Source = Path | Callable[..., None]


def load_schema(path: Path, schema: MetaData | Source) -> None:
    """Create the tables in an empty file. Foreign keys are off: a migration may rebuild tables."""
    if isinstance(schema, Path) or callable(schema):
        run_source(path, schema, {}, what="schema", foreign_keys=False)
    else:
        run_source(
            path, lambda connection: schema.create_all(connection), {}, what="schema", foreign_keys=False
        )


def run_source(
    path: Path, source: Source, parameters: Mapping[str, Any], *, what: str, foreign_keys: bool
) -> None:
    """Run a .sql file or call `source(connection, **parameters)` and commit what it did.

    Raises ConfigurationError when it fails, in whole or in part.
    """
    if isinstance(source, Path):
        is_file = is_sqlite(source)
        # By URI, so that ATTACH takes one too.
        connection = sqlite3.connect(path.absolute().as_uri(), uri=True, isolation_level=None)
        try:
            _set_up(connection, foreign_keys=foreign_keys and not is_file)
            if not is_file:
                run_script(connection, source, what=what)
            elif what == "schema":
                with opened(source, what=what) as whole:
                    whole.backup(connection)
            else:
                _copy_rows(connection, source, what=what)
        finally:
            connection.close()
    else:
        _call(path, source, parameters, what=what, foreign_keys=foreign_keys)
    _check(path, f"{what} {describe(source)}")


def _copy_rows(connection: sqlite3.Connection, path: Path, *, what: str) -> None:
    """Those of a file of SQLite, which is what was there in the end: no trigger of the schema adds to it."""
    with opened(path, what=what) as source:
        given = tables_of(source, path, what=what)
    known = tables_of(connection, path, what=what)
    check_tables(given, known, path, what=what)
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    connection.execute("ATTACH ? AS source", [f"{path.absolute().as_uri()}?mode=ro"])
    connection.execute("BEGIN")
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {quote(name)}")
    for table, columns in given.items():
        written = ", ".join(quote(one) for one in columns)
        try:
            connection.execute(
                f"INSERT INTO main.{quote(table)} ({written}) SELECT {written} FROM source.{quote(table)}"
            )
        except sqlite3.Error as error:
            raise ConfigurationError(f"{what} {path}: {table}: {error}") from error
    for _, sql in triggers:
        connection.execute(sql)
    connection.execute("COMMIT")


def _call(
    path: Path, function: Callable[..., None], parameters: Mapping[str, Any], *, what: str, foreign_keys: bool
) -> None:
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _record: object) -> None:
        _set_up(connection, foreign_keys=foreign_keys)

    try:
        with engine.connect() as connection:
            function(connection, **parameters)
            if not connection.closed:
                connection.commit()
                connection.connection.commit()  # what was written past SQLAlchemy, through the driver
    except Exception as error:
        raise ConfigurationError(
            f"{what} {describe(function)} does not load: {type(error).__name__}: {error}"
        ) from error
    finally:
        engine.dispose()


def _set_up(connection: sqlite3.Connection, *, foreign_keys: bool) -> None:
    connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")
    connection.execute("PRAGMA synchronous = OFF")  # a template that a crash leaves behind is thrown away


def _check(path: Path, what: str) -> None:
    """Half a seed often shows as rows whose parent is not there, or as work that is not committed."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=1.0)
    try:
        broken = connection.execute("PRAGMA foreign_key_check").fetchmany(4)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise ConfigurationError(
                f"{what} leaves a transaction open: commit and close every connection that it opens itself"
            ) from error
        raise ConfigurationError(f"{what}: foreign keys cannot be checked: {error}") from error
    finally:
        connection.close()
    if broken:
        rows = "; ".join(
            f"{table} rowid {rowid} has no row in {parent}" for table, rowid, parent, _ in broken[:3]
        )
        more = "; and more" if len(broken) > 3 else ""
        raise ConfigurationError(f"{what} loads only in part: {rows}{more}")


def describe(source: Source) -> str:
    """A path, or a function with the file and line that it comes from."""
    if isinstance(source, Path):
        return str(source)
    name = f"{getattr(source, '__module__', '?')}.{getattr(source, '__qualname__', repr(source))}"
    try:
        return f"{name} ({inspect.getsourcefile(source)}:{inspect.getsourcelines(source)[1]})"
    except (TypeError, OSError):
        return name


def publish(built: Path, template: Path) -> None:
    """Copy a finished build into a new file that no connection of the author's code can reach.

    The copy is made through SQLite, so that it is whole even if such a connection is still open; an uncommitted
    transaction of it is not part of the copy.
    """
    source = sqlite3.connect(built)
    target = sqlite3.connect(template)
    try:
        target.execute("PRAGMA synchronous = OFF")
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")
    finally:
        target.close()
        source.close()
    template.chmod(0o444)


def content_hash(uri: str, catalog: Catalog, volatile: frozenset[tuple[str, str]]) -> str:
    """SHA-256 of schema and rows, whatever their order in the file. `volatile` (table, column) values are left out."""
    digest = hashlib.sha256()
    for kind, name, sql in sorted((one.type, one.name, one.sql or "") for one in catalog.objects.values()):
        digest.update(repr((kind, name, sql)).encode("utf-8", "surrogateescape"))
    digest.update(repr(sorted(catalog.pragmas.items())).encode())
    connection = sqlite3.connect(uri, uri=True)
    connection.text_factory = decode_text
    try:
        for table in sorted(catalog.tables.values(), key=lambda table: table.info.name):
            name = table.info.name
            columns = [quote(column) for column in table.info.columns if (name, column) not in volatile]
            total = count = 0
            for row in connection.execute(f"SELECT {', '.join(columns) or 'NULL'} FROM main.{quote(name)}"):
                one = hashlib.sha256(repr(row).encode("utf-8", "surrogateescape")).digest()
                total += int.from_bytes(one)  # a sum, so that the order of rows does not matter
                count += 1
            digest.update(repr((name, count, total % 2**256)).encode("utf-8", "surrogateescape"))
    finally:
        connection.close()
    return digest.hexdigest()
