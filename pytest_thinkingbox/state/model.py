"""What a database state and a difference between two states are, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInfo:
    """A table as the seed defines it.

    `name` is unquoted; tables outside the default schema are "schema.table". `key` holds the primary key's
    columns in key order, empty when there is none. `generated` holds columns whose values the database makes
    (auto-increment keys, identity, computed columns): they never decide which of two equal rows is meant.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    generated: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RowChange:
    """One net change of one row.

    `key` holds the key's values in key order, None for tables without a key. `before` is None for "insert",
    `after` is None for "delete"; otherwise they hold every column of the row.
    """

    kind: Literal["insert", "update", "delete"]
    table: str
    key: tuple[Any, ...] | None
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class SchemaDelta:
    """One object of the schema that was created, dropped or altered: `type` is "table", "trigger"..."""

    action: Literal["created", "dropped", "altered"]
    type: str
    name: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDiff:
    """All net differences between two states, raw: volatile and bookkeeping ones too."""

    rows: tuple[RowChange, ...] = ()
    schema: tuple[SchemaDelta, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is compared how.

    `tables` are those of seed + start, by name. `volatile` are "table.column" patterns, `*` allowed on either
    side; `bookkeeping` are tables whose changes are always accounted for.
    """

    tables: Mapping[str, TableInfo]
    volatile: tuple[str, ...] = ()
    bookkeeping: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file in a mail. `name` is its file name, its MIME `type` where it has none; `data` is decoded."""

    name: str
    type: str
    data: bytes

    @property
    def text(self) -> str:
        """The content read as UTF-8."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMail:
    """One mail as it reached the sink, in order of arrival; decoded, never trusted.

    `recipients` are those of the envelope. `text` is the plain-text body ("" when there is none), `html`
    likewise.
    """

    sender: str
    recipients: tuple[str, ...]
    subject: str
    text: str
    html: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
