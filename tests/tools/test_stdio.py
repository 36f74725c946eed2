from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.declare import Server
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.tools.session import Toolbox
from tests.tools.world import World

PROGRAM = Path(__file__).with_name("plain_server.py")


def plain(*arguments: str, env: dict[str, str] | None = None) -> Server:
    return Server.stdio([sys.executable, "-S", str(PROGRAM), *arguments], env=env)


def call(
    world: World, name: str, arguments: Any, *, server: Server | None = None, **options: Any
) -> ToolOutput:
    async def use(toolbox: Toolbox) -> ToolOutput:
        return await toolbox.call(name, arguments)

    return world.run(use, server or plain(), **options)


def test_a_program_is_a_server(world: World) -> None:
    assert call(world, "echo", {"text": "Zoë \x00 \U0001f600"}).text == "Zoë \x00 \U0001f600"


def test_placeholders_are_filled_in_the_command_and_the_environment(world: World) -> None:
    server = plain(
        "--attempt={attempt_id}", '{"mail": "{mail_host}:{mail_port}"}', env={"SHOP_DB": "{database_url}"}
    )

    async def use(toolbox: Toolbox) -> tuple[str, str]:
        arguments = await toolbox.call("arguments", {})
        variable = await toolbox.call("environment", {"name": "SHOP_DB"})
        return arguments.text, variable.text

    arguments, variable = world.run(use, server)
    assert json.loads(arguments) == [
        "--attempt=test_shop.py::test_order[try3]",
        '{"mail": "127.0.0.1:2525"}',
    ]
    assert variable == "[database]"


def test_a_program_that_knows_only_files_is_told_the_path(world: World) -> None:
    arguments = call(world, "arguments", {}, server=plain("--db-path", "{database_path}"))
    assert json.loads(arguments.text) == ["--db-path", "[database]"]  # the agent does not see it


def test_an_unknown_placeholder_in_a_command_names_the_server(world: World) -> None:
    with pytest.raises(
        ConfigurationError, match=r"shop: servers\[0\] \(stdio .*\): \{port\} in '--port=\{port\}'"
    ):
        call(world, "echo", {}, server=plain("--port={port}"))


def test_a_placeholder_for_the_clock_needs_a_clock(world: World) -> None:
    with pytest.raises(ConfigurationError, match="give the Environment now="):
        call(world, "echo", {}, server=plain("{now}"))


