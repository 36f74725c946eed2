from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest
import sqlalchemy as sa
from mcp.server import Server as LowLevelServer
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool
from pydantic import BaseModel
from sqlalchemy import Connection

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.declare import Server, ServerContext
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.tools.session import Toolbox
from tests.tools.world import World


def echo(text: str) -> str:
    return text


def again(text: str) -> str:
    return text * 2


def desk(context: ServerContext) -> MCPServer[Any]:
    """An author's own server, with state of its own for each attempt."""
    server: MCPServer[Any] = MCPServer("desk")
    seen: list[str] = []

    @server.tool()
    def remember(word: str) -> list[str]:
        """Remember a word."""
        seen.append(word)
        return seen

    @server.tool()
    def where() -> str:
        raise ToolError(f"cannot open {context.database_url}")

    @server.tool()
    async def slow(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "late"

    @server.tool()
    def stubborn(seconds: float) -> str:
        time.sleep(seconds)
        return "late"

    @server.tool()
    def huge() -> str:
        return "é" * 2_500_000

    @server.tool()
    def statement(sql: str) -> str:
        with context.engine.begin() as connection:
            connection.execute(sa.text(sql))
        return "done"

    @server.tool()
    def quiet(sql: str) -> str:
        """Keeps database errors to itself."""
        try:
            with context.engine.begin() as connection:
                connection.execute(sa.text(sql))
        except sa.exc.SQLAlchemyError:
            return "please try later"
        return "done"

    @server.tool()
    def own_connection() -> str:
        engine = sa.create_engine("sqlite:////nowhere/at/all/x.db")
        with engine.connect():
            return "connected"

    class Size(BaseModel):
        beds: int

    @server.tool()
    async def asks(ctx: Context) -> str:  # type: ignore[type-arg]
        return str(await ctx.elicit("How many beds?", Size))

    @server.tool()
    def protocol_error() -> str:
        raise MCPError(code=-32000, message="the desk is closed")

    return server


DESK = Server.in_process(desk)


def call(world: World, name: str, arguments: Any, *, server: Server = DESK, **options: Any) -> ToolOutput:
    async def use(toolbox: Toolbox) -> ToolOutput:
        return await toolbox.call(name, arguments)

    return world.run(use, server, **options)


def test_tools_of_several_servers_are_one_catalogue_in_order(world: World) -> None:
    async def use(toolbox: Toolbox) -> list[str]:
        await toolbox.call("remember", {"word": "x"})
        return [spec.name for spec in toolbox.specs]

    names = world.run(use, Server.functions([echo, again]), DESK)
    assert names[:4] == ["echo", "again", "remember", "where"]


def test_a_description_and_a_schema_are_passed_on_as_the_server_gives_them(world: World) -> None:
    async def use(toolbox: Toolbox) -> Any:
        return toolbox.specs[0]

    spec = world.run(use, DESK)
    assert spec.description == "Remember a word."
    assert spec.input_schema == {
        "type": "object",
        "title": "rememberArguments",
        "properties": {"word": {"title": "Word", "type": "string"}},
        "required": ["word"],
    }


def test_every_attempt_has_a_server_object_of_its_own(world: World) -> None:
    assert call(world, "remember", {"word": "one"}).value == ["one"]
    assert call(world, "remember", {"word": "two"}).value == ["two"]


@pytest.mark.parametrize("arguments", ["", "  ", "{}", {}])
def test_no_arguments_may_be_written_in_any_way(world: World, arguments: Any) -> None:
    assert call(world, "where", arguments).text.startswith("Error executing tool where: cannot open")


def test_arguments_may_come_as_json_text(world: World) -> None:
    assert call(world, "remember", '{"word": "Zoë"}').value == ["Zoë"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{", "remember was not called: its arguments are not valid JSON: Expecting property name"),
        ("[" * 100_000, "its arguments are not valid JSON"),
        ("[1]", "its arguments must be a JSON object, not [1]"),
        ('"word"', 'its arguments must be a JSON object, not "word"'),
        ({"word": {1, 2}}, "its arguments are not JSON: Object of type set"),
        ({"word": float("nan")}, "its arguments are not JSON: Out of range float values"),
        ({"word": "\ud800"}, "its arguments hold characters that are no valid Unicode"),
        (
            {},
            "Error executing tool remember: 1 validation error for rememberArguments\nword\n  Field required",
        ),
    ],
)
def test_t19_wrong_arguments_are_text_for_the_agent(world: World, arguments: Any, words: str) -> None:
    output = call(world, "remember", arguments)
    assert output.error
    assert words in output.text


def test_t19_a_tool_that_does_not_exist_is_text_that_helps(world: World) -> None:
    output = call(world, "rember", {}, server=Server.functions([echo, again]))
    assert output == ToolOutput("There is no tool named 'rember'. The tools are: echo, again.", error=True)
    assert "Did you mean remember?" in call(world, "rember", {}).text


def test_two_tools_of_one_name_are_refused_with_both_servers(world: World) -> None:
    async def use(toolbox: Toolbox) -> None: ...

    with pytest.raises(ConfigurationError, match="two tools are named 'echo'") as caught:
        world.run(use, Server.functions([echo]), Server.functions([again, echo]))
    assert "servers[0] (functions echo)" in str(caught.value)
    assert "servers[1] (functions again, echo)" in str(caught.value)
    assert "rename it in one of them" in str(caught.value)


def test_a_build_function_that_makes_no_server_is_refused(world: World) -> None:
    def build(context: ServerContext) -> int:
        return 3

    with pytest.raises(
        ConfigurationError, match=r"\(in_process build\): its build function returned 3; it must"
    ):
        call(world, "x", {}, server=Server.in_process(build))


def test_a_build_function_that_raises_is_refused(world: World) -> None:
    def build(context: ServerContext) -> Any:
        raise KeyError("DESK_KEY")

    with pytest.raises(
        ConfigurationError, match=r"\(in_process build\): its build .* KeyError\('DESK_KEY'\)"
    ):
        call(world, "x", {}, server=Server.in_process(build))


def test_t16_a_build_function_that_finds_no_database_ends_the_attempt_only(world: World) -> None:
    def build(context: ServerContext) -> Any:
        with context.engine.connect():
            raise AssertionError("unreachable")

    world.engine.dispose()
    world.engine = sa.create_engine("sqlite:////nowhere/at/all/x.db")
    with pytest.raises(InfrastructureDown, match="the database died: unable to open"):
        call(world, "x", {}, server=Server.in_process(build))


def test_t46_the_text_of_a_tool_error_hides_the_database(world: World) -> None:
    assert call(world, "where", {}).text == "Error executing tool where: cannot open [database]"


def test_a_result_of_5_mb_arrives(world: World) -> None:
    assert call(world, "huge", {}).text == "é" * 2_500_000


def test_an_async_tool_is_cancelled_at_its_limit(world: World) -> None:
    started = time.perf_counter()
    output = call(world, "slow", {"seconds": 30}, tool_seconds=0.1)
    assert time.perf_counter() - started < 5
    assert output == ToolOutput(
        "slow did not answer within 0.1 s. It may have taken effect or not.", error=True
    )


def test_t52_a_hanging_synchronous_tool_holds_up_nobody_and_is_known_to_run(world: World) -> None:
    async def use() -> tuple[ToolOutput, float, bool, bool]:
        started = time.perf_counter()
        async with world.open(DESK, tool_seconds=0.1) as toolbox:
            output = await toolbox.call("stubborn", {"seconds": 1.5})
        closed = time.perf_counter() - started
        busy = toolbox.busy
        while toolbox.busy and time.perf_counter() - started < 5:
            await asyncio.sleep(0.05)
        return output, closed, busy, toolbox.busy

    output, closed, busy, at_last = asyncio.run(use())
    assert output.text == "stubborn did not answer within 0.1 s. It may have taken effect or not."
    assert closed < 1.2
    assert (busy, at_last) == (True, False)


def test_t52_an_episode_that_is_cancelled_does_not_wait_for_a_synchronous_tool(world: World) -> None:
    async def use() -> tuple[float, bool]:
        opened: list[Toolbox] = []

        async def episode() -> None:
            async with world.open(DESK) as toolbox:
                opened.append(toolbox)
                await toolbox.call("stubborn", {"seconds": 1.5})

        task = asyncio.create_task(episode())
        await asyncio.sleep(0.3)
        started = time.perf_counter()
        task.cancel()
        await asyncio.wait({task})
        return time.perf_counter() - started, opened[0].busy

    took, busy = asyncio.run(use())
    assert took < 1.0
    assert busy


def test_hanging_tools_do_not_use_up_the_threads_of_others(world: World) -> None:
    async def use(toolbox: Toolbox) -> ToolOutput:
        await asyncio.gather(*(toolbox.call("stubborn", {"seconds": 1.5}) for _ in range(45)))
        return await toolbox.call("remember", {"word": "free"})

    assert world.run(use, DESK, tool_seconds=0.3).value == ["free"]


def test_t16_a_database_that_is_gone_ends_the_attempt(world: World) -> None:
    world.engine.dispose()
    world.engine = sa.create_engine("sqlite:////nowhere/at/all/x.db")
    with pytest.raises(InfrastructureDown, match="the database died while statement ran: unable to open"):
        call(world, "statement", {"sql": "select 1"})


@pytest.mark.parametrize("tool", ["quiet", "own_connection"])
def test_t16_it_is_seen_also_when_the_tool_hides_it_or_connects_by_itself(world: World, tool: str) -> None:
    world.engine.dispose()
    world.engine = sa.create_engine("sqlite:////nowhere/at/all/x.db")
    arguments = {"sql": "select 1"} if tool == "quiet" else {}
    with pytest.raises(InfrastructureDown, match="unable to open database file"):
        call(world, tool, arguments)


@pytest.mark.parametrize(
    "sql", ["insert into bookings values (1, null)", "select * from nowhere", "insert into bookings values ("]
)
def test_t16_a_refused_statement_is_the_agents_to_read(world: World, sql: str) -> None:
    assert call(world, "statement", {"sql": sql}).error


def test_t16_a_locked_database_is_the_agents_to_read(world: World) -> None:
    def write(connection: Connection) -> None:
        connection.execute(sa.text("insert into bookings values (1, 'me')"))

    world.engine.dispose()
    world.engine = sa.create_engine(world.url, connect_args={"timeout": 0.1})
    engine = sa.create_engine(world.url)
    with engine.connect() as other:
        other.execute(sa.text("begin immediate"))
        output = call(world, "write", {}, server=Server.functions([write]))
    engine.dispose()
    assert output.text == "Error executing tool write: The database refused the statement: database is locked"


def test_a_question_to_the_user_is_refused_in_words(world: World) -> None:
    output = call(world, "asks", {})
    assert output.error
    assert output.text.startswith("Error executing tool asks")


def test_a_protocol_error_of_the_server_is_text_for_the_agent(world: World) -> None:
    output = call(world, "protocol_error", {})
    assert output == ToolOutput("Error executing tool protocol_error: the desk is closed", error=True)


async def list_tools(context: Any, parameters: Any) -> ListToolsResult:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tools = [Tool(name="say", input_schema=schema), Tool(name="crash", input_schema=schema)]
    last = parameters is not None and parameters.cursor == "1"
    return ListToolsResult(tools=tools[1:], next_cursor=None) if last else ListToolsResult(
        tools=tools[:1], next_cursor="1"
    )  # fmt: skip


async def call_tool(context: Any, parameters: Any) -> CallToolResult:
    if parameters.name == "crash":
        raise KeyError("/home/dana/secret")
    return CallToolResult(content=[TextContent(text=parameters.arguments["text"])])


LOW_LEVEL = Server.in_process(
    lambda context: LowLevelServer("low", on_list_tools=list_tools, on_call_tool=call_tool)
)


def test_a_low_level_server_with_a_paged_list_of_tools_works(world: World) -> None:
    assert call(world, "say", {"text": "hello"}, server=LOW_LEVEL).text == "hello"


def test_a_crash_of_a_low_level_server_is_text_for_the_agent(world: World) -> None:
    output = call(world, "crash", {}, server=LOW_LEVEL)
    assert output.error
    assert "secret" not in output.text


def test_calls_may_run_at_the_same_time(world: World) -> None:
    async def use(toolbox: Toolbox) -> float:
        started = time.perf_counter()
        await asyncio.gather(*(toolbox.call("stubborn", {"seconds": 0.3}) for _ in range(8)))
        return time.perf_counter() - started

    assert world.run(use, DESK) < 1.5


def test_t33_a_toolbox_may_be_closed_by_another_task_than_the_one_that_opened_it(world: World) -> None:
    async def use() -> ToolOutput:
        opened = world.open(DESK, Server.functions([echo]))
        toolbox = await asyncio.create_task(opened.__aenter__())
        output = await asyncio.create_task(toolbox.call("echo", {"text": "hi"}))
        await asyncio.create_task(opened.__aexit__(None, None, None))
        return output

    assert asyncio.run(use()).text == "hi"


def test_many_attempts_at_once_do_not_mix_their_servers(world: World) -> None:
    async def attempt(word: str) -> Any:
        async with world.open(DESK) as toolbox:
            await toolbox.call("remember", {"word": word})
            return (await toolbox.call("remember", {"word": word})).value

    async def play() -> list[Any]:
        return await asyncio.gather(*(attempt(str(n)) for n in range(20)))

    assert asyncio.run(play()) == [[str(n), str(n)] for n in range(20)]


def test_an_environment_without_servers_has_no_tools(world: World) -> None:
    async def use(toolbox: Toolbox) -> tuple[Any, str]:
        return toolbox.specs, (await toolbox.call("x", {})).text

    assert world.run(use) == ((), "There is no tool named 'x'. The tools are: none.")


def test_logging_is_left_as_it_was(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    call(world, "remember", {"word": "x"})
    assert root.handlers == []


def test_middleware_of_the_authors_decides_what_an_agent_sees(world: World) -> None:
    def build(context: ServerContext) -> MCPServer[Any]:
        server = desk(context)

        async def hide(context: Any, call_next: Any) -> Any:
            result = await call_next(context)
            if context.method == "tools/list":
                tools = [one for one in result["tools"] if one["name"] != "statement"]
                return result | {"tools": tools}
            return result

        server.middleware.append(hide)
        return server

    async def use(toolbox: Toolbox) -> tuple[list[str], str]:
        await toolbox.call("remember", {"word": "x"})
        return [spec.name for spec in toolbox.specs], (await toolbox.call("statement", {})).text

    names, text = world.run(use, Server.in_process(build))
    assert "remember" in names
    assert "statement" not in names
    assert text.startswith("There is no tool named 'statement'.")
