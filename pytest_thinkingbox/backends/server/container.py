"""A server that a campaign starts for itself, in a container."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from pytest_thinkingbox.backends.server import claims
from pytest_thinkingbox.backends.server.plan import Say, ServerPlan
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown

if TYPE_CHECKING:
    from pytest_thinkingbox.backends.server.docker import Docker

READY_SECONDS = 60.0
_STARTS = 2
_PATIENCE = 10.0  # seconds until a server that runs and does not answer is given up


class NotYet(Exception):
    """The server does not answer; what the driver said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """What one kind of server needs in a container.

    `port` is the one inside, `data` where its files lie. `environment` takes the password, `command` the settings;
    `url` gives the administrator's address on a host. `ask` returns what answers there ("PostgreSQL 17.2") or raises
    NotYet; `settle` is called with the address once it does. `instead` says what else to use when there is no Docker.
    """

    default_image: str
    image_variable: str
    port: int
    data: str
    environment: Callable[[str], Mapping[str, str]]
    command: Callable[[Mapping[str, str]], Sequence[str]]
    url: Callable[[ServerPlan, str], str]
    ask: Callable[[str], str]
    instead: str
    settle: Callable[[str], None] = lambda url: None


class Local:
    """What all servers of a campaign's own have in common."""

    def __init__(self, plan: ServerPlan) -> None:
        self._plan = plan

    def _starting(self) -> FileLock:
        """Held by the process that starts the server, while others wait."""
        return FileLock(claims.folder() / f"{self._plan.name}.starting")

    def _count_start(self) -> None:
        starts = starts_of(self._plan.name)
        if starts >= _STARTS:
            raise InfrastructureDown(
                f"the database server {self._plan.name} died again after it was started again"
            )
        _counted(self._plan.name).write_text(str(starts + 1))


def starts_of(name: str) -> int:
    """How often the server of this plan was started, by whichever process."""
    counted = _counted(name)
    return int(counted.read_text()) if counted.exists() else 0


def _counted(name: str) -> Path:
    return claims.folder() / f"{name}.starts"


def wait(ask: Callable[[], str], *, dies: Callable[[], str | None]) -> str:
    """What answers, once it does. `dies` returns what the server said when it has ended, else None."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            return ask()
        except NotYet as error:
            said = dies()
            if said is not None:
                raise ConfigurationError(f"the database server does not start: {said}") from error
            if time.monotonic() > deadline:
                raise ConfigurationError(
                    f"the database server does not answer after {READY_SECONDS:.0f} s: {error}"
                ) from error
            time.sleep(0.05)


class ContainerServer(Local):
    """One product in one container."""

    def __init__(self, plan: ServerPlan, product: Product) -> None:
        super().__init__(plan)
        self._product = product

    def ensure(self, *, image: str | None, options: Mapping[str, str], say: Say) -> str:
        product, plan = self._product, self._plan
        with self._docker() as docker, self._starting():
            url = product.url(plan, docker.host)
            container = docker.find(plan.name)
            if container is not None and container.status == "running" and self._answers(url):
                return url
            started = time.monotonic()
            self._count_start()
            image = self._image(image)
            if container is None:
                docker.sweep()
                say(f"thinkingbox: starting {image} in a container ...")
                docker.pull(image, say=say)
            else:
                # Whatever became of it: ended, halted, cut off from its network, out of space.
                say(
                    f"thinkingbox: the container {plan.name} does not answer any more; starting another one ..."
                )
                docker.remove(plan.name)
            docker.run(
                image=image,
                name=plan.name,
                claim=plan.name,
                ports={product.port: plan.port},
                environment=product.environment(plan.password),
                command=product.command(options),
                tmpfs=product.data,
            )
            answer = wait(lambda: product.ask(url), dies=lambda: docker.last_words(plan.name))
            product.settle(url)
            say(f"thinkingbox: {answer} answers after {time.monotonic() - started:.1f} s")
        return url

    def _answers(self, url: str) -> bool:
        """Not at once: a busy machine is no reason to end what runs on its server."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                self._product.ask(url)
            except NotYet:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.2)
            else:
                return True

    def _docker(self) -> Docker:
        from pytest_thinkingbox.backends.server.docker import Docker

        return Docker(what=f"--tb-backend={self._plan.backend}", instead=f", or {self._product.instead}")

    def _image(self, declared: str | None) -> str:
        if ":" in self._plan.backend:
            return self._plan.backend
        return os.environ.get(self._product.image_variable) or declared or self._product.default_image

    def stop(self) -> None:
        with self._docker() as docker:
            docker.remove(self._plan.name)
        claims.forget(self._plan.name)
