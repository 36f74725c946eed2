"""Tool servers that are images: started for an attempt, or once for all, and reached over HTTP."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

import httpx2
from docker.errors import DockerException
from filelock import FileLock
from requests.exceptions import RequestException
from sqlalchemy import make_url

from pytest_thinkingbox.backends.server import claims
from pytest_thinkingbox.declare import Server
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.tools.connection import START_SECONDS
from pytest_thinkingbox.tools.containers import Containers
from pytest_thinkingbox.tools.placeholders import fill
from pytest_thinkingbox.tools.relay import open_relay
from pytest_thinkingbox.tools.stdio import start_slot

if TYPE_CHECKING:
    from pytest_thinkingbox.backends.server.docker import Docker

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_DATABASE_PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306}
_POLL_SECONDS = 0.05
_READY_SECONDS = START_SECONDS - 5.0  # so that what the container said is told, and not only that it is late
_OTHER_MACHINE = "host.docker.internal"  # what Docker Desktop calls the one that containers run on

Values = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """Where one attempt finds a container's MCP endpoint, and the headers that it sends."""

    url: str
    headers: Mapping[str, str]


@asynccontextmanager
async def serve(
    server: Server, values: Values, containers: Containers, *, label: str
) -> AsyncIterator[Reached]:
    """One attempt's way to a container that is ready. What is the attempt's own ends with it.

    Raises ConfigurationError for what the author has to change, InfrastructureDown for what broke.
    """
    for_all = server.scope == "campaign"
    texts = [server.url, *server.headers.values()]
    if not for_all:
        texts += [*server.environ.values(), *server.command]
    async with AsyncExitStack() as stack:
        docker = await asyncio.to_thread(containers.docker)
        stack.callback(docker.__exit__)
        inside = await _inside(docker, values, texts, stack)
        own = partial(fill, values=inside, where=label, missing=_MISSING)
        told = own
        if for_all:
            common = {name: value if name == "now" else None for name, value in values.items()}
            told = partial(fill, values=common, where=label, missing=_MISSING_TO_ALL)
        container = _Container(
            server,
            docker,
            containers.claim,
            environ={name: told(text) for name, text in server.environ.items()},
            command=[told(text) for text in server.command],
            label=label,
        )
        path = own(server.url)
        headers = {name: own(text) for name, text in server.headers.items()}
        if not for_all:
            stack.push_async_callback(container.remove)
        async with start_slot():
            base = await _ready(container, path, containers)
        yield Reached(url=f"{base}{path}", headers=headers)


async def _ready(container: _Container, path: str, containers: Containers) -> str:
    image = container.server.image
    try:
        base = await container.start(path)
    except ConfigurationError as error:
        if image not in containers.answered:
            raise
        raise InfrastructureDown(str(error)) from error  # it did start, so the author has nothing to change
    except (DockerException, RequestException) as error:
        raise InfrastructureDown(f"{container.label}: Docker: {error}") from error
    containers.answered.add(image)
    return base


async def _inside(
    docker: Docker, values: Values, texts: Iterable[str], stack: AsyncExitStack
) -> dict[str, str | None]:
    """The values as they are true inside of a container, for which relays are opened."""
    wanted = " ".join(texts)
    gateway = await asyncio.to_thread(lambda: docker.gateway)

    async def reach(host: str, port: int) -> tuple[str, int]:
        if host not in _LOOPBACK:
            return host, port
        try:
            return gateway, await stack.enter_async_context(open_relay(gateway, host=host, port=port))
        except OSError:  # Docker Desktop: its containers run on a machine of their own, which leads here
            return _OTHER_MACHINE, port

    inside = dict(values) | {"database_path": None, "workdir": None}
    database = make_url(values["database_url"] or "")
    kind = database.get_backend_name()
    if kind not in _DATABASE_PORTS:
        inside["database_url"] = None
    elif "{database_url}" in wanted:
        host, port = await reach(database.host or "localhost", database.port or _DATABASE_PORTS[kind])
        inside["database_url"] = database.set(host=host, port=port).render_as_string(hide_password=False)
    if "{mail_" in wanted and (mail := values["mail_port"]) is not None:
        host, port = await reach(values["mail_host"] or "", int(mail))
        inside |= {"mail_host": host, "mail_port": str(port)}
    if "{http_url}" in wanted and (url := values["http_url"]) is not None:
        sink = httpx2.URL(url)
        host, port = await reach(sink.host, sink.port or 80)
        inside["http_url"] = str(sink.copy_with(host=host, port=port)).rstrip("/")
    return inside


