"""What an attempt and a campaign leave behind, as plain data. Imports nothing heavy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_thinkingbox.errors import Cause
from pytest_thinkingbox.state.model import ReceivedMail
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from pytest_thinkingbox.state.rulings import Ruling

RECORD_VERSION = 2

Outcome = Literal["passed", "failed", "invalid"]
Purpose = Literal["probe", "validation", "evaluation"]

_DETAIL_CHARACTERS = 400  # of a detail's first line that travel in a row


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    """Requests and tokens of one role ("agent", "user", "judge"). None: the endpoint did not say."""

    requests: int = 0
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None

    def plus(self, other: UsageRecord) -> UsageRecord:
        """The sum; a count that one side made requests for without knowing it is unknown in the sum."""
        if not self.requests:
            return other
        if not other.requests:
            return self
        return UsageRecord(
            requests=self.requests + other.requests,
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            cached_tokens=_sum(self.cached_tokens, other.cached_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            reasoning_tokens=_sum(self.reasoning_tokens, other.reasoning_tokens),
        )


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def add_usage(usages: Iterable[Mapping[str, UsageRecord]]) -> dict[str, UsageRecord]:
    """Usage by role, added up."""
    total: dict[str, UsageRecord] = {}
    for usage in usages:
        for role, one in usage.items():
            total[role] = total[role].plus(one) if role in total else one
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One call as played: `result` is the text that the agent saw; `fault` what was done to it on purpose."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    result: str
    error: bool
    seconds: float
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashes:
    """Hex digests of what an attempt depended on; None where nothing was to hash. They decide a resume.

    `prompt` covers what the agent and the user were told and the limits, `environment` instructions, clock and
    servers, `seed` schema, rows and start state, `checker` the test function and the rules that it judges by.
    """

    prompt: str | None = None
    environment: str | None = None
    seed: str | None = None
    checker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One try of one attempt: one line of `attempts.jsonl`.

    `final` says whether this try decided the attempt; invalid tries that were played again have
    `final=False`. `requested` is the number of attempts of this task that the campaign asked for. `changes`
    is JSON made by the state codec, None when no state was read; `mail`, `http` and `files` are None when there
    was no such sink. `volatile` are the environment's patterns of that time: values of these columns are not part of
    `hashes.seed`. A try that was graded again has a second line with `regraded_at`; the last line of a try counts.
    `seconds` are phases that do not overlap: their sum is the time that the try took. `chat` is the hash of what
    stood between messages and token ids, where the model was asked by these.
    """

    campaign: str
    task: str
    attempt: int
    try_number: int
    final: bool
    requested: int
    outcome: Outcome
    cause: Cause | None
    detail: str
    stop_reason: str | None
    stop_detail: str = ""
    reward: float | None
    credit: float | None = None
    messages: Sequence[Mapping[str, Any]] = ()
    tool_calls: Sequence[ToolCallRecord] = ()
    response: str = ""
    rulings: Sequence[Ruling] = ()
    changes: Any = None
    mail: Sequence[ReceivedMail] | None = None
    http: Sequence[ReceivedRequest] | None = None
    files: Sequence[FileChange] | None = None
    usage: Mapping[str, UsageRecord] = field(default_factory=dict)
    agent: str
    model: str | None
    seconds: Mapping[str, float] = field(default_factory=dict)
    started_at: str
    seed: int
    tags: Sequence[str] = ()
    no_change: bool = False
    xfail: bool = False
    xfail_strict: bool = False
    min_pass_rate: float | None = None
    hashes: Hashes = field(default_factory=Hashes)
    volatile: Sequence[str] = ()
    regraded_at: str | None = None
    chat: str | None = None
    version: int = RECORD_VERSION

    def __post_init__(self) -> None:
        if (self.outcome == "invalid") != (self.cause is not None):
            raise ValueError(
                f"{self.key}: outcome {self.outcome!r} with cause {self.cause!r}; only invalid has a cause"
            )
        if (self.outcome == "invalid") != (self.reward is None):
            raise ValueError(
                f"{self.key}: outcome {self.outcome!r} with reward {self.reward!r}; only invalid has none"
            )
        if self.attempt < 1 or self.try_number < 1:
            raise ValueError(
                f"{self.key}: attempts and tries count from 1, not {self.attempt} and {self.try_number}"
            )

    @property
    def key(self) -> str:
        """The attempt as pytest names its item."""
        return attempt_name(task=self.task, attempt=self.attempt, requested=self.requested)

    def row(self, *, earlier: Sequence[AttemptRecord] = ()) -> AttemptRow:
        """The light part. `earlier` are invalid tries before this one: their tokens and seconds are added."""
        tries = [*earlier, self]
        return AttemptRow(
            task=self.task,
            attempt=self.attempt,
            requested=self.requested,
            outcome=self.outcome,
            cause=self.cause,
            detail=first_line(self.detail),
            stop_reason=self.stop_reason,
            tags=tuple(self.tags),
            usage=add_usage(one.usage for one in tries),
            seconds=sum(sum(one.seconds.values()) for one in tries),
            tries=len(tries),
            tool_calls=len(self.tool_calls),
            faults=sum(bool(one.fault) for one in self.tool_calls),
            no_change=self.no_change,
            xfail=self.xfail,
            xfail_strict=self.xfail_strict,
            min_pass_rate=self.min_pass_rate,
        )


