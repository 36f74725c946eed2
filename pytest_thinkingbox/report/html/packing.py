"""Details of all attempts, small enough for one file: shortened by one rule for all, said once, compressed by task."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_thinkingbox.records.model import AttemptRecord
from pytest_thinkingbox.report.html.detail import (
    LONGEST,
    MOST,
    Json,
    cut_to,
    is_left_out,
    shorter,
    try_detail,
)

_LISTS = ("talk", "calls", "arguments", "rows", "cells", "schema", "items", "facts", "rulings")
_LARGEST_TRY = 2_000_000  # bytes of one try, uncompressed
_SHARED = 64  # characters from which a text that several tasks have is kept once for all of them
_REPEATED = 200  # characters from which a text of one task is kept once
_PIECES, _PIECE = (
    10,
    1_600,
)  # tasks, and twice as many bytes of each: together no more than deflate looks back
_TRIED = 25  # tasks by which the size of a campaign is guessed
_TOLERANCE = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is kept: `longest` characters of a text, `most` entries of a list.

    Of the attempts of a task that ended alike, the first `alike` keep their conversation; None: all do.
    """

    longest: int
    most: int
    alike: int | None = None


RULES = (
    Rule(longest=LONGEST, most=MOST),
    Rule(longest=4_000, most=400),
    Rule(longest=1_500, most=200),
    Rule(longest=600, most=100),
    Rule(longest=600, most=100, alike=5),
    Rule(longest=600, most=100, alike=3),
    Rule(longest=600, most=100, alike=2),
    Rule(longest=600, most=100, alike=1),
    Rule(longest=200, most=40, alike=1),
    Rule(longest=200, most=20, alike=0),
)
"""From the most generous one on; the first that fits is taken, the last one whether it fits or not."""


