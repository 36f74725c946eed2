"""What all backends on a server do alike: templates made once, a place for every attempt, beginning again."""

from __future__ import annotations

import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from pytest_thinkingbox.backends.server.names import Campaign, token_of
from pytest_thinkingbox.backends.server.once import once
from pytest_thinkingbox.backends.server.pool import Pool
from pytest_thinkingbox.backends.server.sources import identity
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown

if TYPE_CHECKING:
    from sqlalchemy import Dialect

_KEPT_FREE = 16
"""Connections that one process takes beside those of attempts: it holds the campaign, makes databases ahead and resets
them, makes templates, and runs a checker."""
_BUILDING = 2
"""Templates that one process makes at a time, with a few connections each."""

RETURN_SECONDS = 60.0
"""That attempts wait for a server which is not the campaign's own and does not answer: it may be restarted."""
_LOOK_SECONDS = 0.5

_Key = tuple[Environment, str | None]


class Server(Protocol):
    """An administrator's connections. `room` are those that the server takes at once."""

    room: int

    def alive(self) -> bool: ...

    def sweep(self) -> list[str]: ...

    def let_go(self) -> None:
        """Close its connections; what is called by the campaign's name stays."""

    def abandon(self) -> None:
        """Close them without a word to a server that does not answer."""

    def close(self) -> None:
        """Let go; the last process of the campaign removes what is called by its name."""


class Lease(Hashable, Protocol):
    def release(self) -> None: ...


S = TypeVar("S", bound=Server)
T = TypeVar("T")
L = TypeVar("L", bound=Lease)


