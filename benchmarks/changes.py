"""What reading ten changed rows costs, by the number of rows: the way that attempts go, beside full comparison.

On PostgreSQL also where the agent is an owner that altered another table - or stopped the log of it - so that tables
which it may have reached are compared as a whole. `--backends postgres sqlite mariadb` measures them one after the
other, `--counts` chooses the numbers of rows. PostgreSQL needs Docker, or the embedded server, or `--url`; MariaDB,
which has full comparison only, needs Docker. What a bound is on is PostgreSQL.
"""

from __future__ import annotations

import secrets
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from _postgres import MARIADB_IMAGE, add_options, seed_of, server, started
from _table import Figure, finish, parser
from sqlalchemy import text

from pytest_thinkingbox.backends import make_backend
from pytest_thinkingbox.backends.base import Backend, Lease
from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.backends.server.backend import ServerBackend
from pytest_thinkingbox.backends.server.pool import THREADS
from pytest_thinkingbox.declare import Environment

LARGEST_TO_SMALLEST = 2.0
_DDL = ("ALTER TABLE guests DISABLE TRIGGER USER", "UPDATE guests SET name = 'x' WHERE id = 1")


def main() -> int:
    made = parser(__doc__ or "")
    add_options(made)
    made.add_argument(
        "--backends", nargs="+", choices=["postgres", "sqlite", "mariadb"], default=["postgres"]
    )
    made.add_argument(
        "--counts", nargs="+", type=int, help="numbers of rows (default: 10000 1000000 5000000)"
    )
    options = made.parse_args()
    counts, attempts = ([10_000, 200_000], 5) if options.quick else ([10_000, 1_000_000, 5_000_000], 15)
    counts = options.counts or counts
    figures: list[Figure] = []
    for kind in options.backends:
        found: dict[str, list[float]] = {}
        with _ways(kind, options.url) as ways:
            for count in counts:
                for way, milliseconds in ways(count, attempts).items():
                    found.setdefault(way, []).append(milliseconds)
                    name = f"{kind}, 10 changes in {count:,} rows: {way}"
                    figures.append(Figure(name=name, value=milliseconds, unit="ms"))
        for way, values in found.items():
            bound = LARGEST_TO_SMALLEST if kind == "postgres" and way != _FULL else None
            name = f"{kind}, {way}: {counts[-1]:,} / {counts[0]:,} rows"
            figures.append(Figure(name=name, value=values[-1] / values[0], unit="x", at_most=bound))
    return finish(f"reading changes, medians of {attempts}", figures, options)


_FULL = "full comparison"
_Ways = Callable[[int, int], dict[str, float]]


@contextmanager
def _ways(kind: str, url: str | None) -> Iterator[_Ways]:
    """Measures all ways of reading on one kind of database, for a number of rows."""
    if kind == "sqlite":
        yield _on_sqlite
        return
    with server(url) if kind == "postgres" else started(MARIADB_IMAGE) as found:
        yield lambda rows, attempts: (_on_postgres if kind == "postgres" else _on_mariadb)(
            found, rows, attempts
        )


def _label() -> str:
    return f"changes-{secrets.token_hex(3)}"


def _on_postgres(url: str, rows: int, attempts: int) -> dict[str, float]:
    plain, owner = seed_of(rows, width=32), seed_of(rows, width=32, ddl=True)
    fast = lambda: PostgresBackend(url, label=_label())  # noqa: E731
    return {
        "log": _median(fast, plain, rows, attempts),
        "log of another table stopped": _median(fast, owner, rows, attempts, before=_DDL),
        _FULL: _median(lambda: PostgresBackend(url, label=_label(), fast=False), plain, rows, 3),
    }


def _on_mariadb(url: str, rows: int, attempts: int) -> dict[str, float]:
    return {_FULL: _median(lambda: make_backend(url, label=_label()), seed_of(rows, width=32), rows, 3)}


def _on_sqlite(rows: int, attempts: int) -> dict[str, float]:
    make, environment = lambda: make_backend("sqlite", label=_label()), seed_of(rows, width=32)
    return {
        "pages": _median(make, environment, rows, attempts),
        # An audit reads both ways.
        "pages and full comparison": _median(make, environment, rows, 3, audit=True),
    }


def _median(
    make: Callable[[], Backend],
    environment: Environment,
    rows: int,
    attempts: int,
    *,
    before: tuple[str, ...] = (),
    audit: bool = False,
) -> float:
    """Milliseconds to read what one attempt changed; the first attempt, which reads the seed too, does not count."""
    backend, times = make(), []
    try:
        for _ in range(attempts + 1):
            lease = backend.acquire(environment, None, attempt_id="a")
            _change(lease, rows, before)
            lease.cut()
            _settle(backend)
            started_at = time.perf_counter()
            changes = lease.read_changes(audit=audit).rows
            times.append((time.perf_counter() - started_at) * 1000)
            assert len(changes) == 10 + (1 if before else 0)
            lease.release()
    finally:
        backend.close()
    return statistics.median(times[1:])


def _settle(backend: Backend) -> None:
    """Wait for the databases that are being made ahead: what is measured is the reading alone."""
    if isinstance(backend, ServerBackend):
        all_are_free = threading.Barrier(THREADS + 1)
        for _ in range(THREADS):
            backend._pool._soon(all_are_free.wait)
        all_are_free.wait()


def _change(lease: Lease, rows: int, before: tuple[str, ...]) -> None:
    with lease.engine.begin() as connection:
        for statement in before:
            connection.exec_driver_sql(statement)
        for place in range(10):
            connection.execute(
                text("UPDATE bookings SET total = total + 1 WHERE id = :id"), {"id": 1 + place * rows // 10}
            )


if __name__ == "__main__":
    sys.exit(main())
