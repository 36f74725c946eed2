"""The agent by token ids, with an engine that says what it is told to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_thinkingbox.agents.base import AgentTask, Stop, ToolOutput
from pytest_thinkingbox.agents.tokens import Generation, TokensAgent, Trace
from tests.agents.world import Play
from tests.tokens.tokenizer import END, ByteTokenizer

BOOK = '<tool_call>\n{"name": "book", "arguments": {"guest": "Dana"}}\n</tool_call>'


class Saying:
    """An engine that writes these texts in turn; each token has the log-probability of its place."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.shown: list[list[int]] = []
        self.most: list[int] = []

    async def generate(self, ids: Sequence[int], *, seed: int, most: int) -> Generation:
        self.shown.append(list(ids))
        self.most.append(most)
        new = ByteTokenizer().encode(self.texts.pop(0))[:most]
        return Generation(new, [-0.5] * len(new))

    def of(self, task: AgentTask) -> Saying:
        return self

    async def aclose(self) -> None:
        """Nothing is held."""


def agent_of(engine: Saying, *, longest: int = 5000, answer: int = 1000) -> tuple[TokensAgent, list[Trace]]:
    traces: list[Trace] = []
    agent = TokensAgent(
        engine,
        ByteTokenizer(),
        longest=longest,
        answer=answer,
        keep=lambda request, trace: traces.append(trace),
    )
    return agent, traces


def test_calls_are_played_and_the_text_is_the_answer():
    play = Play()
    agent, _ = agent_of(Saying(f"Wait.{BOOK}{END}", f"Booked.{END}"))
    assert play.run(agent) == ["Booked."]
    [call] = play.conversation.tool_calls
    assert (call.name, call.arguments, call.result) == ("book", {"guest": "Dana"}, "booked for Dana")
    assert [one["role"] for one in play.conversation.messages] == [
        "system", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip


def test_what_the_model_wrote_is_never_rendered_again():
    engine = Saying(f"<think>Hm \n\n</think>{BOOK}\n\n{END}", f"Booked.{END}")
    play = Play()
    agent, _ = agent_of(engine)
    play.run(agent)
    first, second = engine.shown
    written = ByteTokenizer().encode(f"<think>Hm \n\n</think>{BOOK}\n\n{END}")
    assert second[: len(first) + len(written)] == first + written


def test_the_mask_has_ones_for_what_the_model_wrote():
    agent, traces = agent_of(Saying(f"{BOOK}{END}", f"Booked.{END}"))
    Play().run(agent)
    [trace] = traces
    tokenizer = ByteTokenizer()
    mine = [one for one, mask in zip(trace.completion, trace.mask, strict=True) if mask]
    told = [one for one, mask in zip(trace.completion, trace.mask, strict=True) if not mask]
    assert tokenizer.decode(mine) == f"{BOOK}{END}Booked.{END}"
    assert tokenizer.decode(told) == (
        "\n<|im_start|>user\n<tool_response>\nbooked for Dana\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )
    assert trace.logprobs == [-0.5 if mask else 0.0 for mask in trace.mask]
    assert trace.chat == agent.chat_of(tuple(Play().task.tools)).hash


def test_a_user_speaks_after_the_answer():
    engine = Saying(f"For whom?{END}", f"Booked.{END}")
    agent, _ = agent_of(engine)
    assert Play().run(agent, ["Book.", "For Dana."]) == ["For whom?", "Booked."]
    assert (
        ByteTokenizer()
        .decode(engine.shown[1])
        .endswith(f"For whom?{END}\n<|im_start|>user\nFor Dana.{END}\n<|im_start|>assistant\n")
    )


def test_a_call_that_cannot_be_read_is_text_for_the_model():
    engine = Saying(f"<tool_call>book Dana</tool_call>{END}", f"Sorry.{END}")
    play = Play()
    agent, _ = agent_of(engine)
    assert play.run(agent) == ["Sorry."]
    assert play.conversation.tool_calls == []
    assert "Error: this tool call cannot be read: it is no JSON" in play.conversation.messages[3]["content"]


def test_what_was_cut_off_is_not_played():
    play = Play()
    agent, traces = agent_of(Saying(f"{BOOK}{BOOK}{END}"), answer=len(BOOK) + 5)
    with pytest.raises(Stop) as stopped:
        play.run(agent)
    assert stopped.value.reason == "output_limit"
    assert play.conversation.tool_calls == []
    assert len(traces[0].completion) == len(BOOK) + 5


def test_a_conversation_that_is_too_long_ends():
    def endless(name, arguments):
        return ToolOutput("x" * 300)

    agent, traces = agent_of(Saying(*[f"{BOOK}{END}"] * 9), longest=1500)
    with pytest.raises(Stop) as stopped:
        Play(tool=endless).run(agent)
    assert stopped.value.reason == "context_overflow"
    assert len(traces) == 1
