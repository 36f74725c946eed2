from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_thinkingbox.declare.checks import reject, strings, text
from pytest_thinkingbox.declare.tools import Tools, tools_of

if TYPE_CHECKING:
    from sqlalchemy import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerContext:
    """What an in-process server is built from: one attempt's own world.

    `engine` belongs to the attempt and dies with it. `now` is the environment's fixed clock, None when it has
    none. `mail_host` and `mail_port` lead to the attempt's own mail sink, `http_url` to its HTTP sink, `workdir` is
    its working directory; "", 0, "" and None where the environment has none.
    """

    engine: Engine
    database_url: str
    attempt_id: str
    now: datetime | None
    mail_host: str
    mail_port: int
    http_url: str = ""
    workdir: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One MCP server that the agent may use. Build it with one of the class methods.

    Commands, environment variables, headers and URLs may hold `{database_url}`, `{database_path}` (the file, on the
    sqlite backend), `{attempt_id}`, `{now}`, `{mail_host}`, `{mail_port}`, `{http_url}` and `{workdir}`; each attempt
    gets its own values. `tools` chooses among the server's tools, renames them and so on.
    """

    kind: Literal["in_process", "functions", "stdio", "http", "container"]
    build: Callable[[ServerContext], Any] | None = None
    functions_: tuple[Callable[..., Any], ...] = ()
    command: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    tools: Tools | None = None
    image: str = ""
    ports: tuple[int, ...] = ()
    wait: str | None = None
    scope: Literal["attempt", "campaign"] = "attempt"

    @classmethod
    def in_process(cls, build: Callable[[ServerContext], Any], *, tools: Tools | None = None) -> Server:
        """A server object made by `build(context)` for each attempt, reached without a process or a socket."""
        if not callable(build):
            raise reject("Server.in_process", "build", build, "a callable that takes a ServerContext")
        return cls(kind="in_process", build=build, tools=tools_of("Server.in_process", tools))

    @classmethod
    def functions(cls, functions: Sequence[Callable[..., Any]], *, tools: Tools | None = None) -> Server:
        """Tools made of typed Python functions; the docstring describes the tool.

        A parameter annotated `sqlalchemy.Connection` is not shown to the model: it gets a connection to the
        attempt's database, committed when the function returns and rolled back when it raises. A parameter
        annotated `ServerContext` gets that.
        """
        if isinstance(functions, str) or not all(callable(one) for one in functions) or not functions:
            raise reject("Server.functions", "functions", functions, "a non-empty list of functions")
        return cls(kind="functions", functions_=tuple(functions), tools=tools_of("Server.functions", tools))

    @classmethod
    def stdio(
        cls, command: Sequence[str], *, env: Mapping[str, str] | None = None, tools: Tools | None = None
    ) -> Server:
        """A program that speaks MCP over its standard input and output; started for each attempt."""
        parts = strings("Server.stdio", "command", command)
        if not parts:
            raise reject("Server.stdio", "command", command, "a program and its arguments")
        return cls(
            kind="stdio", command=parts, environ=dict(env or {}), tools=tools_of("Server.stdio", tools)
        )

    @classmethod
    def http(
        cls, url: str, *, headers: Mapping[str, str] | None = None, tools: Tools | None = None
    ) -> Server:
        """A running server that speaks MCP over streamable HTTP."""
        if not text("Server.http", "url", url).startswith(("http://", "https://")):
            raise reject("Server.http", "url", url, "an http:// or https:// URL")
        return cls(kind="http", url=url, headers=dict(headers or {}), tools=tools_of("Server.http", tools))

    @classmethod
    def container(
        cls,
        image: str,
        *,
        ports: int | Sequence[int] = 8000,
        path: str = "/mcp",
        command: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        wait: str | None = None,
        scope: Literal["attempt", "campaign"] = "attempt",
        tools: Tools | None = None,
    ) -> Server:
        """An image with an application that speaks MCP over streamable HTTP, at `path` of the first of its `ports`.

        `command` stands in for the image's own. It is ready when `wait` says so: a path that answers with success
        (`"/health"`, or `":8080/health"` on another of the ports), else a regular expression that is found in its
        log; None takes any answer at `path`. Each attempt has a container of its own, or with `scope="campaign"`
        all have one: then `path` and `headers` tell it what belongs to an attempt, `env` and `command` do not.
        """
        where = "Server.container"
        if not text(where, "image", image).strip():
            raise reject(where, "image", image, "an image such as 'example/orders:2'")
        listed = (ports,) if isinstance(ports, int) else tuple(ports)
        if not listed or not all(type(one) is int and 0 < one < 65536 for one in listed):
            raise reject(where, "ports", ports, "a port from 1 to 65535, or a list of them")
        if not text(where, "path", path).startswith("/"):
            raise reject(where, "path", path, "a path that begins with /")
        if wait is not None:
            _ready_when(where, wait, listed)
        if scope not in ("attempt", "campaign"):
            raise reject(where, "scope", scope, "'attempt' or 'campaign'")
        return cls(
            kind="container",
            image=image,
            ports=listed,
            url=path,
            command=strings(where, "command", command),
            environ=dict(env or {}),
            headers=dict(headers or {}),
            wait=wait,
            scope=scope,
            tools=tools_of(where, tools),
        )


def _ready_when(where: str, wait: object, ports: tuple[int, ...]) -> None:
    wait = text(where, "wait", wait)
    named = re.match(r":(\d+)/", wait)
    if named is not None and int(named[1]) not in ports:
        raise reject(where, "wait", wait, f"a path on one of its ports {list(ports)}")
    try:
        re.compile(wait)
    except re.error as error:
        raise reject(where, "wait", wait, f"a path, or a regular expression ({error})") from None
