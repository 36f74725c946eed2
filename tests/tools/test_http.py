from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.declare import Server
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from tests.tools.world import World

shared: MCPServer[Any] = MCPServer("shared")


@shared.tool()
def echo(text: str) -> str:
    return text


@shared.tool()
def who(ctx: Context) -> str:  # type: ignore[type-arg]
    """Which attempt asks, as the headers and the URL say."""
    request = ctx.request_context.request
    return f"{request.headers['x-attempt']} {request.query_params['db']}"


@shared.tool()
def big() -> str:
    return "é" * 2_500_000


@shared.tool()
async def slow() -> str:
    await asyncio.sleep(30)
    return "late"


class Door:
    """The server's application, which can be told to answer like a broken gateway."""

    def __init__(self, *, json_response: bool) -> None:
        self.status = 200
        self._app = shared.streamable_http_app(json_response=json_response)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self.status != 200:
            await PlainTextResponse("upstream is down", self.status)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


@asynccontextmanager
async def serving(*, json_response: bool = False) -> AsyncIterator[tuple[str, Door, uvicorn.Server]]:
    door = Door(json_response=json_response)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(door, log_level="critical", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", door, server
    finally:
        server.should_exit = True
        await task


def call(
    world: World, name: str, arguments: Any, *, json_response: bool = False, **options: Any
) -> ToolOutput:
    async def play() -> ToolOutput:
        async with serving(json_response=json_response) as (url, _, _):
            server = Server.http(url + "?db={database_url}", headers={"X-Attempt": "{attempt_id}"})
            async with world.open(server, **options) as toolbox:
                return await toolbox.call(name, arguments)

    return asyncio.run(play())


@pytest.mark.parametrize("json_response", [False, True], ids=["events", "json"])
def test_a_result_of_5_mb_arrives(world: World, json_response: bool) -> None:
    assert call(world, "big", {}, json_response=json_response).text == "é" * 2_500_000


def test_the_attempt_is_told_in_headers_and_in_the_url(world: World) -> None:
    assert call(world, "who", {}).text == "test_shop.py::test_order[try3] [database]"


def test_a_call_times_out(world: World) -> None:
    output = call(world, "slow", {}, tool_seconds=0.3)
    assert output == ToolOutput(
        "slow did not answer within 0.3 s. It may have taken effect or not.", error=True
    )


def test_t19_wrong_arguments_are_text_for_the_agent(world: World) -> None:
    output = call(world, "echo", {"txet": "x"})
    assert output.error
    assert "text\n  Field required" in output.text


def test_a_server_that_is_not_there_ends_the_attempt(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    async def play() -> None:
        async with world.open(Server.http(f"http://127.0.0.1:{port}/mcp")):
            raise AssertionError("opened")

    with pytest.raises(InfrastructureDown, match=rf"\(http http://127.0.0.1:{port}/mcp\) did not start"):
        asyncio.run(play())


@pytest.mark.parametrize("status", [404, 500, 503])
def test_t16_a_gateway_that_fails_in_a_call_ends_the_attempt(world: World, status: int) -> None:
    async def play() -> None:
        async with serving() as (url, door, _), world.open(Server.http(url)) as toolbox:
            assert (await toolbox.call("echo", {"text": "x"})).text == "x"
            door.status = status
            await toolbox.call("echo", {"text": "y"})

    with pytest.raises(InfrastructureDown, match="died while echo ran"):
        asyncio.run(play())


def test_t16_a_server_that_goes_away_ends_the_attempt(world: World) -> None:
    async def play() -> None:
        async with serving() as (url, _, server), world.open(Server.http(url)) as toolbox:
            assert (await toolbox.call("echo", {"text": "x"})).text == "x"
            server.should_exit = True
            await asyncio.sleep(0.5)
            await toolbox.call("echo", {"text": "y"})

    with pytest.raises(InfrastructureDown, match="echo"):
        asyncio.run(play())


def test_an_unknown_placeholder_in_a_url_names_the_server(world: World) -> None:
    async def play() -> None:
        async with world.open(Server.http("http://127.0.0.1:1/{campaign}")):
            raise AssertionError("opened")

    with pytest.raises(ConfigurationError, match=r"servers\[0\] \(http .*\{campaign\}"):
        asyncio.run(play())


def test_a_label_keeps_the_credentials_of_a_url_to_itself(world: World) -> None:
    async def play() -> None:
        async with world.open(Server.http("http://dana:hunter2@127.0.0.1:1/mcp?key=sk-1")):
            raise AssertionError("opened")

    with pytest.raises(InfrastructureDown) as caught:
        asyncio.run(play())
    assert "hunter2" not in str(caught.value)
    assert "sk-1" not in str(caught.value)


def test_20_attempts_share_a_server_over_http(world: World) -> None:
    async def attempt(url: str, word: str) -> str:
        server = Server.http(url + "?db=none", headers={"X-Attempt": word})
        async with world.open(server) as toolbox:
            return (await toolbox.call("who", {})).text

    async def play() -> list[str]:
        async with serving() as (url, _, _):
            return await asyncio.gather(*(attempt(url, str(n)) for n in range(20)))

    assert asyncio.run(play()) == [f"{n} none" for n in range(20)]


def test_a_call_that_times_out_while_the_database_server_is_halted_is_an_outage(world: World) -> None:
    world.alive = False
    with pytest.raises(InfrastructureDown, match="did not answer any more while slow ran"):
        call(world, "slow", {}, tool_seconds=0.3)
