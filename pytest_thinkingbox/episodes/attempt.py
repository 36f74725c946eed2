"""What a checker sees of an attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.episodes.judging import Judge, nobody
from pytest_thinkingbox.episodes.model import Episode, StopReason, ToolCall, Usage
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.state.claims import Changes
from pytest_thinkingbox.state.explain import explain_unaccounted
from pytest_thinkingbox.state.outbox import Outbox

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from pytest_thinkingbox.backends.base import Lease


class Attempt:
    """One attempt after its end: the final state, what changed, what was sent, what was said."""

    def __init__(self, episode: Episode, *, judge: Judge | None = None) -> None:
        if episode.diff is None or episode.rules is None:
            raise ConfigurationError(f"{episode.request.attempt_id} has no final state: {episode.detail}")
        self._episode = episode
        self._connections: dict[str, Connection] = {}
        self._credit = 0.0
        self.judge = judge or Judge(nobody)
        self.changes = Changes(episode.diff, episode.rules)
        self.outbox = Outbox(episode.mail, episode.http, episode.files)

    @property
    def number(self) -> int:
        """Which attempt of its task this is, from 1."""
        return self._episode.request.attempt

    @property
    def db(self) -> Connection:
        """A read-only AUTOCOMMIT connection to the final state; a write raises ReadOnlyState."""
        return self._connect("after")

    @property
    def before(self) -> Connection:
        """The same for the state that the attempt started from."""
        return self._connect("before")

    def rows(self, table: str, /, **where: Any) -> list[dict[str, Any]]:
        """The rows of the final state in which every named column has the given value, in the order of the key."""
        return self._lease.rows(table, where)

    def row(self, table: str, /, **where: Any) -> dict[str, Any]:
        """The one such row; AssertionError when there are none or several."""
        rows = self.rows(table, **where)
        if len(rows) != 1:
            named = ", ".join(f"{column}={value!r}" for column, value in where.items())
            raise AssertionError(
                f"{len(rows)} rows in {table} where {named or 'anything'}, expected exactly one"
            )
        return rows[0]

    @property
    def response(self) -> str:
        """The agent's last text."""
        return self._episode.conversation.response

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The conversation as chat-completions messages."""
        return self._episode.conversation.messages

    @property
    def tool_calls(self) -> Sequence[ToolCall]:
        """The tool calls in the order in which they were played."""
        return self._episode.conversation.tool_calls

    @property
    def stop_reason(self) -> StopReason:
        """Why the episode ended: "done", or the limit or failure that ended it."""
        return self._episode.conversation.stop_reason

    @property
    def usage(self) -> Mapping[str, Usage]:
        """Tokens by role."""
        return self._episode.conversation.usage

    def credit(self, amount: float) -> None:
        """The reward if this attempt fails, 0 <= amount < 1; the highest counts."""
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount < 1:
            raise ValueError(f"credit({amount!r}): must be a number from 0 to below 1; a pass is 1 by itself")
        self._credit = max(self._credit, float(amount))

    @property
    def _lease(self) -> Lease:
        if self._episode.lease is None:
            raise RuntimeError("this attempt is over: its database was given back")
        return self._episode.lease

    def _connect(self, which: str) -> Connection:
        connection = self._connections.get(which)
        if connection is None or connection.closed:
            connection = self._lease.connect_after() if which == "after" else self._lease.connect_before()
            self._connections[which] = connection
        return connection


def earned_credit(attempt: Attempt) -> float:
    """The highest credit that the checker gave."""
    return attempt._credit


def unaccounted(attempt: Attempt) -> str:
    """What changed and was not accounted for, in words; "" when nothing."""
    return explain_unaccounted(attempt.changes, attempt.outbox)


def keep_database(attempt: Attempt, path: Path) -> Path:
    """Save its final state; what was written."""
    return attempt._lease.keep(path)


def close(attempt: Attempt) -> None:
    """Close its connections and give its database back."""
    _close_connections(attempt)
    lease, attempt._episode.lease = attempt._episode.lease, None
    if lease is not None:
        lease.release()


def _close_connections(attempt: Attempt) -> None:
    """Also those of a server that is gone by now: the verdict is known."""
    if attempt._connections:
        from sqlalchemy.exc import SQLAlchemyError

        for connection in attempt._connections.values():
            with suppress(SQLAlchemyError, InfrastructureDown):
                connection.close()
        attempt._connections.clear()
