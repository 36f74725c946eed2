"""Whole campaigns made up, about as long and as repetitive as those of a real model."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_thinkingbox.records.model import AttemptRecord, Outcome, ToolCallRecord, UsageRecord
from pytest_thinkingbox.state.codec import encode_diff
from pytest_thinkingbox.state.model import ReceivedMail, RowChange, StateDiff
from tests.records.builders import record

_LETTERS = "etaoinshrdlu"
_TAGS = ("approval", "refund", "dates", "money", "twice", "policy", "mail", "limits")


class _Writer:
    """Sentences of a vocabulary in which few words are frequent, as in every language."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._words = [
            "".join(self.random.choices(_LETTERS, k=self.random.randint(2, 10))) for _ in range(4_000)
        ]
        self._weights = [1 / rank for rank in range(1, 4_001)]

    def sentence(self) -> str:
        words = self.random.choices(self._words, self._weights, k=self.random.randint(6, 16))
        return f"{' '.join(words).capitalize()}."

    def text(self, sentences: int) -> str:
        return " ".join(self.sentence() for _ in range(sentences))


def campaign(*, tasks: int, attempts: int, seed: int = 0) -> Iterator[AttemptRecord]:
    """Records in the order of tasks: some ten messages and seven tool calls each."""
    writer = _Writer(seed)
    for number in range(tasks):
        yield from _task(writer, f"suites/test_desk_{number // 25}.py::test_case_{number}", attempts)


def _task(writer: _Writer, task: str, attempts: int) -> Iterator[AttemptRecord]:
    random_ = writer.random
    prompt = writer.text(3)
    known = [writer.sentence() for _ in range(25)]
    tools = [(f"tool_{n}", {"id": random_.randrange(9_999), "kind": "x"}, _rows(writer)) for n in range(8)]
    reasons = [f"changes differ: {n} as expected\n{writer.text(6)}" for n in range(4)]
    tags = tuple(random_.sample(_TAGS, k=2))
    chance = random_.random()
    for attempt in range(1, attempts + 1):
        draw = random_.random()
        outcome: Outcome = "invalid" if draw > 0.99 else "passed" if draw < chance else "failed"
        messages, calls = _episode(writer, prompt, known, random_.sample(tools, k=7))
        yield record(
            outcome,
            task=task,
            attempt=attempt,
            requested=attempts,
            tags=tags,
            cause="provider" if outcome == "invalid" else None,
            detail="" if outcome == "passed" else random_.choice(reasons),
            messages=messages,
            tool_calls=calls,
            changes=encode_diff(StateDiff(rows=tuple(_change(writer, n) for n in range(5)))),
            mail=(
                ReceivedMail(
                    sender="desk@a.example", recipients=("b@c.example",), subject="S", text=known[0]
                ),
            ),
            usage={
                "agent": UsageRecord(requests=8, input_tokens=random_.randrange(30_000), output_tokens=900)
            },
            seconds={"acquire": 0.01, "converse": random_.random() * 60, "read": 0.01},
            agent="openai",
            model="gpt-9-mini",
        )


def _episode(
    writer: _Writer, prompt: str, known: Sequence[str], tools: Sequence[tuple[str, dict[str, Any], str]]
) -> tuple[list[dict[str, Any]], list[ToolCallRecord]]:
    def words() -> str:
        """Mostly what other attempts say too, and something of its own."""
        return " ".join([*writer.random.sample(known, k=3), writer.sentence()])

    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    calls = []
    for number, (name, arguments, result) in enumerate(tools):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        text = words() if number % 3 == 0 else None
        messages.append({"role": "assistant", "content": text, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        calls.append(
            ToolCallRecord(
                id=f"call_{number}",
                name=name,
                arguments=arguments,
                result=result,
                error=False,
                seconds=round(writer.random.random() / 10, 3),
            )
        )
    messages.append({"role": "assistant", "content": words()})
    return messages, calls


def _rows(writer: _Writer) -> str:
    rows = [
        {
            "id": writer.random.randrange(99_999),
            "status": "confirmed",
            "name": writer.sentence(),
            "total": 1450.0,
        }
        for _ in range(6)
    ]
    return json.dumps(rows, indent=2)


def _change(writer: _Writer, number: int) -> RowChange:
    before = {
        "id": number,
        "status": "open",
        "total": 100 + number,
        "note": None,
        "at": "2026-03-17T09:30:00",
    }
    return RowChange("update", "bookings", (number,), before, before | {"status": "closed", "note": "done"})