def attempt_name(*, task: str, attempt: int, requested: int) -> str:
    """The node id of an attempt: `task[try3]`, `task[case-try3]`, or the task itself when one was requested."""
    if requested == 1:
        return task
    if task.endswith("]"):
        return f"{task[:-1]}-try{attempt}]"
    return f"{task}[try{attempt}]"


def first_line(text: str) -> str:
    """The first line that is not empty, with the next one where it only announces it; cut for a summary."""
    lines = (line.strip() for line in text.splitlines() if line.strip())
    first = next(lines, "")
    if first.endswith(":"):
        first = f"{first} {next(lines, '')}".rstrip()
    return first[:_DETAIL_CHARACTERS]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """What summaries and gates need of one attempt; it crosses the wire between processes as ASCII JSON.

    `usage` and `seconds` include the invalid tries before the one that decided; `tries` counts them all.
    `faults` are calls that went wrong on purpose.
    """

    task: str
    attempt: int
    requested: int
    outcome: Outcome
    cause: Cause | None = None
    detail: str = ""
    stop_reason: str | None = None
    tags: tuple[str, ...] = ()
    usage: Mapping[str, UsageRecord] = field(default_factory=dict)
    seconds: float = 0.0
    tries: int = 1
    tool_calls: int = 0
    faults: int = 0
    no_change: bool = False
    xfail: bool = False
    xfail_strict: bool = False
    min_pass_rate: float | None = None

    def to_json(self) -> str:
        data = shallow(self)
        data["usage"] = {role: shallow(one) for role, one in self.usage.items()}
        return json.dumps(data, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> AttemptRow:
        data = json.loads(text)
        data["tags"] = tuple(data["tags"])
        data["usage"] = {role: UsageRecord(**one) for role, one in data["usage"].items()}
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignInfo:
    """What `campaign.json` holds: all that is needed to read, compare and resume a campaign.

    `tasks` maps every task that was asked for to the number of attempts requested of it; of a shard ("3/8"), those
    of all shards together. `partial` is why the campaign did not run all of them (`-x`, `--lf`, an interrupt),
    `finished` when it did; a campaign with neither was killed, or still runs. `environments` has no prompt and no
    checker, `task_hashes` no seed.
    """

    campaign: str
    created: str
    agent: str
    model: str | None = None
    seed: int = 0
    purpose: Purpose = "evaluation"
    shard: str | None = None
    tasks: Mapping[str, int] = field(default_factory=dict)
    min_pass_rate: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    environments: Mapping[str, Hashes] = field(default_factory=dict)
    task_hashes: Mapping[str, Hashes] = field(default_factory=dict)
    partial: str | None = None
    finished: str | None = None
    version: int = RECORD_VERSION


def shallow(value: Any) -> dict[str, Any]:
    """A dataclass's fields by name, values as they are (`dataclasses.asdict` copies them all, `fields` looks anew)."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
