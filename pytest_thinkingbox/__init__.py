"""Test agents that work on databases by their final rows, twenty times, with ordinary pytest functions."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_thinkingbox.declare import (
        Database,
        Environment,
        Fact,
        Fault,
        Limits,
        Reply,
        Script,
        Server,
        ServerContext,
        Tools,
        User,
        call,
    )
    from pytest_thinkingbox.errors import (
        ConfigurationError,
        InfrastructureDown,
        Invalid,
        ProviderDown,
        ReadOnlyState,
        ThinkingboxError,
    )
    from pytest_thinkingbox.state.expect import Deleted, File, Inserted, Mail, SchemaChange, Updated, Webhook
    from pytest_thinkingbox.state.values import Same

# Names are looked up when they are asked for: pytest imports this package in every project where it is installed.
_HOMES = {
    "declare": (
        "Database",
        "Environment",
        "Fact",
        "Fault",
        "Limits",
        "Reply",
        "Script",
        "Server",
        "ServerContext",
        "Tools",
        "User",
        "call",
    ),
    "errors": (
        "ConfigurationError",
        "InfrastructureDown",
        "Invalid",
        "ProviderDown",
        "ReadOnlyState",
        "ThinkingboxError",
    ),
    "state.expect": ("Deleted", "File", "Inserted", "Mail", "SchemaChange", "Updated", "Webhook"),
    "state.values": ("Same",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ConfigurationError",
    "Database",
    "Deleted",
    "Environment",
    "Fact",
    "Fault",
    "File",
    "InfrastructureDown",
    "Inserted",
    "Invalid",
    "Limits",
    "Mail",
    "ProviderDown",
    "ReadOnlyState",
    "Reply",
    "Same",
    "SchemaChange",
    "Script",
    "Server",
    "ServerContext",
    "ThinkingboxError",
    "Tools",
    "Updated",
    "User",
    "Webhook",
    "call",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
