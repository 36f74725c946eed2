"""Whether two attempts did the same, as far as any checker may care; and what the second did differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_thinkingbox.state.claims import Change, Changes
from pytest_thinkingbox.state.describe import describe_mail, describe_received
from pytest_thinkingbox.state.expect import Deleted, Expectation, Inserted, SchemaChange, Updated
from pytest_thinkingbox.state.model import ReceivedMail, RowChange, Rules, SchemaDelta, StateDiff
from pytest_thinkingbox.state.outbox import request_content
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from pytest_thinkingbox.state.values import Same, equal

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What an attempt left behind. Each of the sinks is None where the environment does not have it."""

    diff: StateDiff
    mail: Sequence[ReceivedMail] | None
    http: Sequence[ReceivedRequest] | None = None
    files: Sequence[FileChange] | None = None


class Reference:
    """What others are compared with: the effects of a solution.

    Volatile columns, bookkeeping tables, generated keys and the order in sinks make no difference. A generated
    key that other rows hold is followed where their column is named after it; where it is not, another key is
    a difference.
    """

    def __init__(self, effects: Effects, rules: Rules) -> None:
        self._effects = effects
        self._rules = rules
        self._changes = Changes(effects.diff, rules)
        self._expected = _expectations(self._changes)
        self._shape = _shape(self._changes)

    def same(self, other: Effects) -> bool:
        """Whether they did the same; faster than asking for the differences."""
        changes = Changes(other.diff, self._rules)
        return (
            _shape(changes) == self._shape
            and changes == self._expected
            and not _schema_words(self._effects.diff.schema, other.diff.schema)
            and not _sink_words(self._effects, other)
        )

    def differences(self, other: Effects) -> list[str]:
        """What `other` did that this did not, and the other way round, in words; empty when they did the same."""
        changes = Changes(other.diff, self._rules)
        lines: list[str] = []
        comparison = changes.compare(self._expected)
        if not comparison.holds:
            paired = set(comparison.pairs.values())
            missing = [item for at, item in enumerate(self._changes) if at not in comparison.pairs]
            added = [item for at, item in enumerate(changes) if at not in paired]
            lines += _words(missing, added, self._changes, changes)
        lines += _schema_words(self._effects.diff.schema, other.diff.schema)
        lines += _sink_words(self._effects, other)
        return lines


def _shape(changes: Changes) -> Counter[tuple[str, str]]:
    return Counter(
        (one.action, one.name) if isinstance(one, SchemaDelta) else (one.kind, one.table) for one in changes
    )


def _expectations(changes: Changes) -> list[Expectation]:
    links = _links(list(changes), changes)
    return [_expectation(item, changes, links) for item in changes]


def _expectation(item: Change, changes: Changes, links: Mapping[tuple[int, str], Same]) -> Expectation:
    if isinstance(item, SchemaDelta):
        return SchemaChange(item.action, item.type, item.name)
    book = changes.book
    if item.kind == "update":
        columns = {
            name: ((item.before or {}).get(name), links.get((id(item), name), (item.after or {}).get(name)))
            for name in book.changed(item)
        }
        return Updated(item.table, _key(item), **columns)
    row = item.after if item.kind == "insert" else item.before
    named: dict[str, Any] = {}
    for name, value in (row or {}).items():
        if (id(item), name) in links:
            named[name] = links[id(item), name]
        elif not book.is_volatile(item.table, name) and not (
            item.kind == "insert" and book.is_generated(item.table, name)
        ):
            named[name] = value
    if item.kind == "insert":
        return Inserted(item.table, **named)
    return Deleted(item.table, **named) if item.key is None else Deleted(item.table, _key(item), **named)


def _key(item: RowChange) -> Any:
    assert item.key is not None
    return item.key[0] if len(item.key) == 1 else item.key


def _links(items: Sequence[Change], changes: Changes) -> dict[tuple[int, str], Same]:
    """Generated keys of new rows and the columns of changed rows that hold them: `refund_id` for `refunds.id`."""
    rows = [one for one in items if isinstance(one, RowChange) and one.after is not None]
    links: dict[tuple[int, str], Same] = {}
    for number, parent in enumerate(rows):
        if parent.kind != "insert":
            continue
        for generated, value in (parent.after or {}).items():
            if value is None or not changes.book.is_generated(parent.table, generated):
                continue
            same = Same(f"{number} {generated}")
            for child in rows:
                for column, held in (child.after or {}).items():
                    counts = child.kind == "insert" or column in changes.book.changed(child)
                    if counts and equal(held, value) and _refers(column, generated, changes) == parent.table:
                        links[id(child), column] = same
                        links[id(parent), generated] = same
    return links


def _refers(column: str, generated: str, changes: Changes) -> str | None:
    """The table whose key a column is named after: `refunds` for `refund_id`, not `refund_lines`."""
    stem = column.removesuffix(f"_{generated}")
    if not stem or stem == column:
        return None
    tables = [name for name in changes.book.rules.tables if name.rpartition(".")[2].startswith(stem)]
    return min(tables, key=len, default=None)


def _words(missing: list[Change], added: list[Change], wanted: Changes, changes: Changes) -> list[str]:
    lines = []
    for item in missing:
        twin = next((other for other in added if _same_row(item, other)), None)
        if twin is None:
            lines.append(f"missing: {wanted.describe(item)}")
        else:
            added.remove(twin)
            lines.append(f"{changes.describe(twin)} instead of {wanted.describe(item)}")
    return lines + [f"more: {changes.describe(item)}" for item in added]


def _same_row(one: Change, other: Change) -> bool:
    if isinstance(one, SchemaDelta) or isinstance(other, SchemaDelta):
        return False
    if (one.kind, one.table) != (other.kind, other.table):
        return False
    return one.kind == "insert" or one.key == other.key


def _schema_words(one: Sequence[SchemaDelta], other: Sequence[SchemaDelta]) -> list[str]:
    """Only what the same object became: that one is missing or new is among the changes."""
    before = {(delta.type, delta.name, delta.action): delta for delta in one}
    return [
        f"{delta.type} {delta.name} became {delta.after} instead of {known.after}"
        for delta in other
        if (known := before.get((delta.type, delta.name, delta.action))) is not None and known != delta
    ]


def _sink_words(one: Effects, other: Effects) -> list[str]:
    return [
        *_other_words(one.mail or (), other.mail or (), _mail_content, describe_mail),
        *_other_words(one.http or (), other.http or (), request_content, describe_received),
        *_other_words(one.files or (), other.files or (), lambda file: file, describe_received),
    ]


def _other_words(
    one: Sequence[T], other: Sequence[T], content: Callable[[T], object], describe: Callable[[T], str]
) -> list[str]:
    """What is missing and what is more; the order makes no difference."""
    left = list(other)
    lines = []
    for item in one:
        twin = next((twin for twin in left if content(twin) == content(item)), None)
        if twin is None:
            lines.append(f"missing: {describe(item)}")
        else:
            left.remove(twin)
    return lines + [f"more: {describe(item)}" for item in left]


def _mail_content(mail: ReceivedMail) -> tuple[object, ...]:
    recipients = tuple(sorted(mail.recipients))
    return mail.sender, recipients, mail.subject, mail.text, mail.html, mail.attachments
