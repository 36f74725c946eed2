"""Containers of campaigns, started through testcontainers, told apart and swept by their labels."""

from __future__ import annotations

import gc
import os
import platform
import warnings
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.docker_client import DockerClient

from pytest_thinkingbox.backends.server import claims
from pytest_thinkingbox.backends.server.plan import Say
from pytest_thinkingbox.errors import ConfigurationError

CLAIM_LABEL = "pytest-thinkingbox.claim"
HOST_LABEL = "pytest-thinkingbox.host"

# Its reaper is one more image to pull, and ends containers when the process that started them ends - which here may be
# a worker. The claims do the same by the process that the user started.
testcontainers_config.ryuk_disabled = True


class Docker:
    """The engine that DOCKER_HOST names."""

    def __init__(self, *, backend: str, instead: str) -> None:
        """`instead` says what else to use when no engine answers."""
        client, said = _connect()
        if client is None:
            raise ConfigurationError(
                f"--tb-backend={backend} starts a container, but no Docker answers here ({said}). "
                f"Start Docker, or {instead}"
            )
        self._client = client

    @property
    def host(self) -> str:
        """Where ports of containers are bound."""
        parts = urlsplit(os.environ.get("DOCKER_HOST", ""))
        return (
            parts.hostname or "127.0.0.1" if parts.scheme in ("tcp", "http", "https", "ssh") else "127.0.0.1"
        )

    def __enter__(self) -> Docker:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.client.close()

    def find(self, name: str) -> Any | None:
        """The container of this name, whether it runs or not."""
        try:
            return self._client.client.containers.get(name)
        except NotFound:
            return None

    def run(
        self,
        *,
        image: str,
        name: str,
        port: int,
        inside: int,
        environment: Mapping[str, str],
        command: Sequence[str],
        tmpfs: str,
        say: Say,
    ) -> None:
        """Start a container that listens on `port` of the engine's machine. Raises ConfigurationError."""
        try:
            if not self._has(image):
                say(f"thinkingbox: pulling {image} ...")
                self._client.client.images.pull(image)
            container = (
                DockerContainer(image)
                .with_name(name)
                .with_envs(**environment)
                .with_command(list(command))
                .with_tmpfs_mount(tmpfs)
                .with_kwargs(
                    labels={CLAIM_LABEL: name, HOST_LABEL: platform.node()},
                    shm_size="256m",
                )
            )
            bound: Any = (self.host, port) if self.host == "127.0.0.1" else port
            container.ports[f"{inside}/tcp"] = bound
            try:
                container.start()
            finally:
                container.get_docker_client().client.close()
        except DockerException as error:
            raise ConfigurationError(
                f"a container of {image} does not start: {_first_line(error)}"
            ) from error

    def _has(self, image: str) -> bool:
        try:
            self._client.client.images.get(image)
        except ImageNotFound:
            return False
        return True

    def remove(self, name: str) -> None:
        container = self.find(name)
        if container is not None:
            container.remove(force=True, v=True)

    def sweep(self) -> list[str]:
        """Remove containers of this machine's campaigns that nobody claims any more; their names."""
        removed = []
        found = self._client.client.containers.list(
            all=True, filters={"label": [CLAIM_LABEL, f"{HOST_LABEL}={platform.node()}"]}
        )
        for container in found:
            name = container.labels[CLAIM_LABEL]
            if not claims.is_held(name):
                container.remove(force=True, v=True)
                claims.forget(name)
                removed.append(name)
        return removed

    def last_words(self, name: str) -> str | None:
        """What a container that ended said at last; None while it runs."""
        container = self.find(name)
        if container is not None and container.status in ("created", "running", "restarting"):
            return None
        if container is None:
            return "its container is gone"
        try:
            said: str = container.logs(tail=5).decode(errors="replace")
        except APIError:  # somebody else is about to remove it
            return "its container is being removed"
        return said


def sweep_containers() -> list[str]:
    """Remove what ended campaigns left behind, if Docker answers at all; the names of containers."""
    try:
        docker = Docker(backend="postgres", instead="")
    except ConfigurationError:
        return []
    with docker:
        return docker.sweep()


def _connect() -> tuple[DockerClient | None, str]:
    """A client, or why there is none."""
    with warnings.catch_warnings():
        # When nobody answers, the library forgets to close its socket. That is no warning for those who test.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            client = DockerClient()
            client.client.ping()
        except DockerException as error:
            said = _first_line(error)
        else:
            return client, ""
        gc.collect()
    return None, said


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
