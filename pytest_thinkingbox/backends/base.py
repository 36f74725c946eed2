"""Where the database of an attempt lives. Everything here is synchronous; the pool calls it from threads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.state.model import Rules, StateDiff

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


class Lease(Protocol):
    """One attempt's own database, from acquire to release."""

    url: str
    """SQLAlchemy URL for the agent's role, valid in any process until the cut."""
    rules: Rules
    """Tables of seed + start, and the environment's volatile and bookkeeping names (checked to match)."""

    @property
    def engine(self) -> Engine:
        """For in-process tools. The cut poisons it: whoever holds it, or a connection of it, can write no more."""

    def cut(self) -> None:
        """End every session of the agent. Raises InfrastructureDown if that cannot be confirmed."""

    def read_changes(self, *, audit: bool) -> StateDiff:
        """Net changes against seed + start, in one snapshot. With `audit` by full comparison as well; a difference
        between the two raises AuditMismatch."""

    def rebuild(self, diff: StateDiff) -> None:
        """Make the state after these changes, as a record has them, instead of letting an agent act; before the cut.
        Raises NotInRecord when that is not possible."""

    def keep(self, path: Path) -> Path:
        """Save the final state where it outlives the lease; `path` has no suffix yet. What was written."""

    def rows(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows of the final state as Python values; `where` compares as `state.values.equal` does. Raises
        UnknownName for a table or column that is not there."""

    def connect_after(self) -> Connection:
        """A new read-only AUTOCOMMIT connection to the final state. A write raises ReadOnlyState."""

    def connect_before(self) -> Connection:
        """The same for seed + start."""

    def alive(self) -> bool:
        """Whether the server answers a control probe (always true where there is no server)."""

    def blames(self, error: BaseException, *, connecting: bool, lost: bool) -> bool:
        """Whether the database itself is to blame for an error of a driver, and not what the agent did: an outage.
        `connecting` where a connection could not be opened, `lost` where one ended. May ask the server."""

    def release(self) -> None:
        """Give the database back. Safe to call twice, and whatever state it is in."""


class Backend(Protocol):
    """One kind of database for one process of a campaign."""

    name: str

    def prepare(self, environment: Environment, start: StartState | None = None) -> None:
        """Build the template. Raises ConfigurationError when schema, seed or start do not load. Safe to call again."""

    def acquire(self, environment: Environment, start: StartState | None, *, attempt_id: str) -> Lease:
        """A database that holds exactly seed + start."""

    def seed_hash(self, environment: Environment) -> str:
        """Hex digest of the template's content: schema and every row."""

    def close(self) -> None:
        """Remove everything that this object made. Safe to call twice."""


class NotInRecord(ThinkingboxError):
    """A record does not hold enough to make the final state of its attempt again."""


class AuditMismatch(Exception):
    """The fast path and the full comparison read different changes: a defect of this package, never hidden."""
