from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from pytest_thinkingbox.agents.base import ToolOutput, ToolSpec
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.tools.endpoint import Endpoint, open_endpoint

ECHO = ToolSpec(
    name="echo",
    description="Say it again.",
    input_schema={"type": "object", "properties": {"text": {"type": "string"}}},
)


async def echo(name: str, arguments: Mapping[str, Any]) -> ToolOutput:
    return ToolOutput(arguments["text"], error=name != "echo")


async def call(
    endpoint: Endpoint, token: str, name: str, text: str, *, mode: str = "auto"
) -> tuple[bool, str]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(endpoint.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["echo"]
            result = await client.call_tool(name, {"text": text})
            return bool(result.is_error), result.content[0].text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_who_has_the_token_plays_the_tools(mode: str) -> None:
    async def play() -> tuple[bool, str]:
        async with open_endpoint([ECHO], echo) as endpoint:
            return await call(endpoint, endpoint.token, "echo", "Zoë", mode=mode)

    assert asyncio.run(play()) == (False, "Zoë")


def test_an_error_of_a_tool_is_an_error_for_the_program() -> None:
    async def play() -> tuple[bool, str]:
        async with open_endpoint([ECHO], echo) as endpoint:
            return await call(endpoint, endpoint.token, "other", "no such tool")

    assert asyncio.run(play()) == (True, "no such tool")


@pytest.mark.parametrize(
    "header", [{}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer é".encode()}]
)
def test_who_has_no_token_is_refused(header: Any) -> None:
    async def play() -> int:
        async with open_endpoint([ECHO], echo) as endpoint, httpx2.AsyncClient(headers=header) as http:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            return (await http.post(endpoint.url, json=body)).status_code

    assert asyncio.run(play()) == 401


def test_every_endpoint_has_a_token_of_its_own() -> None:
    async def play() -> tuple[str, str]:
        async with open_endpoint([], echo) as one, open_endpoint([], echo) as other:
            return one.token, other.token

    one, other = asyncio.run(play())
    assert len(one) >= 32
    assert one != other


def test_t16_what_ended_the_attempt_is_kept_and_the_program_only_sees_an_error() -> None:
    async def dead(name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        raise InfrastructureDown("the database at postgresql://u:secret@h/d died")

    async def play() -> tuple[tuple[bool, str], Exception | None]:
        async with open_endpoint([ECHO], dead) as endpoint:
            return await call(endpoint, endpoint.token, "echo", "x"), endpoint.failure

    answer, failure = asyncio.run(play())
    assert answer == (True, "The tool is not available.")
    assert isinstance(failure, InfrastructureDown)


@pytest.mark.parametrize("used", [False, True])
def test_nobody_can_connect_once_it_is_closed(used: bool) -> None:
    async def play() -> str:
        async with open_endpoint([ECHO], echo) as endpoint:
            if used:
                await call(endpoint, endpoint.token, "echo", "x")
            return endpoint.url

    port = urlsplit(asyncio.run(play())).port
    assert port is not None
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()
