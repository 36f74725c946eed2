"""Calls without a session: only where no tool and no author could tell."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date
from typing import Any

import pytest
from mcp.server.extension import Extension
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, TextContent

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.declare import Server
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.tools.direct import needs_no_session
from pytest_thinkingbox.tools.quiet import no_logging_setup
from pytest_thinkingbox.tools.session import Toolbox
from tests.tools.world import World


def served(*tools: Callable[..., Any], **options: Any) -> MCPServer[Any]:
    with no_logging_setup():
        server = MCPServer("desk", **options)
    for tool in tools:
        server.add_tool(tool)
    return server


def call(world: World, server: MCPServer[Any], name: str, **options: Any) -> ToolOutput:
    async def use(toolbox: Toolbox) -> ToolOutput:
        return await toolbox.call(name, {})

    return world.run(use, Server.in_process(lambda context: server), **options)


def greet() -> str:
    return "good morning"


def test_a_plain_server_needs_no_session() -> None:
    assert needs_no_session(served(greet))


def test_a_server_that_another_attempt_had_is_refused(world: World) -> None:
    server = served(greet)
    assert call(world, server, "greet").text == "good morning"
    with pytest.raises(ConfigurationError, match="it must make a new one each time"):
        call(world, server, "greet")


def test_a_tool_that_takes_the_sdks_context_gets_a_session(world: World) -> None:
    async def who(context: Context) -> str:
        await context.report_progress(1, 2)
        return f"request {context.request_context.method}"

    server = served(greet, who)
    assert not needs_no_session(server)
    assert call(world, server, "who").text == "request tools/call"


async def which(context: Context) -> str:
    """What is asked."""
    return str(context.request_context.method)


def test_a_function_that_takes_the_sdks_context_gets_a_session(world: World) -> None:
    async def use(toolbox: Toolbox) -> ToolOutput:
        return await toolbox.call("which", {})

    assert world.run(use, Server.functions([which])).text == "tools/call"


def test_a_lifespan_is_entered_and_left(world: World) -> None:
    seen = []

    @asynccontextmanager
    async def lifespan(server: MCPServer[Any]) -> AsyncIterator[None]:
        seen.append("entered")
        yield
        seen.append("left")

    server = served(greet, lifespan=lifespan)
    assert not needs_no_session(server)
    assert call(world, server, "greet").text == "good morning"
    assert seen == ["entered", "left"]


def test_an_extension_that_intercepts_calls_keeps_doing_so(world: World) -> None:
    class Polite(Extension):
        identifier = "example.com/polite"

        async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
            return CallToolResult(content=[TextContent(type="text", text="please")])

    server = served(greet, extensions=[Polite()])
    assert not needs_no_session(server)
    assert call(world, server, "greet").text == "please"


def test_a_subclass_with_a_handler_of_its_own_keeps_it(world: World) -> None:
    class Shouting(MCPServer[Any]):
        async def _handle_call_tool(self, ctx: Any, params: Any) -> CallToolResult:
            return CallToolResult(content=[TextContent(type="text", text="GOOD MORNING")])

    with no_logging_setup():
        server = Shouting("desk")
    server.add_tool(greet)
    assert not needs_no_session(server)
    assert call(world, server, "greet").text == "GOOD MORNING"


def test_middleware_keeps_the_session() -> None:
    async def watch(context: Any, call_next: Any) -> Any:
        return await call_next(context)

    assert not needs_no_session(served(greet, middleware=[watch]))


def test_structured_content_becomes_json_as_on_the_way_to_a_client(world: World) -> None:
    def stay() -> CallToolResult:
        return CallToolResult(content=[], structured_content={"from": date(2026, 3, 17)})

    assert call(world, served(stay), "stay") == ToolOutput(
        '{"from": "2026-03-17"}', value={"from": "2026-03-17"}
    )


def test_a_crash_is_text_without_detail_and_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    def fall() -> str:
        raise KeyError("secret")

    with caplog.at_level(logging.ERROR):
        assert call(world, served(fall), "fall") == ToolOutput("Error executing tool fall", error=True)
    assert "KeyError: 'secret'" in caplog.text


def test_a_synchronous_tool_that_ends_just_after_its_limit_was_too_late(world: World) -> None:
    def slow() -> str:
        time.sleep(0.2)
        return "done"

    output = call(world, served(slow), "slow", tool_seconds=0.1)
    assert output.text == "slow did not answer within 0.1 s. It may have taken effect or not."


def test_an_async_tool_ends_at_its_limit(world: World) -> None:
    ended = []

    async def slow() -> str:
        try:
            await asyncio.sleep(5)
        finally:
            ended.append("cancelled")
        return "done"

    output = call(world, served(slow), "slow", tool_seconds=0.1)
    assert output.error
    assert ended == ["cancelled"]
