"""The containers of this process's tool servers: who claims them, and who removes what is left of them.

Nothing heavy is imported here, for every campaign has such an object.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pytest_thinkingbox.backends.server import claims
from pytest_thinkingbox.declare import Server
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown

if TYPE_CHECKING:
    from pytest_thinkingbox.backends.server.docker import Docker
    from pytest_thinkingbox.backends.server.plan import Say


class Containers:
    """Nothing is started before a server asks for it.

    `claim` is held by the process that the user started, which removes what carries it in the end; None makes one of
    this object's own, for which `close` does it. `answered` are the images of which a container has answered.
    """

    def __init__(self, *, claim: str | None = None) -> None:
        self.claim = claim or f"thinkingbox-tools-{secrets.token_hex(6)}"
        self.answered: set[str] = set()
        self._own: claims.Claim | None = None
        self._is_own = claim is None
        self._lock = threading.Lock()
        self._begun = False

    def prepare(self, servers: Iterable[Server], *, say: Say) -> None:
        """See that Docker answers and that the images are there. Raises ConfigurationError."""
        images = {one.image for one in servers if one.kind == "container"}
        if images:
            with self.docker() as docker:
                for image in sorted(images):
                    docker.pull(image, say=say)

    def docker(self) -> Docker:
        """A client, to be closed by who asks. Raises ConfigurationError, InfrastructureDown once it did answer."""
        require_docker()
        from pytest_thinkingbox.backends.server.docker import Docker

        try:
            docker = Docker(what="Server.container")
        except ConfigurationError as error:
            if not self._begun:
                raise
            raise InfrastructureDown(str(error)) from error
        with self._lock:
            if not self._begun:
                self._begun = True
                if self._is_own:
                    self._own = claims.Claim(self.claim)
                docker.sweep()
        return docker

    def close(self) -> None:
        """Remove what is left of this object's own. Safe to call twice."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            try:
                remove_claimed(self.claim)
            finally:
                own.release()


def require_docker() -> None:
    """Raises ConfigurationError, naming the extra, when what containers need is not installed."""
    for module in ("docker", "testcontainers"):
        if find_spec(module) is None:
            raise ConfigurationError(
                f"Server.container needs {module}: pip install 'pytest-thinkingbox[containers]'"
            )


def remove_claimed(claim: str) -> None:
    """Remove all containers that carry a claim, and its files; nothing where nobody asked for one."""
    if not claims.was_used(claim):
        return
    from pytest_thinkingbox.backends.server.docker import Docker

    try:
        with Docker(what="Server.container") as docker:
            docker.remove_claimed(claim)
    except ConfigurationError:
        return  # there is no Docker any more; the next run sweeps
    claims.forget(claim)
