from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pytest_thinkingbox.agents import make_agent
from pytest_thinkingbox.agents.base import Stop, ToolOutput
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown, ProviderDown
from tests.agents.world import Play

Write = Callable[[str], str]

MCP = """
import asyncio, json, os, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def call(name, arguments):
    headers = {"Authorization": "Bearer " + os.environ["THINKINGBOX_MCP_TOKEN"]}
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(os.environ["THINKINGBOX_MCP_URL"], http_client=http)
        async with Client(transport) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool(name, arguments)
            return [names, result.is_error, result.content[0].text]
"""


@pytest.fixture
def program(tmp_path: Path) -> Write:
    """Write a program; the `--tb-agent` text that runs it."""

    def write(body: str) -> str:
        path = tmp_path / "agent.py"
        path.write_text("import json, os, sys, time\n" + dedent(body))
        return f"command:{sys.executable} -S {path}"

    return write


def alive(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(process: int) -> bool:
    """Whether it ends within a moment: a killed orphan is taken away by init."""
    deadline = time.monotonic() + 2
    while alive(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(process)


def test_without_a_user_the_prompt_goes_in_and_the_answer_comes_out(program: Write) -> None:
    spec = program("print('I heard: ' + sys.stdin.read())")
    play = Play()
    assert play.run(make_agent(spec), ["Zoë, \U0001f600"]) == ["I heard: Zoë, \U0001f600"]
    assert play.conversation.messages[-1] == {"role": "assistant", "content": "I heard: Zoë, \U0001f600"}


def test_with_a_user_lines_of_json_go_both_ways_until_the_end_of_input(
    program: Write, tmp_path: Path
) -> None:
    spec = program(f"""
        for number, line in enumerate(sys.stdin):
            said = json.loads(line)
            answer = {{"role": "assistant", "content": f"{{number}} {{said['role']}} {{said['content']}}"}}
            print(json.dumps(answer), flush=True)
        open({str(tmp_path / "ended")!r}, "w").write("at end of input")
    """)
    play = Play(user="You are Dana.")
    assert play.run(make_agent(spec), ["one\ntwo", "three"]) == ["0 user one\ntwo", "1 user three"]
    assert (tmp_path / "ended").read_text() == "at end of input"


def test_it_plays_the_attempts_tools_over_mcp(program: Write) -> None:
    spec = program(MCP + "print(json.dumps(asyncio.run(call('book', {'guest': 'Dana'}))))").replace(" -S", "")
    play = Play()
    (reply,) = play.run(make_agent(spec))
    assert json.loads(reply) == [["book"], False, "booked for Dana"]
    assert [(one.name, one.arguments) for one in play.conversation.tool_calls] == [
        ("book", {"guest": "Dana"})
    ]
    assert [one["role"] for one in play.conversation.messages] == ["user", "assistant", "tool", "assistant"]


def test_t16_it_cannot_hide_that_the_infrastructure_died(program: Write) -> None:
    spec = program("""
        import urllib.request
        call = {"name": "book", "arguments": {"guest": "Dana"}}
        request = urllib.request.Request(
            os.environ["THINKINGBOX_MCP_URL"],
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode(),
            {
                "Authorization": "Bearer " + os.environ["THINKINGBOX_MCP_TOKEN"],
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
            },
        )
        urllib.request.urlopen(request).read()
        time.sleep(60)
    """)

    def dead(name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        raise InfrastructureDown("the database died")

    started = time.monotonic()
    with pytest.raises(InfrastructureDown, match="the database died"):
        Play(tool=dead).run(make_agent(spec))
    assert time.monotonic() - started < 20


def environment_of(program: Write, play: Play, **options: Any) -> dict[str, str]:
    (reply,) = play.run(make_agent(program("print(json.dumps(dict(os.environ)))"), **options))
    variables: dict[str, str] = json.loads(reply)
    return variables


def test_it_gets_the_providers_keys_but_not_this_process_other_secrets(
    program: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("GITHUB_TOKEN", "ghp-1")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    variables = environment_of(program, Play())
    assert variables["OPENAI_API_KEY"] == "sk-1"
    assert variables["PATH"] == os.environ["PATH"]
    assert variables["LC_ALL"] == "C.UTF-8"
    assert not {"GITHUB_TOKEN", "PYTHONPATH"} & set(variables)


def test_it_is_told_instructions_model_and_database(program: Write) -> None:
    variables = environment_of(program, Play(database_url="sqlite:///x.db"), model="m-1")
    assert variables["THINKINGBOX_INSTRUCTIONS"] == "Be kind."
    assert variables["THINKINGBOX_DATABASE_URL"] == "sqlite:///x.db"
    assert variables["THINKINGBOX_MODEL"] == "m-1"


def test_it_is_not_told_the_database_unless_the_environment_says_so(program: Write) -> None:
    assert "THINKINGBOX_DATABASE_URL" not in environment_of(program, Play())


def test_instructions_that_are_too_long_for_a_variable_are_in_the_file(program: Write) -> None:
    spec = program("print(len(open(os.environ['THINKINGBOX_INSTRUCTIONS_FILE']).read()), len(os.environ))")
    assert Play(instructions="x" * 300_000).run(make_agent(spec))[0].startswith("300000 ")


def test_exit_status_75_says_that_the_provider_was_down(program: Write) -> None:
    spec = program("sys.stderr.write('503 from the model'); sys.exit(75)")
    with pytest.raises(ProviderDown, match="status 75; it said: 503 from the model"):
        Play().run(make_agent(spec))


@pytest.mark.parametrize("user", [None, "You are Dana."])
def test_any_other_exit_status_is_the_agents_crash_with_its_last_words(
    program: Write, user: str | None
) -> None:
    spec = program("sys.stderr.write('x' * 10_000 + 'no plan left'); sys.exit(3)")
    with pytest.raises(Stop) as caught:
        Play(user=user).run(make_agent(spec))
    assert caught.value.reason == "crashed"
    assert caught.value.detail.startswith("it ended with status 3; it said: xxx")
    assert caught.value.detail.endswith("no plan left")
    assert len(caught.value.detail) < 2100


def test_a_signal_is_named(program: Write) -> None:
    with pytest.raises(Stop, match="signal 9 ended it"):
        Play().run(make_agent(program("os.kill(os.getpid(), 9)")))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("print('hello', flush=True); time.sleep(60)", "no message of the assistant: b'hello'"),
        (
            'print(\'{"role": "user", "content": "x"}\', flush=True); time.sleep(60)',
            "no message of the assistant",
        ),
        (
            'print(\'{"role": "assistant"}\', flush=True); time.sleep(60)',
            "the content of its message is no string",
        ),
        ("pass", "it ended without an answer"),
    ],
    ids=["text", "user", "empty", "nothing"],
)
def test_with_a_user_anything_but_a_message_is_a_crash(program: Write, body: str, words: str) -> None:
    with pytest.raises(Stop, match=words):
        Play(user="You are Dana.").run(make_agent(program(body)))


def test_much_on_both_outputs_blocks_nobody(program: Write) -> None:
    spec = program("""
        sys.stderr.write("e" * 5_000_000)
        sys.stdout.write("o" * 5_000_000)
        sys.stdout.flush()
        sys.stdout.write(str(len(sys.stdin.read())))
    """)
    (reply,) = Play().run(make_agent(spec), ["p" * 1_000_000])
    assert reply == "o" * 5_000_000 + "1000000"


def test_a_program_that_does_not_read_its_prompt_may_answer(program: Write) -> None:
    assert Play().run(make_agent(program("print('done')")), ["p" * 1_000_000]) == ["done"]


def test_endless_output_is_a_crash(program: Write) -> None:
    spec = program("""
        while True:
            sys.stdout.write("x" * 100_000)
    """)
    with pytest.raises(Stop, match="it wrote more than 16 MiB to standard output"):
        Play().run(make_agent(spec))


FAMILY = """
import subprocess
child = subprocess.Popen([sys.executable, "-S", "-c", "import signal, time; signal.signal(15, 1); time.sleep(60)"])
open({log!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
def test_t32_what_it_left_running_is_killed_when_it_ends(program: Write, tmp_path: Path) -> None:
    spec = program(FAMILY.format(log=str(tmp_path / "pids")) + "print('done')")
    assert Play().run(make_agent(spec)) == ["done"]
    _, child = (tmp_path / "pids").read_text().split()
    assert gone(int(child))


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
@pytest.mark.parametrize("user", [None, "You are Dana."])
def test_t32_a_cancelled_program_is_killed_with_all_it_started(
    program: Write, tmp_path: Path, user: str | None
) -> None:
    log = tmp_path / "pids"
    spec = program("import signal; signal.signal(15, 1)\n" + FAMILY.format(log=str(log)) + "time.sleep(60)")
    play = Play(user=user)

    async def run() -> float:
        async def episode() -> None:
            async with make_agent(spec).open(play.task, play.request) as session:
                await session.reply("go")

        task = asyncio.create_task(episode())
        while not log.exists() or not log.read_text():
            await asyncio.sleep(0.02)
        started = time.monotonic()
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        return time.monotonic() - started

    assert asyncio.run(run()) < 1.5
    assert all(gone(int(process)) for process in log.read_text().split())


def test_t35_what_it_writes_where_it_works_is_gone_afterwards(program: Write, tmp_path: Path) -> None:
    spec = program(f"""
        for name in ("conftest.py", "pytest.ini", "sitecustomize.py", "x.pth", "attempts.jsonl"):
            open(name, "w").write("raise SystemExit")
        os.mkdir("locked", 0o000)
        open({str(tmp_path / "where")!r}, "w").write(os.getcwd())
    """)
    here = set(os.listdir())
    Play().run(make_agent(spec))
    folder = Path((tmp_path / "where").read_text())
    assert folder != Path.cwd()
    assert not folder.exists()
    assert set(os.listdir()) == here


def test_files_in_the_command_are_found_although_it_runs_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my agents").mkdir()
    (tmp_path / "my agents" / "one.py").write_text("import sys; print(sys.argv[1:])")
    monkeypatch.chdir(tmp_path)
    spec = f"command:{sys.executable} -S 'my agents/one.py' --name='a b' plain"
    assert Play().run(make_agent(spec)) == ["['--name=a b', 'plain']"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("command:", "names no program"),
        ("command:no-such-program --fast", "there is no program 'no-such-program'"),
        ("command:python 'agent.py", "No closing quotation"),
    ],
)
def test_a_command_that_cannot_run_is_refused(spec: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make_agent(spec)
