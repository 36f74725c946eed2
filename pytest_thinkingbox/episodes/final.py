"""What an episode left behind, without its database: data that other processes and other days can grade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast, get_args

from pytest_thinkingbox.episodes.model import (
    Conversation,
    Episode,
    EpisodeRequest,
    StopReason,
    ToolCall,
    Usage,
)
from pytest_thinkingbox.records.model import AttemptRecord, shallow
from pytest_thinkingbox.records.schema import BrokenRecords
from pytest_thinkingbox.state.codec import decode_diff
from pytest_thinkingbox.state.model import ReceivedMail, StateDiff
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalState:
    """All that a checker may look at: what changed, what was sent, what was said. Rows that did not change are the
    seed's, so that the whole state can be made again from `diff`.

    `mail`, `http` and `files` are None where the environment has no such sink.
    """

    task_id: str
    conversation: Conversation
    diff: StateDiff
    mail: tuple[ReceivedMail, ...] | None = None
    http: tuple[ReceivedRequest, ...] | None = None
    files: tuple[FileChange, ...] | None = None
    attempt: int = 1
    try_number: int = 1

    @classmethod
    def of(cls, episode: Episode) -> FinalState:
        """Raises ValueError for an invalid episode, which has none."""
        if episode.diff is None:
            raise ValueError(
                f"{episode.request.attempt_id} has no final state: {episode.cause}: {episode.detail}"
            )
        return cls(
            task_id=episode.request.task_id,
            conversation=episode.conversation,
            diff=episode.diff,
            mail=episode.mail,
            http=episode.http,
            files=episode.files,
            attempt=episode.request.attempt,
            try_number=episode.try_number,
        )

    @classmethod
    def of_record(cls, record: AttemptRecord) -> FinalState:
        """Raises ValueError for a record without changes, that of an invalid try, BrokenRecords for one of no sense."""
        if record.changes is None:
            raise ValueError(f"{record.key}: try {record.try_number} has no final state: {record.detail}")
        if record.stop_reason not in get_args(StopReason):
            raise BrokenRecords(f"{record.key}: stop_reason {record.stop_reason!r} is none of ours")
        return cls(
            task_id=record.task,
            conversation=Conversation(
                messages=[dict(message) for message in record.messages],
                tool_calls=[ToolCall(**shallow(call)) for call in record.tool_calls],
                usage={role: Usage(**shallow(usage)) for role, usage in record.usage.items()},
                response=record.response,
                stop_reason=cast("StopReason", record.stop_reason),
                stop_detail=record.stop_detail,
            ),
            diff=decode_diff(record.changes),
            mail=None if record.mail is None else tuple(record.mail),
            http=None if record.http is None else tuple(record.http),
            files=None if record.files is None else tuple(record.files),
            attempt=record.attempt,
            try_number=record.try_number,
        )

    def episode(self, request: EpisodeRequest) -> Episode:
        """The same as the end of an episode, still without lease and rules."""
        return Episode(
            request=request,
            try_number=self.try_number,
            conversation=self.conversation,
            diff=self.diff,
            mail=self.mail,
            http=self.http,
            files=self.files,
        )