class ServerBackend(ABC, Generic[S, T, L]):
    """One process of a campaign on the server that `url` names, as an administrator.

    `processes` are those of the campaign that use the server at the same time: its connections are shared among
    them.
    """

    _lost: tuple[type[Exception], ...]
    """What the driver raises when the server is gone."""
    _agent_connections: int
    """What one agent may take."""
    _dialect: Dialect
    """Of the server's kind, to write statements with."""

    _pool: Pool[T, Any]
    """Databases for attempts."""

    def __init__(
        self, url: str, *, campaign: Campaign, processes: int, revive: Callable[[], str] | None
    ) -> None:
        self._campaign = campaign
        self._url = url
        self._revive = revive
        self._processes = processes
        self._own = secrets.token_hex(4)  # in names that no other process of the campaign must share
        self._lock = threading.Lock()
        self._reviving = threading.Lock()
        self._building = threading.Semaphore(_BUILDING)
        self._locks: dict[_Key, threading.Lock] = {}
        self._templates: dict[_Key, T] = {}
        self._leases: set[L] = set()
        self._closing = threading.Event()
        self._given_up = False
        self._former: list[S] = []  # taken for dead; they may hold the campaign's lock all the same
        self._server = self._connect()
        try:
            self._begin()
        except BaseException:
            self._server.close()
            raise

    def _begin(self) -> None:
        """Set up a server that was just connected to, and on which nothing of this process is."""
        self._begun = False
        self._server.sweep()
        self._set_up()
        self._begin_places()
        self._begun = True

    def _lives(self) -> bool:
        return self._begun and self._server.alive()

    def _begin_places(self) -> None:
        # Whatever an agent takes of what it may, the others have theirs. The administrator's ends its sessions; those
        # that read what it left come after these.
        room = self._server.room // self._processes - _KEPT_FREE
        self._places = threading.BoundedSemaphore(max(1, room // (self._agent_connections + 1)))

    @abstractmethod
    def _connect(self) -> S: ...

    @abstractmethod
    def _set_up(self) -> None:
        """Make what all attempts share, on a server that was just connected to."""

    @abstractmethod
    def _let_go(self, templates: list[T], *, wait: bool) -> None:
        """Close what `_set_up` and templates opened. With `wait` False the server is gone."""

    @abstractmethod
    def _build(
        self, environment: Environment, start: StartState | None, *, token: str, seed: T | None
    ) -> T: ...

    @abstractmethod
    def _lease(self, template: T, attempt_id: str, on_read: Callable[[], None]) -> L: ...

    @abstractmethod
    def _digest(self, template: T) -> str: ...

    def _begin_again(self) -> None:
        """After the server ended all sessions: attempts that run are lost, the next ones are not."""
        with self._reviving:
            if self._lives():
                return
            with self._lock:
                self._check_open()
                templates = list(self._templates.values())
                self._templates.clear()
                self._leases.clear()
            self._let_go(templates, wait=False)
            outages: tuple[type[Exception], ...] = (ConfigurationError, InfrastructureDown, *self._lost)
            try:
                if self._revive is not None:
                    self._url = self._revive()
                self._take(self._returned(outages))
                self._begin()
            except outages as error:
                # It did answer before: whatever is wrong now is no mistake of who configured it.
                raise InfrastructureDown(self._said(error)) from error

    def _take(self, server: S) -> None:
        try:
            with self._lock:
                self._check_open()
                before, self._server = self._server, server
                if self._begun:
                    self._former.append(before)
        except InfrastructureDown:
            server.close()
            raise
        if not self._begun:  # nothing of this process is on it
            _leave(before)

    def _check_open(self) -> None:
        """What is begun once the backend is closed would be removed by nobody."""
        if self._closing.is_set():
            raise InfrastructureDown("the campaign has ended")

    def _returned(self, outages: tuple[type[Exception], ...]) -> S:
        """The server, once it answers. One that did not come back is waited for no more: not by every attempt anew."""
        waits = self._revive is None and not self._given_up
        deadline = time.monotonic() + (RETURN_SECONDS if waits else 0.0)
        while True:
            try:
                server = self._connect()
            except outages:
                if time.monotonic() >= deadline or self._closing.wait(_LOOK_SECONDS):
                    self._given_up = True
                    raise
            else:
                self._given_up = False
                return server

    def prepare(self, environment: Environment, start: StartState | None = None) -> None:
        if not self._lives():
            self._begin_again()
        with self._reaching(f"no template of {environment.name!r}"):
            self._template(environment, start)

    def acquire(self, environment: Environment, start: StartState | None, *, attempt_id: str) -> L:
        if not self._lives():
            self._begin_again()
        with self._reaching(f"no database for {attempt_id}"):
            template = self._template(environment, start)
            places = self._places
            places.acquire()
            try:
                lease = self._lease(template, attempt_id, once(places.release))
            except BaseException:
                places.release()
                raise
        with self._lock:
            self._leases.add(lease)
        return lease

    @contextmanager
    def _reaching(self, what: str) -> Iterator[None]:
        try:
            yield
        except self._lost as error:
            raise InfrastructureDown(f"{what}: {self._said(error)}") from error

    def _said(self, error: Exception) -> str:
        return str(error)

    def _forget(self, lease: L) -> None:
        with self._lock:
            self._leases.discard(lease)

    def seed_hash(self, environment: Environment) -> str:
        if (environment, None) not in self._templates and not self._lives():
            self._begin_again()
        what = f"no template of {environment.name!r}"
        with self._reaching(what):
            try:
                return self._digest(self._template(environment, None))
            except self._lost:
                if self._lives():
                    raise
        self._begin_again()  # it died with the template on it; nothing was played there yet
        with self._reaching(what):
            return self._digest(self._template(environment, None))

    def close(self) -> None:
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
            leases = list(self._leases)
        for lease in leases:
            lease.release()
        self._let_go(list(self._templates.values()), wait=True)
        for former in self._former:
            _leave(former)
        self._server.close()

    def _template(self, environment: Environment, start: StartState | None) -> T:
        """Made by the first who asks while the others wait, in this process and in others of the campaign."""
        key = (environment, start.key if start is not None else None)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            found = self._templates.get(key)
            if found is None:
                seed = None if start is None else self._template(environment, None)
                token = self._token(environment, start)
                with self._building:
                    found = self._templates[key] = self._build(environment, start, token=token, seed=seed)
        return found

    def _token(self, environment: Environment, start: StartState | None) -> str:
        """Equal in all processes of the campaign where they certainly mean the same; else this process's own."""
        database = environment.database
        parts = [identity(database.schema, self._dialect), identity(database.seed, self._dialect)]
        if start is not None:
            parts += [start.key, identity(start.run, self._dialect)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return token_of(self._own, str(id(environment)), "" if start is None else start.key)
        return token_of(environment.name, str(database.ddl), *known)


def _leave(server: Server) -> None:
    if server.alive():
        server.let_go()
    else:
        server.abandon()
