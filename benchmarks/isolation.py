"""What isolation costs, by the size of the seed and the backend, beside a container for every attempt.

An attempt is: get a database, change ten rows, commit, cut, read the changes, give back. Figures are medians of
rounds of one attempt for each seed, so that what else the machine does meets all of them alike, with a pause between
in which clones are reset, as the agent's own time would give; the first attempt, for which nothing was made ahead, is
printed apart. Needs Docker, or the embedded server, or `--url`.
`--backends sqlite postgres mariadb` measures them one after the other; `--sizes 1 50 500 2000` chooses seeds, in MB.
What a bound is on is PostgreSQL.
"""

from __future__ import annotations

import secrets
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise

from _postgres import IMAGE, MARIADB_IMAGE, add_options, has_docker, seed_of, server, started
from _table import Figure, finish, parser
from sqlalchemy import text

from pytest_thinkingbox.backends import local_server, make_backend
from pytest_thinkingbox.backends.base import Backend
from pytest_thinkingbox.backends.server.claims import Claim
from pytest_thinkingbox.backends.server.plan import ServerPlan
from pytest_thinkingbox.declare import Environment

LARGEST_TO_SMALLEST = 3.0
CONTAINER_TO_ATTEMPT = 20.0
PAUSE = 0.5
STEPS = ("acquire", "write", "cut", "read", "release")


@contextmanager
def backend_of(kind: str, url: str | None) -> Iterator[Callable[[], Backend]]:
    """Makes a backend for each seed."""
    label = f"isolation-{secrets.token_hex(3)}"
    if kind == "sqlite":
        yield lambda: make_backend("sqlite", label=label)
        return
    with server(url) if kind == "postgres" else started(MARIADB_IMAGE) as found:
        yield lambda: make_backend(found, label=label)


def main() -> int:
    made = parser(__doc__ or "")
    add_options(made)
    made.add_argument(
        "--backends", nargs="+", choices=["sqlite", "postgres", "mariadb"], default=["postgres"]
    )
    made.add_argument("--sizes", nargs="+", type=int, help="of seeds, in MB (default: 1 50 500)")
    options = made.parse_args()
    sizes, attempts = ([1, 50], 6) if options.quick else ([1, 50, 500], 20)
    sizes = options.sizes or sizes
    figures: list[Figure] = []
    totals: dict[int, float] = {}
    for kind in options.backends:
        found = _measure(kind, options.url, sizes, attempts, figures)
        if kind == "postgres":
            totals = found
    if not totals:
        return finish(f"isolation, medians of {attempts}", figures, options)
    figures.append(
        Figure(
            name=f"postgres: attempt, {sizes[-1]} MB / {sizes[0]} MB",
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
    return finish(f"isolation, medians of {attempts}", figures, options)


def _measure(
    kind: str, url: str | None, sizes: list[int], attempts: int, figures: list[Figure]
) -> dict[int, float]:
    """What a whole attempt takes, by the size of its seed, in milliseconds."""
    totals = {}
    with backend_of(kind, url) as make, ExitStack() as stack:
        prepared = {}
        for size in sizes:
            backend = make()
            stack.callback(backend.close)
            environment = seed_of(size * 1000, width=950)
            backend.prepare(environment)
            prepared[size] = (backend, environment)
        measured: dict[int, list[list[float]]] = {size: [] for size in sizes}
        for _ in range(attempts + 1):
            for size, (backend, environment) in prepared.items():
                measured[size].append(_attempt(backend, environment, size * 1000))
            time.sleep(PAUSE)
    for size, found in measured.items():
        totals[size] = statistics.median(sum(one) for one in found[1:])
        name = f"{kind}, seed of {size} MB"
        for step, label in enumerate(STEPS):
            value = statistics.median(one[step] for one in found[1:])
            figures.append(Figure(name=f"{name}: {label}", value=value, unit="ms"))
        figures.append(Figure(name=f"{name}: attempt", value=totals[size], unit="ms"))
        figures.append(Figure(name=f"{name}: first attempt", value=sum(found[0]), unit="ms"))
    return totals


def _attempt(backend: Backend, environment: Environment, rows: int) -> list[float]:
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