@dataclass(slots=True, kw_only=True)
class Shortened:
    """How often the rule had to cut."""

    texts: int = 0
    lists: int = 0
    conversations: int = 0

    def __bool__(self) -> bool:
        return bool(self.texts or self.lists or self.conversations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Each string is base64. `blocks` holds one for each task, `shared` the texts that several of them have.

    They are JSON, compressed as the rest of a raw deflate stream that begins with `start`. So what comes out of
    `start` followed by a block is `skip` bytes of typical text, which were only there to refer to, and the JSON.
    """

    rule: Rule
    shortened: Shortened
    start: str
    skip: int
    shared: str
    blocks: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.start) + len(self.shared) + sum(map(len, self.blocks))


@dataclass(slots=True)
class Details:
    """Collects the details of tries while somebody else reads the records; a few kilobytes each stay in memory."""

    _tries: dict[str, dict[int, dict[int, bytes]]] = field(default_factory=dict)
    _seen: dict[int, str | None] = field(default_factory=dict)

    def keep(self, records: Iterable[AttemptRecord]) -> Iterator[AttemptRecord]:
        """The same records, each one's detail kept on the way."""
        for record in records:
            detail = try_detail(record)
            for rule in RULES[1:]:
                if len(_json(detail)) <= _LARGEST_TRY:
                    break
                detail = _cut_by(rule, detail)
            self._see(detail, record.task)
            line = zlib.compress(_json(detail), 1)
            # Of a try that was graded again the last line counts.
            self._tries.setdefault(record.task, {}).setdefault(record.attempt, {})[record.try_number] = line
            yield record

    def pack(self, *, tasks: Sequence[str], room: int) -> Packed:
        """The details of `tasks`, in that order, in at most `room` bytes where one of the rules achieves it."""
        some = _spread(tasks, _TRIED)
        for rule in RULES[:-1]:
            # A few tasks tell which rules are out of the question.
            if (
                len(some) < len(tasks)
                and self._pack(some, rule).size * len(tasks) > room * len(some) * _TOLERANCE
            ):
                continue
            packed = self._pack(tasks, rule)
            if packed.size <= room:
                return packed
        return self._pack(tasks, RULES[-1])

    def _see(self, value: Any, task: str) -> None:
        """Remember which texts occur in more than one task, by their hash."""
        if isinstance(value, str):
            if len(value) >= _SHARED and self._seen.setdefault(hash(value), task) != task:
                self._seen[hash(value)] = None
        elif isinstance(value, dict):
            for one in value.values():
                self._see(one, task)
        elif isinstance(value, list):
            for one in value:
                self._see(one, task)

    def _pack(self, tasks: Sequence[str], rule: Rule) -> Packed:
        compressor = _Compressor(self._typical(tasks, rule))
        pages = _Pages(rule, self._seen)
        blocks = tuple(compressor.compressed(pages.of_task(self._attempts(task))) for task in tasks)
        return Packed(
            rule=rule,
            shortened=pages.shortened,
            start=compressor.start,
            skip=compressor.skip,
            shared=compressor.compressed(pages.shared),
            blocks=blocks,
        )

    def _attempts(self, task: str) -> dict[int, list[Json]]:
        return {
            number: [json.loads(zlib.decompress(tries[one])) for one in sorted(tries)]
            for number, tries in sorted(self._tries.get(task, {}).items())
        }

    def _typical(self, tasks: Sequence[str], rule: Rule) -> bytes:
        """Pieces of some tasks: what most blocks hold too."""
        pages = _Pages(rule, self._seen)
        pieces = [pages.of_task(self._attempts(task)) for task in _spread(tasks, _PIECES)]
        texts = b"".join(_json(one["texts"])[:_PIECE] for one in pieces)
        return texts + b"".join(_json(one["attempts"])[:_PIECE] for one in pieces)


def _cut_by(rule: Rule, value: Any) -> Any:
    """A detail under a stricter rule than the rest: what repeats itself for ever compresses, but nobody can show it."""
    if isinstance(value, str):
        return cut_to(value, rule.longest)
    if isinstance(value, list):
        return [_cut_by(rule, one) for one in value]
    if not isinstance(value, dict):
        return value
    if "cut" in value:
        return cut_to(value, rule.longest)
    return {
        name: _cut_by(rule, shorter(one, rule.most) if name in _LISTS and one else one)
        for name, one in value.items()
    }


def _spread(tasks: Sequence[str], number: int) -> Sequence[str]:
    """About as many tasks, from everywhere."""
    return tasks[:: max(len(tasks) // number, 1)]


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


class _Compressor:
    """Deflate that has seen some text before; a browser can do the same, though it knows no dictionaries."""

    def __init__(self, typical: bytes) -> None:
        self._primed = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
        start = self._primed.compress(typical) + self._primed.flush(zlib.Z_SYNC_FLUSH)
        self.start = b64encode(start).decode("ascii")
        self.skip = len(typical)

    def compressed(self, data: Any) -> str:
        one = self._primed.copy()
        return b64encode(one.compress(_json(data)) + one.flush()).decode("ascii")


class _Pages:
    """Applies one rule. Long texts become `{"s": n}`, the n-th shared one, or `{"t": n}`, the n-th of the task."""

    def __init__(self, rule: Rule, seen: Mapping[int, str | None]) -> None:
        self.shortened = Shortened()
        self.shared: list[Any] = []
        self._rule = rule
        self._seen = seen
        self._shared_at: dict[str, int] = {}

    def of_task(self, attempts: Mapping[int, list[Json]]) -> Json:
        texts: list[Any] = []
        texts_at: dict[str, int] = {}
        ended: dict[str, int] = {}
        kept: list[Any] = []
        for number, tries in attempts.items():
            alike = self._ending(tries)
            ended[alike] = ended.get(alike, 0) + 1
            if self._rule.alike is not None and ended[alike] > self._rule.alike:
                tries = [self._without_talk(one) for one in tries]
            kept.append([number, [self._short(one, texts, texts_at) for one in tries]])
        return {"texts": texts, "attempts": kept}

    def _ending(self, tries: Sequence[Json]) -> str:
        last = tries[-1]
        verdict = last["verdict"]
        reason = verdict if isinstance(verdict, str) else verdict["cut"][0]
        return f"{last['outcome']} {last['cause']} {reason.partition(chr(10))[0]}"

    def _without_talk(self, one: Json) -> Json:
        if not one["talk"] and not one["calls"]:
            return one
        self.shortened.conversations += 1
        return one | {"talk": None, "calls": []}

    def _short(self, value: Any, texts: list[Any], texts_at: dict[str, int]) -> Any:
        if isinstance(value, str):
            return self._text(value, texts, texts_at) if len(value) >= _SHARED else value
        if isinstance(value, list):
            return [self._short(one, texts, texts_at) for one in value]
        if not isinstance(value, dict):
            return value
        if "cut" in value:
            self.shortened.texts += 1
            return cut_to(value, self._rule.longest)
        return {name: self._short(self._list(name, one), texts, texts_at) for name, one in value.items()}

    def _list(self, name: str, value: Any) -> Any:
        if name not in _LISTS or not value:
            return value
        short = shorter(value, self._rule.most)
        self.shortened.lists += any(map(is_left_out, short))
        return short

    def _text(self, text: str, texts: list[Any], texts_at: dict[str, int]) -> Any:
        shared = self._seen.get(hash(text), "") is None
        if not shared and len(text) < _REPEATED:
            return self._cut(text)
        kind, table, places = ("s", self.shared, self._shared_at) if shared else ("t", texts, texts_at)
        if text not in places:
            places[text] = len(table)
            table.append(self._cut(text))
        return {kind: places[text]}

    def _cut(self, text: str) -> Any:
        short = cut_to(text, self._rule.longest)
        self.shortened.texts += short is not text
        return short
