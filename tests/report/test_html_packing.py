from __future__ import annotations

import json
import random
import zlib
from base64 import b64decode
from collections.abc import Iterable
from typing import Any

from pytest_thinkingbox.records.model import AttemptRecord, Outcome
from pytest_thinkingbox.report.html.packing import RULES, Details, Packed
from tests.records.builders import record


def kept(*records: AttemptRecord) -> Details:
    details = Details()
    assert list(details.keep(records)) == list(records)
    return details


def unpacked(packed: Packed, block: str) -> Any:
    """As the page does it."""
    whole = zlib.decompress(b64decode(packed.start) + b64decode(block), -zlib.MAX_WBITS)
    return json.loads(whole[packed.skip :])


def noise(seed: int, length: int) -> str:
    """Text that does not compress."""
    return random.Random(seed).randbytes(length // 2).hex()


def talking(text: str, *, outcome: Outcome = "passed", **named: Any) -> AttemptRecord:
    return record(outcome, messages=({"role": "assistant", "content": text},), **named)


def texts_of(packed: Packed, at: int = 0) -> list[Any]:
    """What was said first in each attempt of a task."""
    block, shared = unpacked(packed, packed.blocks[at]), unpacked(packed, packed.shared)

    def whole(text: Any) -> Any:
        if isinstance(text, dict) and "s" in text:
            return shared[text["s"]]
        return block["texts"][text["t"]] if isinstance(text, dict) and "t" in text else text

    return [
        None if (talk := tries[0]["talk"]) is None else whole(talk[0]["text"])
        for _, tries in block["attempts"]
    ]


def pack(details: Details, *tasks: str, room: int = 10**9) -> Packed:
    return details.pack(tasks=tasks, room=room)


def many(numbers: Iterable[int], length: int) -> Details:
    return kept(*(talking(noise(n, length), task="a", attempt=n, requested=40) for n in numbers))


def test_what_fits_is_kept_whole() -> None:
    packed = pack(kept(talking("hello", task="a"), talking("x" * 19_000, task="b")), "a", "b", "never run")
    assert (texts_of(packed), texts_of(packed, 1)) == (["hello"], ["x" * 19_000])
    assert unpacked(packed, packed.blocks[2]) == {"texts": [], "attempts": []}
    assert (packed.rule, bool(packed.shortened)) == (RULES[0], False)


def test_a_text_of_several_tasks_is_kept_once() -> None:
    policy = "the policy of the house " * 20
    packed = pack(kept(talking(policy, task="a"), talking(policy, task="b")), "a", "b")
    assert unpacked(packed, packed.shared) == [policy]
    assert texts_of(packed) == texts_of(packed, 1) == [policy]


def test_a_text_that_one_task_repeats_is_kept_once_in_its_block() -> None:
    packed = pack(kept(*(talking("y" * 300, task="a", attempt=n) for n in (1, 2))), "a")
    assert unpacked(packed, packed.blocks[0])["texts"] == ["y" * 300]


def test_texts_are_cut_before_conversations_are_left_out() -> None:
    packed = pack(many(range(1, 5), 18_000), "a", room=20_000)
    assert packed.size <= 20_000
    assert packed.rule.longest == 4_000
    assert {len(text["cut"][0]) for text in texts_of(packed)} == {3_000}
    assert (packed.shortened.texts, packed.shortened.conversations) == (4, 0)


def test_of_attempts_that_ended_alike_the_first_keep_their_conversation() -> None:
    packed = pack(many(range(1, 41), 1_000), "a", room=12_000)
    assert packed.size <= 12_000
    assert packed.rule.alike == 5
    assert [text is None for text in texts_of(packed)] == [False] * 5 + [True] * 35
    assert packed.shortened.conversations == 35


def test_attempts_that_ended_differently_keep_theirs() -> None:
    passed = [talking(noise(n, 500), task="a", attempt=n, requested=40) for n in range(1, 21)]
    failed = [
        talking(noise(n, 500), task="a", attempt=n, requested=40, outcome="failed", detail=f"reason {n % 4}")
        for n in range(21, 41)
    ]
    packed = pack(kept(*passed, *failed), "a", room=12_000)
    assert packed.rule.alike == 5
    assert [text is None for text in texts_of(packed)] == [False] * 5 + [True] * 15 + [False] * 20


def test_where_no_rule_fits_the_last_one_is_taken() -> None:
    packed = pack(many(range(1, 41), 1_000), "a", room=10)
    assert packed.rule == RULES[-1]
    assert texts_of(packed) == [None] * 40


def test_every_try_of_an_attempt_is_kept_and_of_one_graded_again_the_last_line() -> None:
    details = kept(
        record("invalid", task="a", final=False),
        record("failed", task="a", try_number=2, detail="before"),
        record("passed", task="a", try_number=2, regraded_at="2026-01-03T00:00:00+00:00"),
    )
    packed = pack(details, "a")
    [[number, tries]] = unpacked(packed, packed.blocks[0])["attempts"]
    assert number == 1
    assert [(one["number"], one["outcome"], one["final"]) for one in tries] == [
        (1, "invalid", False),
        (2, "passed", True),
    ]


def test_long_lists_say_what_is_missing() -> None:
    messages = tuple({"role": "user", "content": str(n)} for n in range(1_500))
    packed = pack(kept(record(task="a", messages=messages)), "a")
    [[_, [one]]] = unpacked(packed, packed.blocks[0])["attempts"]
    assert one["talk"][750] == {"left": 500}
    assert packed.shortened.lists == 1


def test_a_try_that_repeats_itself_for_ever_is_cut_to_what_can_be_shown() -> None:
    messages = tuple({"role": "assistant", "content": "again " * 10_000} for _ in range(1_000))
    details = kept(record(task="a", messages=messages), talking("x" * 19_000, task="a", attempt=2))
    packed = pack(details, "a")
    block = unpacked(packed, packed.blocks[0])
    assert len(json.dumps(block)) < 2_100_000
    [[_, [one]], _] = block["attempts"]
    assert [message for message in one["talk"] if "left" in message] == [{"left": 600}]
    assert one["talk"][0]["text"]["cut"][1] == 56_000
    assert block["texts"] == ["x" * 19_000]
