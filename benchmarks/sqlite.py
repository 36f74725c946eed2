"""What isolation costs on SQLite, by the size of the seed, and what reading ten changes costs, by the number of rows.

An attempt is: get a database, change ten rows, commit, cut, read the changes, give back. Beside it, in the same run:
copying the file, changing ten rows, committing and deleting the copy, without reading anything. All figures are
medians; what the first attempt costs, which makes what later ones use again, is printed apart.
"""

from __future__ import annotations

import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _table import Figure, finish, parser
from sqlalchemy import Connection, text

from pytest_thinkingbox import Database, Environment
from pytest_thinkingbox.backends.sqlite import SqliteBackend
from pytest_thinkingbox.backends.sqlite.compare import REFERENCE, read_diff
from pytest_thinkingbox.backends.sqlite.lease import SqliteLease
from pytest_thinkingbox.backends.sqlite.quick import join_candidates

LARGEST_TO_SMALLEST = 10.0
JOIN_TO_PAGES = 10.0
CHANGES = 10
STEPS = ("acquire", "write", "cut", "read", "release")
_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
_SMALL = ("guests", "rooms", "rates")


def main() -> int:
    options = parser(__doc__ or "").parse_args()
    sizes, counts, attempts = [1, 50, 500], [10_000, 1_000_000, 5_000_000], 30
    if options.quick:
        sizes, counts, attempts = [1, 110], [10_000, 300_000], 8
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        folder = Path(name)
        isolated = {size: _isolation(folder, size, attempts) for size in sizes}
        read = {count: _reading(folder, count, attempts) for count in counts}
    figures = []
    for size, milliseconds in isolated.items():
        for step, value in milliseconds.items():
            figures.append(Figure(name=f"seed of {size} MB: {step}", value=value, unit="ms"))
    for count, milliseconds in read.items():
        for step, value in milliseconds.items():
            figures.append(Figure(name=f"10 changes in {count:,} rows: {step}", value=value, unit="ms"))
    small, large = isolated[sizes[0]], isolated[sizes[-1]]
    last = read[counts[-1]]
    figures += [
        Figure(
            name=f"plain copying, {sizes[-1]} MB / {sizes[0]} MB",
            value=large["plain copy"] / small["plain copy"],
            unit="x",
        ),
        Figure(
            name=f"attempt, {sizes[-1]} MB / {sizes[0]} MB",
            value=large["attempt"] / small["attempt"],
            unit="x",
            at_most=LARGEST_TO_SMALLEST,
        ),
        Figure(
            name=f"reading, {counts[-1]:,} rows, join / pages",
            value=last["key join"] / last["pages"],
            unit="x",
            at_least=JOIN_TO_PAGES,
        ),
    ]
    return finish(f"isolation and changes on SQLite, medians of {attempts}", figures, options)


def _isolation(folder: Path, megabytes: int, attempts: int) -> dict[str, float]:
    rows = megabytes * 1000
    environment = _seed_of(rows, width=950)
    backend = SqliteBackend(label="isolation", directory=folder)
    try:
        backend.prepare(environment)
        measured = [_attempt(backend, environment, rows) for _ in range(attempts + 1)]
        lease = backend.acquire(environment, None, attempt_id="where")
        beside = Path(lease.url.removeprefix("sqlite:///")).parent
        copies = [
            _milliseconds(_plain_copy, lease.template.path, beside, rows)[0]
            for _ in range(max(3, attempts // 4))
        ]
    finally:
        backend.close()
    medians = {step: statistics.median(one[step] for one in measured[1:]) for step in STEPS}
    totals = [sum(one.values()) for one in measured]
    return {
        **medians,
        "attempt": statistics.median(totals[1:]),
        "first attempt": totals[0],
        "plain copy": statistics.median(copies),
    }


def _attempt(backend: SqliteBackend, environment: Environment, rows: int) -> dict[str, float]:
    acquire, lease = _milliseconds(backend.acquire, environment, None, attempt_id="a")
    write, _ = _milliseconds(_change, lease, rows)
    cut, _ = _milliseconds(lease.cut)
    read, diff = _milliseconds(lease.read_changes, audit=False)
    release, _ = _milliseconds(lease.release)
    assert len(diff.rows) == CHANGES
    return dict(zip(STEPS, (acquire, write, cut, read, release), strict=True))


def _plain_copy(template: Path, folder: Path, rows: int) -> None:
    path = folder / "plain-copy.sqlite"
    shutil.copyfile(template, path)
    connection = sqlite3.connect(path)
    for number in _changed(rows):
        connection.execute("UPDATE bookings SET total = total + 1 WHERE id = ?", [number])
    connection.commit()
    connection.close()
    path.unlink()


def _reading(folder: Path, rows: int, attempts: int) -> dict[str, float]:
    """By pages, and by joining the two states on the key."""
    environment = _seed_of(rows, width=40)
    backend = SqliteBackend(label="reading", directory=folder)
    pages, joins = [], []
    try:
        for number in range(attempts + 1):
            lease = backend.acquire(environment, None, attempt_id="a")
            _change(lease, rows)
            lease.cut()
            milliseconds, diff = _milliseconds(lease.read_changes, audit=False)
            pages.append(milliseconds)
            assert len(diff.rows) == CHANGES
            if number < 3:
                milliseconds, same = _milliseconds(_join, lease)
                joins.append(milliseconds)
                assert same.rows == diff.rows
            lease.release()
    finally:
        backend.close()
    return {
        "pages": statistics.median(pages[1:]),
        "first time": pages[0],
        "key join": statistics.median(joins),
    }


def _join(lease: SqliteLease) -> Any:
    path = Path(lease.url.removeprefix("sqlite:///"))
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        connection.execute(f"ATTACH ? AS {REFERENCE}", (lease.template.uri,))
        return read_diff(connection, lease.template.catalog, join_candidates)
    finally:
        connection.close()


def _seed_of(rows: int, *, width: int) -> Environment:
    """A table of `rows` rows of about `width` bytes, and a few small ones, as a real seed has."""

    def schema(connection: Connection) -> None:
        connection.exec_driver_sql(
            "CREATE TABLE bookings (id INTEGER PRIMARY KEY, guest INTEGER, note BLOB, total NUMERIC)"
        )
        for name in _SMALL:
            connection.exec_driver_sql(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT)")

    def fill(connection: Connection) -> None:
        numbers, note = _NUMBERS.format(rows), max(1, width - 16)
        connection.exec_driver_sql(
            f"{numbers} INSERT INTO bookings SELECT i, i % 97, randomblob({note}), i FROM n"
        )
        for name in _SMALL:
            connection.exec_driver_sql(
                f"{_NUMBERS.format(100)} INSERT INTO {name} SELECT i, '{name} ' || i FROM n"
            )

    return Environment(name="benchmark", database=Database(schema=schema, seed=fill), servers=[])


def _changed(rows: int) -> list[int]:
    return [1 + number * rows // CHANGES for number in range(CHANGES)]


def _change(lease: SqliteLease, rows: int) -> None:
    with lease.engine.begin() as connection:
        for number in _changed(rows):
            connection.execute(text("UPDATE bookings SET total = total + 1 WHERE id = :id"), {"id": number})


def _milliseconds(function: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[float, Any]:
    """How long it took, and what it returned."""
    start = time.perf_counter()
    result = function(*arguments, **named)
    return (time.perf_counter() - start) * 1000, result


if __name__ == "__main__":
    sys.exit(main())
