"""A server that a campaign starts for itself: fixed before it starts, so that every process knows where it will be."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Protocol

Say = Callable[[str], None]
"""Takes a line for the person who waits."""

Revive = Callable[[], str]
"""Starts a server again that died, once, and returns its URL; of one that lives it returns the URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlan:
    """`backend` is what `--tb-backend` says, `name` the claim and the container, `port` one of this machine."""

    backend: str
    name: str
    port: int
    password: str

    @classmethod
    def make(cls, backend: str, *, campaign: str) -> ServerPlan:
        return cls(
            backend=backend,
            name=f"thinkingbox-{campaign}",
            port=_free_port(),
            password=secrets.token_urlsafe(24),
        )

    def to_wire(self) -> dict[str, str | int]:
        """As builtin types, which survive the way to another process."""
        return asdict(self)

    @classmethod
    def from_wire(cls, given: Mapping[str, str | int]) -> ServerPlan:
        return cls(
            backend=str(given["backend"]),
            name=str(given["name"]),
            port=int(given["port"]),
            password=str(given["password"]),
        )


class LocalServer(Protocol):
    """A server of the campaign's own. Several processes may ask for it; it is started once."""

    def ensure(self, *, image: str | None, options: Mapping[str, str], say: Say) -> str:
        """Its administrator's URL, once it answers. One that died is started again once.

        Raises ConfigurationError when it cannot be started, InfrastructureDown when it died again.
        """

    def stop(self) -> None:
        """End it and remove what it kept. For the process that made the plan; safe to call twice."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
