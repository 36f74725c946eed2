"""What an episode is asked for and what it leaves behind, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_thinkingbox.declare import Environment, Limits, Player
from pytest_thinkingbox.declare.effects import Routes
from pytest_thinkingbox.declare.faults import Fault
from pytest_thinkingbox.declare.solution import Solution
from pytest_thinkingbox.declare.task import Host
from pytest_thinkingbox.declare.tools import Tools
from pytest_thinkingbox.errors import Cause
from pytest_thinkingbox.state.model import ReceivedMail, Rules, StateDiff
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest

if TYPE_CHECKING:
    from pytest_thinkingbox.backends.base import Lease

StopReason = Literal[
    "done",  # the agent gave its final text
    "turn_limit",
    "token_limit",
    "time_limit",
    "user_turn_limit",
    "context_overflow",
    "output_limit",  # the model's answer was cut off by its own length limit
    "content_filter",
    "refusal",
    "crashed",  # a command: or python: agent ended with an error
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartState:
    """What runs on the seed before the agent does; `key` is equal for equal start states."""

    key: str
    run: Path | Callable[..., None]
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRequest:
    """One attempt to be played: everything comes from the task, its parameters and the configuration."""

    task_id: str
    attempt: int
    environment: Environment
    prompt: str
    user: Player | None
    start: StartState | None
    solution: Solution | None
    parameters: Mapping[str, Any]
    limits: Limits
    campaign: str
    seed: int
    routes: Routes | None = None
    """Replies of the HTTP sink, None without one."""
    tools: Tools | None = None
    faults: tuple[Fault, ...] = ()
    campaign_faults: tuple[Fault, ...] = ()
    """Those of every task; some may be for tools that this one does not have."""
    host: Host | None = None

    @property
    def attempt_id(self) -> str:
        return f"{self.task_id}[try{self.attempt}]"


@dataclass(slots=True)
class Usage:
    """Tokens of one role. None means that the endpoint did not say."""

    requests: int = 0
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None

    def add(
        self,
        *,
        input_tokens: int | None,
        cached_tokens: int | None,
        output_tokens: int | None,
        reasoning_tokens: int | None,
    ) -> None:
        self.requests += 1
        self.input_tokens = _sum(self.input_tokens, input_tokens)
        self.cached_tokens = _sum(self.cached_tokens, cached_tokens)
        self.output_tokens = _sum(self.output_tokens, output_tokens)
        self.reasoning_tokens = _sum(self.reasoning_tokens, reasoning_tokens)

    def include(self, other: Usage) -> None:
        """Count what another object counted, too."""
        self.requests += other.requests
        self.input_tokens = _sum(self.input_tokens, other.input_tokens)
        self.cached_tokens = _sum(self.cached_tokens, other.cached_tokens)
        self.output_tokens = _sum(self.output_tokens, other.output_tokens)
        self.reasoning_tokens = _sum(self.reasoning_tokens, other.reasoning_tokens)


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as played: `result` is the text that the agent saw, `error` whether it was an error.

    `fault` says what was done to the call on purpose, such as "after_commit=timeout"; "" when nothing was.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]
    result: str
    error: bool
    seconds: float
    fault: str = ""


@dataclass(slots=True, kw_only=True)
class Conversation:
    """What was said. `messages` are chat-completions messages; reasoning is kept beside content, never in it. `chat` is
    the hash of the interpretation, where the model was asked by token ids."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    tool_calls: list[ToolCall] = field(default_factory=list)
    usage: dict[str, Usage] = field(default_factory=lambda: {"agent": Usage()})
    response: str = ""
    stop_reason: StopReason = "done"
    stop_detail: str = ""
    chat: str | None = None


@dataclass(slots=True, kw_only=True)
class Episode:
    """What one try left behind. Invalid tries have a `cause` and no state."""

    request: EpisodeRequest
    try_number: int
    conversation: Conversation
    cause: Cause | None = None
    detail: str = ""
    again: bool = False  # the cause is one that a new episode may not meet
    error: BaseException | None = None  # what nobody classified, with its traceback
    diff: StateDiff | None = None
    rules: Rules | None = None
    mail: tuple[ReceivedMail, ...] | None = None
    http: tuple[ReceivedRequest, ...] | None = None
    files: tuple[FileChange, ...] | None = None
    lease: Lease | None = None
    database_url: str | None = None
    """That of its lease, with the password, which no record may hold. It stays when the lease is gone."""
    seed_hash: str | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    user_seconds: float = 0.0  # of those of "converse", while the user was to answer
    started_at: float = 0.0
