"""The budget of bytes that databases of attempts have on a server."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from pytest_thinkingbox.backends.server import space as spaces
from pytest_thinkingbox.backends.server.pool import Pool
from pytest_thinkingbox.backends.server.space import Space
from pytest_thinkingbox.errors import ConfigurationError

from .pools import settle


def nothing_waits() -> bool:
    return False


def nothing() -> None:
    return None


def test_a_quarter_of_what_is_free_is_shared_by_the_processes_of_a_campaign() -> None:
    assert Space(800, processes=2).budget == 100


def test_what_is_made_ahead_stays_below_the_budget() -> None:
    space = Space(400, processes=1)
    assert [space.spare(40) for _ in range(3)] == [True, True, False]
    space.give(40)
    assert space.spare(40)


def test_where_nobody_says_what_is_free_only_what_is_made_ahead_is_limited() -> None:
    space = Space(None, processes=4)
    assert space.spare(250_000_000)
    assert not space.spare(1)
    started = time.monotonic()
    space.take(10**12, instead=nothing, evict=nothing_waits)
    assert time.monotonic() - started < 1


def test_what_waits_goes_before_an_attempt_has_to_wait() -> None:
    space = Space(400, processes=1)
    assert space.spare(100)

    def evict() -> bool:
        space.give(100)
        return True

    started = time.monotonic()
    space.take(100, instead=nothing, evict=evict)
    assert time.monotonic() - started < 1


def test_an_attempt_waits_for_the_space_of_another_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    space = Space(400, processes=1)
    space.take(90, instead=nothing, evict=nothing_waits)
    threading.Timer(0.2, lambda: space.give(90)).start()
    started = time.monotonic()
    with caplog.at_level(logging.WARNING):
        space.take(50, instead=nothing, evict=nothing_waits)
    assert 0.1 < time.monotonic() - started < 4
    assert [one.message for one in caplog.records] == [
        "databases fill a quarter of the free space of the database server: fewer at a time"
    ]


def test_what_comes_back_is_used_instead_of_new_space() -> None:
    space = Space(400, processes=1)
    space.take(90, instead=nothing, evict=nothing_waits)
    came_back: list[str] = []

    def lend() -> None:
        came_back.append("database")
        space.tell()

    threading.Timer(0.2, lend).start()
    started = time.monotonic()
    assert (
        space.take(90, instead=lambda: came_back.pop() if came_back else None, evict=nothing_waits)
        == "database"
    )
    assert time.monotonic() - started < 4


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempts that hold the space may be waiting to be judged after this one."""
    monkeypatch.setattr(spaces, "_PATIENCE", 0.1)
    space = Space(400, processes=1)
    space.take(90, instead=nothing, evict=nothing_waits)
    space.take(90, instead=nothing, evict=nothing_waits)
    assert not space.spare(1)


def test_a_database_that_never_fits_is_a_configuration_error() -> None:
    space = Space(400_000_000, processes=1)
    space.check(100_000_000, lambda: 0, what="environment 'shop'")
    space.check(200_000_000, lambda: 200_000_000, what="environment 'shop'")
    with pytest.raises(
        ConfigurationError,
        match="environment 'shop': the database of an attempt takes 200 MB, and the server has 90 MB left",
    ):
        space.check(200_000_000, lambda: 90_000_000, what="environment 'shop'")


def test_a_pool_makes_ahead_what_fits_and_gives_back_the_space_of_what_is_dropped() -> None:
    space = Space(400, processes=1)
    made: list[int] = []
    dropped: list[int] = []

    def make(template: str) -> int:
        made.append(len(made))
        return made[-1]

    pool = Pool(make=make, drop=dropped.append, size=lambda template: 30, space=space, lost=OSError)
    taken = [pool.take("a"), pool.take("a")]
    settle(pool)
    assert len(made) == 3  # of two made ahead, only one fits beside the two that are in use
    other = pool.take("b")
    assert (len(made), dropped) == (4, [2])  # it had to go, for an attempt of another template
    for template, one in (("a", taken[0]), ("a", taken[1]), ("b", other)):
        pool.give_back(template, one, end=lambda enough: False)
    settle(pool)
    assert space.spare(100)
    pool.close()


def test_a_database_that_cannot_be_made_takes_no_space() -> None:
    space = Space(400, processes=1)

    def make(template: str) -> int:
        raise OSError("full")

    pool = Pool(make=make, drop=lambda one: None, size=lambda template: 100, space=space, lost=OSError)
    with pytest.raises(OSError, match="full"):
        pool.take("a")
    assert space.spare(100)
    pool.close()
