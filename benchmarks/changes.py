"""What reading ten changed rows costs on PostgreSQL, by the number of rows, beside full comparison.

Needs Docker, or the embedded server, or `--url`.
"""

from __future__ import annotations

import secrets
import statistics
import sys
import time

from _postgres import add_options, seed_of, server
from _table import Figure, finish, parser
from sqlalchemy import text

from pytest_thinkingbox.backends.postgres import PostgresBackend

LARGEST_TO_SMALLEST = 2.0


def main() -> int:
    made = parser(__doc__ or "")
    add_options(made)
    options = made.parse_args()
    counts, attempts = ([10_000, 200_000], 5) if options.quick else ([10_000, 1_000_000, 5_000_000], 15)
    figures, logged = [], {}
    with server(options.url) as url:
        for count in counts:
            logged[count], full = _reading(url, count, attempts)
            figures.append(Figure(name=f"10 changes in {count:,} rows: log", value=logged[count], unit="ms"))
            figures.append(
                Figure(name=f"10 changes in {count:,} rows: full comparison", value=full, unit="ms")
            )
    ratio = logged[counts[-1]] / logged[counts[0]]
    name = f"log, {counts[-1]:,} / {counts[0]:,} rows"
    figures.append(Figure(name=name, value=ratio, unit="x", at_most=LARGEST_TO_SMALLEST))
    return finish(f"reading changes on PostgreSQL, medians of {attempts}", figures, options)


def _reading(url: str, rows: int, attempts: int) -> tuple[float, float]:
    environment = seed_of(rows, width=32)
    log, full = [], []
    for fast, times, number in ((True, log, attempts + 1), (False, full, 3)):
        backend = PostgresBackend(url, label=f"changes-{secrets.token_hex(3)}", fast=fast)
        try:
            for _ in range(number):
                lease = backend.acquire(environment, None, attempt_id="a")
                with lease.engine.begin() as connection:
                    for place in range(10):
                        connection.execute(
                            text("UPDATE bookings SET total = total + 1 WHERE id = :id"),
                            {"id": 1 + place * rows // 10},
                        )
                lease.cut()
                started = time.perf_counter()
                assert len(lease.read_changes(audit=False).rows) == 10
                times.append((time.perf_counter() - started) * 1000)
                lease.release()
        finally:
            backend.close()
    return statistics.median(log[1:]), statistics.median(full[1:])


if __name__ == "__main__":
    sys.exit(main())
