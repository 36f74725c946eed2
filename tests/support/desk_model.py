"""A model for StubEndpoint that works through the solutions of a suite's tasks, and one that plays its users.

It speaks chat completions, the Responses API and Anthropic's Messages. The agent asks something first, then makes the
calls of the solution, one an answer, and says its last words; the user answers the question, and ends when it hears
these words, not earlier.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from pytest_thinkingbox.agents.solution import steps_of
from pytest_thinkingbox.declare import Say
from pytest_thinkingbox.declare.user import END
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.plugin.requests import request_of
from pytest_thinkingbox.plugin.stash import options_key, plan_key
from tests.support.stub_endpoint import Received, Reply, calls, says

QUESTION = "With whom am I speaking? (Goodbye, if you are gone.)"
ANSWER = "With the one who wrote to you."

Turn = tuple[Literal["user", "assistant", "result"], str]


class _Collected:
    """A plugin that keeps what the tasks of a suite ask for."""

    def __init__(self) -> None:
        self.requests: list[EpisodeRequest] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            if plan_key in item.stash:
                options = session.config.stash[options_key]
                self.requests.append(request_of(item.stash[plan_key], options, campaign="c"))


def requests_in(path: str) -> list[EpisodeRequest]:
    """What the tasks of a suite ask for, one attempt of each."""
    collected = _Collected()
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", "--tb-model=agent"]
    assert pytest.main([path, *options], plugins=[collected]) == 0
    return collected.requests


@dataclass(frozen=True, slots=True)
class Asked:
    """A request in any of the three APIs."""

    api: Literal["chat", "responses", "messages"]
    model: str
    turns: Sequence[Turn]


def read(received: Received) -> Asked:
    body = received.json
    if received.path.endswith("/responses"):
        return Asked("responses", body["model"], [turn for item in body["input"] for turn in _item(item)])
    if received.path.endswith("/messages"):
        turns = [turn for message in body["messages"] for turn in _blocks(message)]
        return Asked("messages", body["model"], turns)
    return Asked("chat", body["model"], [turn for message in body["messages"] for turn in _message(message)])


def _message(message: Mapping[str, Any]) -> list[Turn]:
    if message["role"] == "tool":
        return [("result", message["content"])]
    if message["role"] in ("user", "assistant") and message["content"]:
        return [(message["role"], message["content"])]
    return []


def _item(item: Mapping[str, Any]) -> list[Turn]:
    match item.get("type", "message"):
        case "function_call_output":
            return [("result", item["output"])]
        case "message" if item["role"] in ("user", "assistant"):
            content = item["content"]
            text = content if isinstance(content, str) else "".join(part["text"] for part in content)
            return [(item["role"], text)]
    return []


def _blocks(message: Mapping[str, Any]) -> list[Turn]:
    turns: list[Turn] = []
    for block in message["content"]:
        if block["type"] == "tool_result":
            turns.append(("result", block["content"]))
        elif block["type"] == "text":
            turns.append((message["role"], block["text"]))
    return turns


class DeskModel:
    """Called by StubEndpoint: the model named `user` plays users, any other one acts."""

    def __init__(self, requests: Sequence[EpisodeRequest]) -> None:
        self._requests = {request.prompt: request for request in requests}
        assert len(self._requests) == len(requests), "two tasks begin with the same words"

    def __call__(self, received: Received) -> Reply:
        asked = read(received)
        step = self._user(asked.turns) if asked.model == "user" else self._agent(asked.turns)
        return _REPLIES[asked.api](step)

    def _user(self, turns: Sequence[Turn]) -> Say:
        return Say(ANSWER if turns[-1] == ("user", QUESTION) else END)

    def _agent(self, turns: Sequence[Turn]) -> Any:
        said = [text for role, text in turns if role == "user"]
        request = self._requests.get(said[0])
        assert request is not None, f"no task begins with {said[0]!r}"
        if request.user is not None and len(said) == 1:
            return Say(QUESTION)
        assert len(said) == 1 or said[1:] == [ANSWER], said
        steps = steps_of(request)
        step = next(steps, None)
        for role, text in turns:
            if role == "result":
                step = steps.send(_value(text))
        return Say("It is done.") if step is None else step


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _in_chat(step: Any) -> Reply:
    return says(step.text) if isinstance(step, Say) else calls((step.tool, dict(step.arguments)))


def _in_responses(step: Any) -> Reply:
    output: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": step.text}],
    } if isinstance(step, Say) else {
        "type": "function_call",
        "call_id": "call_1",
        "name": step.tool,
        "arguments": json.dumps(dict(step.arguments)),
    }  # fmt: skip
    usage = {"input_tokens": 100, "output_tokens": 10}
    return Reply(body=json.dumps({"status": "completed", "output": [output], "usage": usage}).encode())


def _in_messages(step: Any) -> Reply:
    said = isinstance(step, Say)
    block = (
        {"type": "text", "text": step.text}
        if said
        else {"type": "tool_use", "id": "toolu_1", "name": step.tool, "input": dict(step.arguments)}
    )
    body = {
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": "end_turn" if said else "tool_use",
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }
    return Reply(body=json.dumps(body).encode())


_REPLIES = {"chat": _in_chat, "responses": _in_responses, "messages": _in_messages}