class _Container:
    """One container of a server, not started yet."""

    def __init__(
        self,
        server: Server,
        docker: Docker,
        claim: str,
        *,
        environ: Mapping[str, str],
        command: list[str],
        label: str,
    ) -> None:
        self.server = server
        self._docker = docker
        self._claim = claim
        self._environ = environ
        self._command = command
        self.label = label
        self._starting: asyncio.Future[None] | None = None
        own = secrets.token_hex(6)
        all_ = blake2b(
            repr((server.image, server.ports, environ, command)).encode(), digest_size=6
        ).hexdigest()
        self.name = f"{claim}-{own if server.scope == 'attempt' else all_}"

    async def start(self, path: str) -> str:
        """The address of its first port, once it is ready. One for the whole campaign may run already."""
        self._starting = asyncio.ensure_future(asyncio.to_thread(self._start))
        await asyncio.shield(self._starting)
        wait = self.server.wait
        deadline = time.monotonic() + _READY_SECONDS
        async with httpx2.AsyncClient(timeout=5.0, trust_env=False) as client:
            while True:
                ready = (
                    await self._answers(client, wait or path, any_status=wait is None)
                    if wait is None or wait.startswith(("/", ":"))
                    else re.search(wait, await asyncio.to_thread(self._docker.log, self.name)) is not None
                )
                if ready:
                    return await self._address(self.server.ports[0])
                said = await asyncio.to_thread(self._docker.last_words, self.name)
                if said is not None:
                    raise ConfigurationError(
                        f"{self.label}: its container ended before it was ready: {said.strip()}"
                    )
                if time.monotonic() > deadline:
                    said = await asyncio.to_thread(lambda: self._docker.log(self.name, tail=5))
                    raise InfrastructureDown(
                        f"{self.label}: not ready after {_READY_SECONDS:.0f} s; it said: {said.strip()}"
                    )
                await asyncio.sleep(_POLL_SECONDS)

    def _start(self) -> None:
        # Every file of a claim says that it was used.
        with FileLock(claims.folder() / f"{self._claim}.starting"):
            if self.server.scope == "campaign":
                found = self._docker.find(self.name)
                if found is not None and found.status == "running":
                    return
                if found is not None:
                    self._docker.remove(self.name)
                self._run()
                return
        self._run()

    def _run(self) -> None:
        self._docker.run(
            image=self.server.image,
            name=self.name,
            claim=self._claim,
            ports=dict.fromkeys(self.server.ports),
            environment=self._environ,
            command=self._command,
        )

    async def _answers(self, client: httpx2.AsyncClient, where: str, *, any_status: bool) -> bool:
        port, path = self.server.ports[0], where
        if (named := re.match(r":(\d+)(?=/)", where)) is not None:
            port, path = int(named[1]), where[named.end() :]
        try:
            base = await self._address(port)
            # A listening engine takes connections for containers that do not listen yet, and ends them.
            async with client.stream("GET", f"{base}{path}") as response:
                return any_status or response.status_code < 400
        except (httpx2.HTTPError, KeyError, TypeError):
            return False

    async def _address(self, inside: int) -> str:
        port = await asyncio.to_thread(self._docker.port_of, self.name, inside)
        return f"http://{self._docker.host}:{port}"

    async def remove(self) -> None:
        """Also while it is being started by somebody who waits no more."""
        if self._starting is not None:
            await asyncio.wait({self._starting})
            await asyncio.to_thread(self._docker.remove, self.name)


_MISSING = {
    "database_url": "a container does not see the files of the sqlite backend; use a server (--tb-backend=postgres)",
    "database_path": "a container does not see the files of this machine",
    "workdir": "a container does not see the files of this machine",
}
_MISSING_TO_ALL: Mapping[str, str] = dict.fromkeys(
    ("database_url", "database_path", "attempt_id", "mail_host", "mail_port", "http_url", "workdir"),
    'with scope="campaign" only path and headers can tell of an attempt',
)
