"""What isolation costs on PostgreSQL, by the size of the seed, beside a container for every attempt.

An attempt is: get a database, change ten rows, commit, cut, read the changes, give back. Figures are medians of
attempts one after the other, with a pause between in which clones are reset, as the agent's own time would give; the
first attempt, for which nothing was made ahead, is printed apart. Needs Docker, or the embedded server, or `--url`.
"""

from __future__ import annotations

import secrets
import statistics
import sys
import time
from itertools import pairwise

from _postgres import IMAGE, add_options, has_docker, seed_of, server
from _table import Figure, finish, parser
from sqlalchemy import text

from pytest_thinkingbox.backends import local_server
from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.backends.server.claims import Claim
from pytest_thinkingbox.backends.server.plan import ServerPlan
from pytest_thinkingbox.declare import Environment

LARGEST_TO_SMALLEST = 3.0
CONTAINER_TO_ATTEMPT = 20.0
PAUSE = 0.5
STEPS = ("acquire", "write", "cut", "read", "release")


def main() -> int:
    made = parser(__doc__ or "")
    add_options(made)
    options = made.parse_args()
    sizes, attempts = ([1, 50], 6) if options.quick else ([1, 50, 500], 20)
    figures = []
    totals = {}
    with server(options.url) as url:
        for size in sizes:
            backend = PostgresBackend(url, label=f"isolation-{secrets.token_hex(3)}")
            try:
                environment = seed_of(size * 1000, width=950)
                backend.prepare(environment)
                measured = [_attempt(backend, environment, size * 1000) for _ in range(attempts + 1)]
            finally:
                backend.close()
            medians = [statistics.median(one[step] for one in measured[1:]) for step in range(len(STEPS))]
            totals[size] = statistics.median(sum(one) for one in measured[1:])
            for step, value in zip(STEPS, medians, strict=True):
                figures.append(Figure(name=f"seed of {size} MB: {step}", value=value, unit="ms"))
            figures.append(Figure(name=f"seed of {size} MB: attempt", value=totals[size], unit="ms"))
            figures.append(
                Figure(name=f"seed of {size} MB: first attempt", value=sum(measured[0]), unit="ms")
            )
    figures.append(
        Figure(
            name=f"attempt, {sizes[-1]} MB / {sizes[0]} MB",
            value=totals[sizes[-1]] / totals[sizes[0]],
            unit="x",
            at_most=LARGEST_TO_SMALLEST,
        )
    )
    if has_docker():
        container = statistics.median(_container() for _ in range(3))
        figures.append(Figure(name=f"a container of {IMAGE} per attempt, empty", value=container, unit="ms"))
        figures.append(
            Figure(
                name=f"container / attempt, {sizes[0]} MB",
                value=container / totals[sizes[0]],
                unit="x",
                at_least=CONTAINER_TO_ATTEMPT,
            )
        )
    return finish(f"isolation on PostgreSQL, medians of {attempts}", figures, options)


def _attempt(backend: PostgresBackend, environment: Environment, rows: int) -> list[float]:
    moments = [time.perf_counter()]
    lease = backend.acquire(environment, None, attempt_id="a")
    moments.append(time.perf_counter())
    with lease.engine.begin() as connection:
        for number in range(10):
            connection.execute(
                text("UPDATE bookings SET total = total + 1 WHERE id = :id"), {"id": 1 + number * rows // 10}
            )
    moments.append(time.perf_counter())
    lease.cut()
    moments.append(time.perf_counter())
    diff = lease.read_changes(audit=False)
    moments.append(time.perf_counter())
    lease.release()
    moments.append(time.perf_counter())
    assert len(diff.rows) == 10
    time.sleep(PAUSE)
    return [(after - before) * 1000 for before, after in pairwise(moments)]


def _container() -> float:
    """Start one, wait until it answers, remove it."""
    name = f"each-{secrets.token_hex(4)}"
    claim = Claim(f"thinkingbox-{name}")
    started = time.perf_counter()
    own = local_server(ServerPlan.make(IMAGE, campaign=name))
    try:
        own.ensure(image=None, options={}, say=lambda line: None)
    finally:
        own.stop()
    claim.release()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
