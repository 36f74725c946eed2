"""Tools as an agent sees them: chosen, renamed, described anew, with parameters taken away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp.server import Server as LowLevelServer
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.declare import Server, ServerContext, Tools
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.tools.session import Toolbox
from tests.tools.world import World


def pay_bill(amount: int, currency: str = "USD", note: str = "none") -> str:
    """Pay a bill.

    Any amount.
    """
    if amount < 0:
        raise ValueError(f"pay_bill pays nothing below 0 {currency}")
    return f"{amount} {currency}, {note}"


def get(key: str) -> str:
    """Get a value."""
    raise ValueError(f"I get no {key}")


FUNCTIONS = [pay_bill, get]


def in_process(context: ServerContext) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("bills")
    server.tool()(pay_bill)
    server.tool()(get)
    return server


def with_session(context: ServerContext) -> MCPServer[Any]:
    """The same, not to be called without a session."""
    server = in_process(context)

    @server.tool()
    def unused(ctx: Context) -> str:
        raise ToolError(ctx.request_id)

    return server


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def played(world: World, server: Server, name: str, arguments: dict[str, Any], **options: Any) -> ToolOutput:
    async def use(toolbox: Toolbox) -> ToolOutput:
        return await toolbox.call(name, arguments)

    return world.run(use, server, **options)


def names(world: World, *servers: Server, **options: Any) -> list[str]:
    async def use(toolbox: Toolbox) -> list[str]:
        return [one.name for one in toolbox.specs]

    return world.run(use, *servers, **options)


CHANGED = Tools(
    without=["unused"],
    rename={"pay_bill": "settle", "get": "look_up"},
    describe={"pay_bill": "Settle a bill.", "pay_bill.amount": "Whole units."},
    hide={"pay_bill": {"currency": "EUR"}},
)


@pytest.mark.parametrize("build", [in_process, with_session])
def test_a_changed_tool_is_called_as_the_agent_knows_it(world: World, build: Any) -> None:
    tools = (
        CHANGED
        if build is with_session
        else Tools(rename=CHANGED.rename, describe=CHANGED.describe, hide=CHANGED.hide)
    )
    server = Server.in_process(build, tools=tools)

    async def specs(toolbox: Toolbox) -> Any:
        return {one.name: one for one in toolbox.specs}

    found = world.run(specs, server)
    assert list(found) == ["settle", "look_up"]
    assert found["settle"].description == "Settle a bill."
    properties = found["settle"].input_schema["properties"]
    assert list(properties) == ["amount", "note"]
    assert properties["amount"]["description"] == "Whole units."
    assert played(world, server, "settle", {"amount": 5}).text == "5 EUR, none"
    hidden = played(world, server, "settle", {"amount": 5, "currency": "USD"})
    assert (
        hidden.text == "settle was not called: it has no argument 'currency'; its arguments are: amount, note"
    )
    assert "no tool named 'pay_bill'" in played(world, server, "pay_bill", {"amount": 5}).text


def test_errors_name_the_tool_as_the_agent_knows_it(world: World) -> None:
    server = Server.functions(FUNCTIONS, tools=CHANGED_FUNCTIONS)
    assert played(world, server, "settle", {"amount": -1}).text == (
        "Error executing tool settle: settle pays nothing below 0 EUR"
    )
    wrong = played(world, server, "settle", {"amount": "x"}).text
    assert "settle" in wrong
    assert "pay_bill" not in wrong
    # "get" is a word of the language too.
    assert played(world, server, "look_up", {"key": "rate"}).text == (
        "Error executing tool look_up: I get no rate"
    )
    assert "look_up" in played(world, server, "look_up", {}).text


CHANGED_FUNCTIONS = Tools(rename=CHANGED.rename, hide=CHANGED.hide)


def test_a_required_parameter_is_hidden_with_its_value_only(world: World) -> None:
    server = Server.functions(FUNCTIONS, tools=Tools(hide={"pay_bill": {"amount": 7}}))
    assert played(world, server, "pay_bill", {}).text == "7 USD, none"
    server = Server.functions(FUNCTIONS, tools=Tools(hide={"pay_bill": ["note", "currency"]}))
    assert played(world, server, "pay_bill", {"amount": 1}).text == "1 USD, none"
    with pytest.raises(ConfigurationError, match="pay_bill requires 'amount': say what it always is"):
        names(world, Server.functions(FUNCTIONS, tools=Tools(hide={"pay_bill": ["amount"]})))


def test_an_environment_and_a_task_choose_among_what_is_left(world: World) -> None:
    server = Server.functions(FUNCTIONS, tools=Tools(rename={"get": "look_up"}))
    assert names(world, server, tools=Tools(only=["look_up"])) == ["look_up"]

    async def use(toolbox: Toolbox) -> list[str]:
        return [one.name for one in toolbox.specs]

    tools = Tools(rename={"look_up": "find"})
    assert world.run(use, server, tools=tools, task_tools=Tools(without=["pay_bill"])) == ["find"]


def test_two_tools_of_one_name_are_an_error_with_the_way_out(world: World) -> None:
    with pytest.raises(ConfigurationError, match=r"two tools are named 'pay_bill'.* tools=Tools\(rename="):
        names(world, Server.functions([pay_bill]), Server.functions(FUNCTIONS))
    renamed = Server.functions(FUNCTIONS, tools=Tools(rename={"pay_bill": "pay_other"}))
    assert names(world, Server.functions([pay_bill]), renamed) == ["pay_bill", "pay_other", "get"]
    left_out = Server.functions(FUNCTIONS, tools=Tools(only=["get"]))
    assert names(world, Server.functions([pay_bill]), left_out) == ["pay_bill", "get"]


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        (Tools(only=["pay_bil"]), r"servers\[0\].*only=...\) names 'pay_bil'.*did you mean 'pay_bill'"),
        (
            Tools(without=["x"]),
            "without=...\\) names 'x', and there is no such tool; there are: pay_bill, get",
        ),
        (Tools(rename={"x": "y"}), "rename=...\\) names 'x'"),
        (Tools(rename={"get": "pay_bill"}), "makes two tools of the name 'pay_bill'"),
        (Tools(describe={"get.kee": "?"}), "get has no parameter 'kee' .did you mean 'key'"),
        (Tools(hide={"get": {"lock": 1}}), "get has no parameter 'lock'; there are: key"),
    ],
)
def test_an_override_that_fits_nothing_is_an_error(world: World, tools: Tools, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        names(world, Server.functions(FUNCTIONS, tools=tools))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"only": "get"}, "must be a list of strings"),
        ({"rename": ["get"]}, "must be a dictionary by tool"),
        ({"rename": {"get": ""}}, "must be a non-empty string"),
        ({"hide": {"get": "key"}}, "must be a list of strings"),
        ({"hide": {"get": {"key": object()}}}, "give values that JSON has"),
    ],
)
def test_wrong_overrides_are_refused_where_they_are_written(arguments: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Tools(**arguments)


def test_a_server_with_two_tools_of_one_name_is_refused(world: World) -> None:
    from mcp_types import ListToolsResult, Tool

    def twice(context: ServerContext) -> LowLevelServer[Any]:
        async def listed(context: Any, parameters: Any) -> ListToolsResult:
            return ListToolsResult(tools=[Tool(name="a", input_schema={"type": "object"})] * 2)

        return LowLevelServer("twice", on_list_tools=listed)

    with pytest.raises(ConfigurationError, match="has two tools named 'a'"):
        names(world, Server.in_process(twice))
