"""From the tools of all servers to those that the agent sees."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.declare.tools import Tools
from pytest_thinkingbox.errors import ConfigurationError

if TYPE_CHECKING:
    from mcp_types import Tool

    from pytest_thinkingbox.tools.connection import Connection
    from pytest_thinkingbox.tools.direct import DirectConnection

    AnyConnection = Connection | DirectConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A tool as the agent sees it, `shown`, and the one behind it, `tool` of a server.

    `fixed` are arguments that are always given, `hidden` parameters that the agent may not name.
    """

    connection: AnyConnection
    tool: Tool
    shown: Tool
    fixed: Mapping[str, Any] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    def words(self, text: str) -> str:
        """The text of an error with the name by which the agent knows the tool."""
        if self.shown.name == self.tool.name:
            return text
        name = re.escape(self.tool.name)
        # A name without "_" may be a word of the language: only where messages put the tool's name.
        start = r"(?<!\w)" if "_" in name else r"(?:^|(?<=\btool ))"
        place = rf"{start}{name}(?!\w)|(?<!\w){name}(?=Arguments\b)"
        return re.sub(place, lambda _: self.shown.name, text)


def routes_of(
    connections: Iterable[tuple[AnyConnection, Tools | None]], overrides: Iterable[tuple[str, Tools | None]]
) -> dict[str, Route]:
    """The tools by name. `overrides` come after those of the servers, each with who says it.

    Raises ConfigurationError for two tools of one name and for an override that fits nothing.
    """
    routes: dict[str, Route] = {}
    for connection, tools in connections:
        own = {one.name: Route(connection=connection, tool=one, shown=one) for one in connection.tools}
        if len(own) < len(connection.tools):
            names = [one.name for one in connection.tools]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigurationError(f"{connection.label} has two tools named {twice!r}")
        for name, route in (own if tools is None else _changed(own, tools, connection.label)).items():
            if name in routes:
                raise ConfigurationError(
                    f"two tools are named {name!r}: one of {routes[name].connection.label} and one of "
                    f"{connection.label}; rename it in one of them, Server...(..., "
                    f"tools=Tools(rename={{{name!r}: 'another_name'}})), or leave it or one server out"
                )
            routes[name] = route
    for where, tools in overrides:
        if tools is not None:
            routes = _changed(routes, tools, where)
    return routes


def _changed(routes: dict[str, Route], tools: Tools, where: str) -> dict[str, Route]:
    for argument, names in (
        ("only", tools.only or ()),
        ("without", tools.without),
        ("rename", tools.rename),
        ("describe", [name.partition(".")[0] if name not in routes else name for name in tools.describe]),
        ("hide", tools.hide),
    ):
        for name in names:
            if name not in routes:
                raise ConfigurationError(
                    f"{where}: Tools({argument}=...) names {name!r}, and there is no such tool{_like(name, routes)}"
                )
    changed: dict[str, Route] = {}
    for name, route in routes.items():
        if (tools.only is not None and name not in tools.only) or name in tools.without:
            continue
        made = _hidden(route, tools.hide.get(name, ()), where)
        made = _described(made, name, tools.describe, where)
        new = tools.rename.get(name, name)
        if new in changed:
            raise ConfigurationError(f"{where}: Tools(rename=...) makes two tools of the name {new!r}")
        if new != name:
            made = replace(made, shown=made.shown.model_copy(update={"name": new}))
        changed[new] = made
    return changed


def _hidden(route: Route, parameters: Any, where: str) -> Route:
    if not parameters:
        return route
    schema = dict(route.shown.input_schema)
    properties = dict(schema.get("properties", {}))
    required = list(schema.get("required", ()))
    for name in parameters:
        if name not in properties:
            raise ConfigurationError(
                f"{where}: Tools(hide=...): {route.shown.name} has no parameter {name!r}{_like(name, properties)}"
            )
        del properties[name]
        if name in required:
            required.remove(name)
            if not isinstance(parameters, Mapping):
                raise ConfigurationError(
                    f"{where}: Tools(hide=...): {route.shown.name} requires {name!r}: say what it always is, "
                    f"hide={{{route.shown.name!r}: {{{name!r}: ...}}}}"
                )
    schema["properties"] = properties
    if "required" in schema:
        schema["required"] = required
    return replace(
        route,
        shown=route.shown.model_copy(update={"input_schema": schema}),
        fixed={**route.fixed, **(parameters if isinstance(parameters, Mapping) else {})},
        hidden=route.hidden | frozenset(parameters),
    )


def _described(route: Route, name: str, texts: Mapping[str, str], where: str) -> Route:
    update: dict[str, Any] = {}
    schema = dict(route.shown.input_schema)
    properties = dict(schema.get("properties", {}))
    for key, words in texts.items():
        if key == name:
            update["description"] = words
        elif key.startswith(f"{name}."):
            parameter = key.removeprefix(f"{name}.")
            if parameter not in properties:
                raise ConfigurationError(
                    f"{where}: Tools(describe=...): {name} has no parameter {parameter!r}"
                    f"{_like(parameter, properties)}"
                )
            properties[parameter] = {**properties[parameter], "description": words}
            update["input_schema"] = {**schema, "properties": properties}
    return replace(route, shown=route.shown.model_copy(update=update)) if update else route


def _like(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else f"; there are: {', '.join(names) or 'none'}"
