from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pytest_thinkingbox.agents import make_agent
from pytest_thinkingbox.agents.base import Stop, ToolOutput
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown, Invalid, ProviderDown
from tests.agents.world import Play

Write = Callable[[str], str]


@pytest.fixture
def agent_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a module with a function `run`; its `--tb-agent` text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(body: str) -> str:
        name = f"agent_{tmp_path.name}_{len(list(tmp_path.iterdir()))}"
        (tmp_path / f"{name}.py").write_text(dedent(body))
        return f"python:{name}:run"

    return write


def test_an_async_function_is_called_with_the_task_for_each_message(agent_of: Write) -> None:
    spec = agent_of("""
        async def run(task):
            said = task.conversation.messages[-1]["content"]
            output = await task.call_tool("book", {"guest": said})
            return output.text.upper()
    """)
    play = Play()
    assert play.run(make_agent(spec), ["Dana", "Zoë"]) == ["BOOKED FOR DANA", "BOOKED FOR ZOË"]


def test_its_calls_and_answers_are_in_the_transcript(agent_of: Write) -> None:
    spec = agent_of("""
        async def run(task):
            await task.call_tool("book", {"guest": "Dana"})
            return "Done."
    """)
    play = Play()
    play.run(make_agent(spec))
    assert [one["role"] for one in play.conversation.messages] == ["user", "assistant", "tool", "assistant"]
    assert play.conversation.messages[2]["content"] == "booked for Dana"
    assert play.conversation.messages[3] == {"role": "assistant", "content": "Done."}


def test_messages_that_it_wrote_itself_are_not_written_twice(agent_of: Write) -> None:
    spec = agent_of("""
        async def run(task):
            await task.call_tool("book", {"guest": "Dana"})
            task.conversation.messages.append({"role": "assistant", "content": "Mine."})
            return "Mine."
    """)
    play = Play()
    play.run(make_agent(spec))
    assert [one["content"] for one in play.conversation.messages] == ["Book a room.", "Mine."]


def test_a_synchronous_function_runs_in_a_thread_with_a_blocking_call_tool(agent_of: Write) -> None:
    spec = agent_of("""
        import threading
        def run(task):
            output = task.call_tool("book", {"guest": "Dana"})
            return f"{output.text} {threading.get_ident()}"
    """)
    (reply,) = Play().run(make_agent(spec))
    words, _, thread = reply.rpartition(" ")
    assert words == "booked for Dana"
    assert int(thread) != threading.get_ident()


@pytest.mark.parametrize("kind", ["async def", "def"])
def test_an_exception_is_the_agents_crash_and_says_where(agent_of: Write, kind: str) -> None:
    spec = agent_of(f"""
        {kind} run(task):
            return {{}}["plan"]
    """)
    with pytest.raises(Stop) as caught:
        Play().run(make_agent(spec))
    assert caught.value.reason == "crashed"
    assert caught.value.detail.startswith("KeyError: 'plan' (agent_")
    assert caught.value.detail.endswith(".py:3)")


def test_an_answer_that_is_no_string_is_a_crash(agent_of: Write) -> None:
    spec = agent_of("""
        async def run(task):
            return None
    """)
    with pytest.raises(Stop, match="the agent returned None, not a string"):
        Play().run(make_agent(spec))


@pytest.mark.parametrize("raised", ["Invalid('down')", "ProviderDown('down')"])
def test_invalid_passes_through(agent_of: Write, raised: str) -> None:
    spec = agent_of(f"""
        from pytest_thinkingbox.errors import Invalid, ProviderDown
        async def run(task):
            raise {raised}
    """)
    with pytest.raises(Invalid) as caught:
        Play().run(make_agent(spec))
    assert caught.value.cause == "provider"
    assert ProviderDown.cause == "provider"


def test_its_own_stop_passes_through(agent_of: Write) -> None:
    spec = agent_of("""
        from pytest_thinkingbox.agents.base import Stop
        async def run(task):
            raise Stop("token_limit")
    """)
    with pytest.raises(Stop) as caught:
        Play().run(make_agent(spec))
    assert caught.value.reason == "token_limit"


@pytest.mark.parametrize("ending", ["return 'fine'", "raise KeyError('x')"])
def test_t16_an_agent_cannot_hide_that_the_infrastructure_died(agent_of: Write, ending: str) -> None:
    spec = agent_of(f"""
        async def run(task):
            try:
                await task.call_tool("book", {{"guest": "Dana"}})
            except Exception:
                {ending}
    """)

    def dead(name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        raise InfrastructureDown("the database died")

    with pytest.raises(InfrastructureDown, match="the database died"):
        Play(tool=dead).run(make_agent(spec))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("python:", "must be python:MODULE:FUNCTION"),
        ("python:json", "must be python:MODULE:FUNCTION"),
        ("python:no_such_module:run", "module no_such_module cannot be imported: ModuleNotFoundError"),
        ("python:json:no_such_function", "module json has no function no_such_function"),
        ("python:json:__name__", "module json has no function __name__"),
    ],
)
def test_a_wrong_name_is_refused_with_module_and_function(spec: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make_agent(spec)


def test_a_module_that_raises_when_it_is_imported_is_named(agent_of: Write) -> None:
    spec = agent_of("raise ValueError('no key')")
    with pytest.raises(ConfigurationError, match=r"cannot be imported: ValueError: no key \(agent_.*:1\)"):
        make_agent(spec)
