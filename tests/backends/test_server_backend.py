"""What all backends on a server do when it goes away, with a server that is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from pytest_thinkingbox.backends.server import backend as module
from pytest_thinkingbox.backends.server.backend import ServerBackend
from pytest_thinkingbox.backends.server.names import Campaign
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from tests.backends.postgres.worlds import environment_of

WORLD = environment_of("CREATE TABLE t (id int PRIMARY KEY)")


class Server:
    room = 100

    def __init__(self) -> None:
        self.lives = True
        self.closed = False

    def alive(self) -> bool:
        return self.lives

    def sweep(self) -> list[str]:
        return []

    def let_go(self) -> None:
        self.closed = True

    def abandon(self) -> None:
        self.closed = True

    def close(self) -> None:
        self.closed = True


class Lease:
    def release(self) -> None: ...


class Backend(ServerBackend[Server, str, Lease]):
    """`broken` says what goes wrong in which step."""

    _lost = (OSError,)
    _dialect = SQLiteDialect_pysqlite()  # type: ignore[no-untyped-call]
    _agent_connections = 1

    def __init__(self, revive: Callable[[], str] | None = None, **broken: list[Exception]) -> None:
        self.broken = broken
        self.servers: list[Server] = []
        self.set_up = 0
        super().__init__("there", campaign=Campaign("x"), processes=1, revive=revive)

    def _may(self, step: str) -> None:
        if self.broken.get(step):
            raise self.broken[step].pop(0)

    def _connect(self) -> Server:
        self._may("connect")
        self.servers.append(Server())
        return self.servers[-1]

    def _set_up(self) -> None:
        self._may("set_up")
        self.set_up += 1

    def _let_go(self, templates: list[str], *, wait: bool) -> None: ...

    def _build(self, *_: Any, **__: Any) -> str:
        return "template"

    def _lease(self, template: str, attempt_id: str, on_read: Callable[[], None]) -> Lease:
        return Lease()

    def _digest(self, template: str) -> str:
        return template


def die(backend: Backend) -> None:
    for server in backend.servers:
        server.lives = False


def test_a_server_that_answered_once_and_cannot_be_started_again_is_an_outage() -> None:
    def revive() -> str:
        raise ConfigurationError("no Docker answers here")

    backend = Backend(revive)
    die(backend)
    with pytest.raises(InfrastructureDown, match="no Docker answers here"):
        backend.acquire(WORLD, None, attempt_id="a")
    with pytest.raises(InfrastructureDown, match="no Docker answers here"):
        backend.seed_hash(WORLD)


@pytest.mark.parametrize("error", [OSError("cut off"), InfrastructureDown("cut off")])
def test_a_server_that_dies_while_it_is_begun_again_is_begun_another_time(error: Exception) -> None:
    backend = Backend(lambda: "elsewhere")
    die(backend)
    backend.broken["set_up"] = [error]
    with pytest.raises(InfrastructureDown, match="cut off"):
        backend.acquire(WORLD, None, attempt_id="a")
    assert backend.set_up == 1
    backend.acquire(WORLD, None, attempt_id="b")
    assert backend.set_up == 2


def test_a_server_that_cannot_be_set_up_in_the_first_place_is_let_go() -> None:
    servers: list[Server] = []

    class Watched(Backend):
        def _connect(self) -> Server:
            servers.append(super()._connect())
            return servers[-1]

    with pytest.raises(ConfigurationError):
        Watched(set_up=[ConfigurationError("it is not ours")])
    assert [one.closed for one in servers] == [True]


def test_a_server_that_was_taken_for_dead_is_let_go_in_the_end() -> None:
    backend = Backend()
    (first,) = backend.servers
    first.lives = False
    backend.acquire(WORLD, None, attempt_id="a")
    first.lives = True
    assert not first.closed
    backend.close()
    assert [one.closed for one in backend.servers] == [True, True]


def test_attempts_wait_for_a_server_that_is_being_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.01)
    backend = Backend()
    die(backend)
    backend.broken["connect"] = [ConfigurationError("nobody answers there"), OSError("it is starting up")]
    backend.acquire(WORLD, None, attempt_id="a")
    assert len(backend.servers) == 2


def test_a_server_that_does_not_come_back_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(module, "RETURN_SECONDS", 0.1)
    backend = Backend()
    die(backend)
    backend.broken["connect"] = [ConfigurationError("nobody answers there")] * 1000
    with pytest.raises(InfrastructureDown, match="nobody answers there"):
        backend.acquire(WORLD, None, attempt_id="a")
    left = len(backend.broken["connect"])
    with pytest.raises(InfrastructureDown, match="nobody answers there"):
        backend.acquire(WORLD, None, attempt_id="b")
    assert len(backend.broken["connect"]) == left - 1


def test_who_waits_for_a_server_goes_when_the_backend_is_closed() -> None:
    backend = Backend()
    die(backend)
    backend.broken["connect"] = [ConfigurationError("nobody answers there")] * 1000
    began = time.monotonic()
    threading.Timer(0.2, backend.close).start()
    with pytest.raises(InfrastructureDown):
        backend.acquire(WORLD, None, attempt_id="a")
    assert time.monotonic() - began < 10


def test_nothing_is_begun_again_once_the_backend_is_closed() -> None:
    revived: list[str] = []

    class Interrupted(Backend):
        def _digest(self, template: str) -> str:
            self.close()
            die(self)
            raise OSError("it was dropped")

    def revive() -> str:
        revived.append("again")
        return "elsewhere"

    backend = Interrupted(revive)
    with pytest.raises(InfrastructureDown, match="the campaign has ended"):
        backend.seed_hash(WORLD)
    assert (revived, len(backend.servers), backend.set_up) == ([], 1, 1)


def test_a_server_that_returns_while_the_backend_is_closed_is_closed_too() -> None:
    class Late(Backend):
        def _connect(self) -> Server:
            server = super()._connect()
            if len(self.servers) == 2:
                self.close()
            return server

    backend = Late()
    die(backend)
    with pytest.raises(InfrastructureDown, match="the campaign has ended"):
        backend.acquire(WORLD, None, attempt_id="a")
    assert [one.closed for one in backend.servers] == [True, True]
    assert backend.set_up == 1


def test_servers_that_cannot_be_set_up_again_do_not_pile_up() -> None:
    backend = Backend()
    die(backend)
    backend.broken["set_up"] = [OSError("no space left")] * 3
    for _ in range(3):
        with pytest.raises(InfrastructureDown, match="no space left"):
            backend.acquire(WORLD, None, attempt_id="a")
    # The first one may hold the campaign's lock; the last one is left to close with, should none succeed.
    assert [one.closed for one in backend.servers] == [False, True, True, False]
    backend.acquire(WORLD, None, attempt_id="b")
    assert [one.closed for one in backend.servers] == [False, True, True, True, False]
    backend.close()
    assert all(one.closed for one in backend.servers)