def test_the_server_does_not_get_the_secrets_of_this_process(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert call(world, "environment", {"name": "OPENAI_API_KEY"}).text == "unset"
    assert call(world, "environment", {"name": "PATH"}).text == os.environ["PATH"]


def alive(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
def test_t32_the_process_is_gone_when_the_toolbox_is_closed(world: World) -> None:
    server = call(world, "child", {})
    parent, _ = json.loads(server.text)
    assert not alive(parent)


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
def test_t32_a_child_of_the_server_is_gone_too(world: World) -> None:
    _, child = json.loads(call(world, "child", {}).text)
    assert not alive(child)  # a dead one that nobody has taken away yet counts as gone


def test_t16_a_server_that_dies_in_a_call_ends_the_attempt_with_its_last_words(world: World) -> None:
    with pytest.raises(InfrastructureDown, match=r"\(stdio .*\) died while die ran.*out of memory, sorry"):
        call(world, "die", {})


def test_t16_a_server_that_has_died_ends_the_attempt_at_the_next_call(world: World) -> None:
    async def use(toolbox: Toolbox) -> None:
        with pytest.raises(InfrastructureDown):
            await toolbox.call("die", {})
        with pytest.raises(InfrastructureDown, match=r"echo was not called|died while echo ran"):
            await toolbox.call("echo", {"text": "still there?"})

    world.run(use, plain())


def test_a_call_that_times_out_leaves_the_session_usable(world: World) -> None:
    async def use(toolbox: Toolbox) -> tuple[str, str]:
        late = await toolbox.call("hang", {})
        await asyncio.sleep(1.0)
        return late.text, (await toolbox.call("echo", {"text": "on time"})).text

    assert world.run(use, plain(), tool_seconds=0.5) == (
        "hang did not answer within 0.5 s. It may have taken effect or not.",
        "on time",
    )


def test_a_result_of_5_mb_arrives(world: World) -> None:
    assert call(world, "big", {}).text == "é" * 2_500_000


def test_an_error_code_of_the_servers_own_is_text_for_the_agent(world: World) -> None:
    assert call(world, "refuse", {}) == ToolOutput("Error executing tool refuse: not today", error=True)


def test_t19_a_lone_surrogate_from_the_agent_does_not_end_the_session(world: World) -> None:
    async def use(toolbox: Toolbox) -> tuple[bool, str]:
        broken = await toolbox.call("echo", '{"text": "\\ud800"}')
        return broken.error, (await toolbox.call("echo", {"text": "still here"})).text

    assert world.run(use, plain()) == (True, "still here")


@pytest.mark.parametrize("method", ["elicitation/create", "sampling/createMessage", "roots/list"])
def test_a_question_of_the_server_is_refused_in_words(world: World, method: str) -> None:
    refusal = json.loads(call(world, "ask", {"method": method}).text)
    assert "not supported" in refusal["message"]


def test_a_server_that_prints_what_is_no_message_goes_on(world: World) -> None:
    assert call(world, "chatter", {}).text == "done"


def test_a_program_that_does_not_exist_is_a_configuration_error(world: World) -> None:
    with pytest.raises(ConfigurationError, match="there is no program 'no-such-program'"):
        call(world, "echo", {}, server=Server.stdio(["no-such-program"]))


def test_a_program_that_may_not_be_executed_is_a_configuration_error(world: World, tmp_path: Path) -> None:
    script = tmp_path / "server.sh"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(ConfigurationError, match="may not be executed"):
        call(world, "echo", {}, server=Server.stdio([str(script)]))


def test_a_program_that_ends_at_once_is_named_with_its_last_words(world: World) -> None:
    server = Server.stdio([sys.executable, "-c", "import sys; sys.exit('no such table: rooms')"])
    with pytest.raises(InfrastructureDown, match=r"\(stdio .*\).*no such table: rooms"):
        call(world, "echo", {}, server=server)


def test_no_more_programs_start_at_once_than_there_are_cpus(world: World, tmp_path: Path) -> None:
    log = tmp_path / "starts.log"
    server = plain(env={"PLAIN_STARTS": str(log)})

    async def attempt() -> str:
        async with world.open(server) as toolbox:
            return (await toolbox.call("echo", {"text": "x"})).text

    async def play() -> list[str]:
        return await asyncio.gather(*(attempt() for _ in range(8)))

    assert asyncio.run(play()) == ["x"] * 8
    starting = most = 0
    for line in sorted(log.read_text().splitlines(), key=lambda one: float(one.split()[0])):
        starting += 1 if line.endswith("start") else -1
        most = max(most, starting)
    assert most <= max(2, os.cpu_count() or 2)


def test_a_server_of_the_sdk_works(world: World, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(
        "import sqlite3, sys\n"
        "from mcp.server.mcpserver import Context, MCPServer\n"
        "from pydantic import BaseModel\n"
        "class Beds(BaseModel):\n"
        "    beds: int\n"
        "server = MCPServer('shop')\n"
        "@server.tool()\n"
        "def book(booking_id: int, guest: str) -> dict[str, int]:\n"
        "    with sqlite3.connect(sys.argv[1]) as connection:\n"
        "        connection.execute('insert into bookings values (?, ?)', (booking_id, guest))\n"
        "    return {'id': booking_id}\n"
        "@server.tool()\n"
        "async def ask(ctx: Context) -> str:\n"
        "    return str(await ctx.elicit('How many beds?', Beds))\n"
        "server.run()\n"
    )
    server = Server.stdio([sys.executable, str(script), str(world.file)])

    async def use(toolbox: Toolbox) -> tuple[ToolOutput, ToolOutput, ToolOutput]:
        asked = await toolbox.call("ask", {})
        wrong = await toolbox.call("book", {"booking_id": "seven"})
        return asked, wrong, await toolbox.call("book", {"booking_id": 7, "guest": "Dana"})

    asked, wrong, booked = world.run(use, server)
    assert asked.error
    assert asked.text.startswith("Error executing tool ask")
    assert wrong.error
    assert "guest\n  Field required" in wrong.text
    assert booked.value == {"id": 7}
    assert world.rows() == [(7, "Dana")]


def test_closing_takes_no_time_when_the_server_ends_with_its_input(world: World) -> None:
    async def play() -> float:
        async with world.open(plain()) as toolbox:
            await toolbox.call("echo", {"text": "x"})
            started = time.perf_counter()
        return time.perf_counter() - started

    assert asyncio.run(play()) < 1.0
