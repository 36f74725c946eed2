"""Servers that ask their client for things, tell it things, and answer with more than text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.server import Server as LowLevelServer
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListToolsResult,
    Tool,
)
from pydantic import BaseModel

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.declare import Server, ServerContext
from pytest_thinkingbox.tools.session import Toolbox
from tests.tools import pushing_server
from tests.tools.world import World

NOBODY = InputRequiredResult(
    input_requests={
        "a": ElicitRequest(
            params=ElicitRequestFormParams(
                message="Really?", requested_schema={"type": "object", "properties": {}}
            )
        )
    }
)


class Answer(BaseModel):
    ok: bool


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def played(world: World, server: Server, *calls: tuple[str, dict[str, Any]]) -> list[ToolOutput]:
    async def use(toolbox: Toolbox) -> list[ToolOutput]:
        return [await toolbox.call(name, arguments) for name, arguments in calls]

    return world.run(use, server, tool_seconds=10)


@pytest.mark.slow
def test_an_old_server_that_asks_and_tells_is_answered_in_order(world: World) -> None:
    asked = [("ask", {"method": method}) for method in pushing_server.REQUESTS]
    server = Server.stdio([sys.executable, pushing_server.__file__])
    answers = played(world, server, *asked, ("tell", {}), ("show", {}), ("ask", {"method": "ping"}))
    assert [one.text for one in answers[:5]] == [
        "error -32600",  # elicitation: this client said at the start that it has none
        "error -32600",
        "error -32600",
        "answered",
        "error -32601",
    ]
    assert (answers[5].text, answers[5].value) == ('{"told": true}', {"told": True})
    assert answers[6].text.splitlines() == [
        "see",
        "[image: image/png, 4 bytes]",
        "[audio: audio/wav, 3 bytes]",
        "[resource bill: file:///bill.pdf, May]",
        "inner",
        "[resource blob://1: application/pdf, 3 bytes]",
    ]
    assert answers[7].text == "answered"


def high(context: ServerContext) -> MCPServer[Any]:
    """Called without a session."""
    server: MCPServer[Any] = MCPServer("high")

    @server.tool()
    def ask() -> InputRequiredResult:
        return NOBODY

    @server.tool()
    def picture() -> Image:
        return Image(data=b"\x89PNG", format="png")

    @server.tool()
    def structured() -> Answer:
        return Answer(ok=True)

    return server


def high_with_session(context: ServerContext) -> MCPServer[Any]:
    """The same, and tools that use their session."""
    server = high(context)

    @server.tool()
    async def elicit(ctx: Context) -> str:
        return str(await ctx.elicit("Really?", Answer))

    @server.tool()
    async def progress(ctx: Context) -> str:
        for part in range(3):
            await ctx.report_progress(part, 3, "going")
        await ctx.session.send_tool_list_changed()
        return "done"

    return server


@pytest.mark.parametrize("build", [high, high_with_session])
def test_results_are_the_same_with_and_without_a_session(world: World, build: Any) -> None:
    ask, picture, structured = played(
        world, Server.in_process(build), ("ask", {}), ("picture", {}), ("structured", {})
    )
    assert ask == ToolOutput(
        "Error executing tool ask: it asks for further input, which nobody here can give", error=True
    )
    assert picture == ToolOutput("[image: image/png, 4 bytes]")
    assert (structured.error, structured.value) == (False, {"ok": True})


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_a_tool_that_asks_in_the_middle_fails_in_words_and_one_that_tells_goes_on(world: World) -> None:
    elicit, progress = played(world, Server.in_process(high_with_session), ("elicit", {}), ("progress", {}))
    assert elicit.error
    assert "no back-channel for server-initiated requests" in elicit.text
    assert progress == ToolOutput("done", value="done")


def test_a_low_level_server_that_needs_input_is_refused_in_words(world: World) -> None:
    def low(context: ServerContext) -> LowLevelServer[Any]:
        async def listed(context: Any, parameters: Any) -> ListToolsResult:
            return ListToolsResult(tools=[Tool(name="ask", input_schema={"type": "object"})])

        async def called(context: Any, parameters: Any) -> InputRequiredResult:
            return NOBODY

        return LowLevelServer("low", on_list_tools=listed, on_call_tool=called)

    [answer] = played(world, Server.in_process(low), ("ask", {}))
    assert answer.text == "Error executing tool ask: it asks for further input, which nobody here can give"
