"""Containers of campaigns, started through testcontainers, told apart and swept by their labels."""

from __future__ import annotations

import gc
import io
import os
import platform
import secrets
import tarfile
import warnings
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from ipaddress import ip_network
from typing import Any, Literal
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
FOLDER_LABEL = "pytest-thinkingbox.claims"
"""Whose claims say whether the container is in use: an engine may serve several users, machines and containers."""

# Its reaper is one more image to pull, and ends containers when the process that started them ends - which here may be
# a worker. The claims do the same by the process that the user started.
testcontainers_config.ryuk_disabled = True


class Docker:
    """The engine that DOCKER_HOST names."""

    def __init__(self, *, what: str, instead: str = "") -> None:
        """`what` starts a container; `instead` says what else to use when no engine answers."""
        client, said = _connect()
        if client is None:
            raise ConfigurationError(
                f"{what} starts a container, but no Docker answers here ({said}). Start Docker{instead}"
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
        claim: str,
        ports: Mapping[int, int | None],
        environment: Mapping[str, str],
        command: Sequence[str],
        tmpfs: str | None = None,
    ) -> None:
        """Start a container whose `ports` are bound to ports of the engine's machine, None to any that is free.

        It is swept once nobody holds `claim`. Raises ConfigurationError.
        """
        container = (
            DockerContainer(image)
            .with_name(name)
            .with_envs(**environment)
            .with_kwargs(labels={CLAIM_LABEL: claim, **_place()}, shm_size="256m")
        )
        if command:
            container.with_command(list(command))
        if tmpfs is not None:
            container.with_tmpfs_mount(tmpfs)
        for inside, port in ports.items():
            bound: Any = (self.host, port) if self.host == "127.0.0.1" else port
            container.ports[f"{inside}/tcp"] = bound
        try:
            container.start()
        except DockerException as error:
            raise ConfigurationError(
                f"a container of {image} does not start: {_first_line(error)}"
            ) from error
        finally:
            container.get_docker_client().client.close()

    def pull(self, image: str, *, say: Say) -> None:
        """Fetch an image that is not there. Raises ConfigurationError."""
        if self._has(image):
            return
        say(f"thinkingbox: pulling {image} ...")
        try:
            self._client.client.images.pull(image)
        except DockerException as error:
            raise ConfigurationError(f"the image {image} cannot be pulled: {_first_line(error)}") from error

    def port_of(self, name: str, inside: int) -> int:
        """The port of the engine's machine that leads to this one of a container. Raises KeyError without one."""
        ports = self._client.client.containers.get(name).ports
        return int(ports[f"{inside}/tcp"][0]["HostPort"])

    def publishing(self, port: int) -> tuple[Any, int] | None:
        """The container that a port of the engine's machine leads to, and the port inside."""
        for container in self._client.client.containers.list(filters={"publish": str(port)}):
            for inside, bound in container.ports.items():
                if any(one["HostPort"] == str(port) for one in bound or ()):
                    return container, int(inside.partition("/")[0])
        return None

    @staticmethod
    def execute(
        container: Any, command: Sequence[str], *, environment: Mapping[str, str], given: bytes
    ) -> tuple[int, bytes, bytes]:
        """Run a program in a container on this input: exit status, output, errors. Raises DockerException."""
        name = f"thinkingbox-{secrets.token_hex(8)}"
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(given), 0o400
            tar.addfile(entry, io.BytesIO(given))
        container.put_archive("/tmp", archive.getvalue())
        try:
            status, (output, errors) = container.exec_run(
                ["sh", "-c", f'exec "$0" "$@" < /tmp/{name}', *command],
                environment=dict(environment),
                demux=True,
            )
        finally:
            container.exec_run(["rm", "-f", f"/tmp/{name}"])
        return status, output or b"", errors or b""

    @property
    def gateway(self) -> str:
        """The address under which containers see the engine's machine."""
        [addresses, *_] = self._client.client.networks.get("bridge").attrs["IPAM"]["Config"]
        # Docker 28 says nothing of a gateway that it chose itself: the first address of the network.
        return str(addresses.get("Gateway") or next(ip_network(addresses["Subnet"]).hosts()))

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

    def remove_claimed(self, claim: str) -> None:
        """Remove all containers of a claim."""
        for container in self._client.client.containers.list(
            all=True, filters={"label": f"{CLAIM_LABEL}={claim}"}, ignore_removed=True
        ):
            _remove(container)

    def sweep(self) -> list[str]:
        """Remove containers of this user's campaigns on this machine that nobody claims any more; their names."""
        removed = []
        place = [f"{label}={value}" for label, value in _place().items()]
        found = self._client.client.containers.list(
            all=True, filters={"label": [CLAIM_LABEL, *place]}, ignore_removed=True
        )
        for container in found:
            claim = container.labels[CLAIM_LABEL]
            if not claims.is_held(claim):
                _remove(container)
                claims.forget(claim)
                removed.append(container.name)
        return removed

    def last_words(self, name: str) -> str | None:
        """What a container that ended said at last; None while it runs."""
        container = self.find(name)
        if container is not None and container.status in ("created", "running", "restarting"):
            return None
        if container is None:
            return "its container is gone"
        try:
            return self.log(name, tail=5)
        except APIError:  # somebody else is about to remove it
            return "its container is being removed"

    def log(self, name: str, *, tail: int | Literal["all"] = "all") -> str:
        """The last lines that a container wrote to its output and its errors."""
        said: bytes = self._client.client.containers.get(name).logs(tail=tail)
        return said.decode(errors="replace")


def _place() -> dict[str, str]:
    """Labels of containers whose claims can be looked at from here."""
    return {HOST_LABEL: platform.node(), FOLDER_LABEL: claims.folder_id()}


def _remove(container: Any) -> None:
    """Whoever else removes it, too: a campaign that begins at the same time sweeps as well."""
    try:
        container.remove(force=True, v=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != HTTPStatus.CONFLICT:  # its removal is in progress
            raise


def sweep_containers() -> list[str]:
    """Remove what ended campaigns left behind, if Docker answers at all; the names of containers."""
    try:
        docker = Docker(what="sweeping")
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
