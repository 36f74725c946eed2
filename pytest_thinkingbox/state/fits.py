"""One expectation against one change: whether it is met, and otherwise what differs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_thinkingbox.state.expect import (
    ANY_KEY,
    Deleted,
    Expectation,
    Inserted,
    Mail,
    SchemaChange,
    Updated,
)
from pytest_thinkingbox.state.matching import Bindings, match_all
from pytest_thinkingbox.state.model import ReceivedMail, RowChange, SchemaDelta
from pytest_thinkingbox.state.rules import RuleBook
from pytest_thinkingbox.state.values import matches

Change = RowChange | SchemaDelta
_KINDS = {"insert": Inserted, "update": Updated, "delete": Deleted}
_Bound = dict[str, Hashable]


@dataclass(frozen=True, slots=True)
class Difference:
    """One column or field in which an item is not what was expected.

    `old` is True where the values before the change are meant, `named` False for a column that changed although
    the expectation does not name it (then both values are those of the row: before and after).
    """

    name: str
    expected: Any
    actual: Any
    old: bool = False
    named: bool = True


def fits(expectation: Expectation, change: Change, book: RuleBook) -> Bindings | None:
    """What the names of `Same` stand for if this change is the one expected; None if it is not."""
    if not comparable(expectation, change):
        return None
    bound: _Bound = {}
    if isinstance(expectation, SchemaChange):
        for part, value in expectation.named().items():
            if not matches(value, getattr(change, part), bound):
                return None
        return bound
    assert isinstance(change, RowChange)
    if not _key_fits(expectation, change, bound):
        return None
    if isinstance(expectation, Updated) and any(
        column not in expectation.columns for column in book.changed(change)
    ):
        return None
    for column, value in expectation.columns.items():
        for wanted, row in _sides(value, change):
            if not matches(wanted, row.get(column), bound):
                return None
    return bound


def comparable(expectation: Expectation, change: Change) -> bool:
    """Whether both are of one kind and, for rows, of one table."""
    if isinstance(change, SchemaDelta):
        return isinstance(expectation, SchemaChange)
    return (
        not isinstance(expectation, SchemaChange)
        and expectation.table == change.table
        and isinstance(expectation, _KINDS[change.kind])
    )


def differences(
    expectation: Expectation, change: Change, book: RuleBook, bound: Bindings
) -> list[Difference]:
    """What keeps a comparable change from being the one expected, given what `Same` stands for elsewhere."""
    linked = dict(bound)
    found: list[Difference] = []
    if isinstance(expectation, SchemaChange):
        for part, value in expectation.named().items():
            if not matches(value, getattr(change, part), linked):
                found.append(Difference(part, value, getattr(change, part)))
        return found
    assert isinstance(change, RowChange)
    if not _key_fits(expectation, change, linked):
        assert not isinstance(expectation, Inserted)
        assert change.key is not None
        key = change.key if isinstance(expectation.key, tuple) or len(change.key) > 1 else change.key[0]
        found.append(Difference("key", expectation.key, key))
    for column, value in expectation.columns.items():
        for wanted, row in _sides(value, change):
            trial = dict(linked)
            if matches(wanted, row.get(column), trial):
                linked = trial
            else:
                old = change.kind == "update" and row is change.before
                found.append(Difference(column, wanted, row.get(column), old=old))
    if isinstance(expectation, Updated):
        assert change.before is not None
        assert change.after is not None
        for column in book.changed(change):
            if column not in expectation.columns:
                before, after = change.before.get(column), change.after.get(column)
                found.append(Difference(column, before, after, named=False))
    return found


def fits_mail(expectation: Mail, mail: ReceivedMail) -> Bindings | None:
    bound: _Bound = {}
    for field, value in expectation.named().items():
        if not _mail_field_fits(field, value, mail, bound):
            return None
    return bound


def mail_differences(expectation: Mail, mail: ReceivedMail, bound: Bindings) -> list[Difference]:
    linked = dict(bound)
    return [
        Difference(field, value, mail_field(mail, field))
        for field, value in expectation.named().items()
        if not _mail_field_fits(field, value, mail, linked)
    ]


def mail_field(mail: ReceivedMail, field: str) -> Any:
    """A mail's field as `Mail` names it: `to` is the recipient, or a list of several."""
    if field == "to":
        return mail.recipients[0] if len(mail.recipients) == 1 else list(mail.recipients)
    if field == "attachments":
        return [one.name for one in mail.attachments]
    return getattr(mail, field)


def _mail_field_fits(field: str, wanted: Any, mail: ReceivedMail, bound: _Bound) -> bool:
    if field == "to":
        return _recipients_fit(wanted if isinstance(wanted, list) else [wanted], mail, bound)
    if field == "attachments":
        return _names_fit(wanted, [one.name for one in mail.attachments], bound)
    value = getattr(mail, field)
    if isinstance(wanted, str):
        if field == "sender":
            return _address(wanted) == _address(value)
        return _lines(wanted) == _lines(value)
    return matches(wanted, value, bound)


def _recipients_fit(wanted: list[Any], mail: ReceivedMail, bound: _Bound) -> bool:
    if len(wanted) != len(mail.recipients):
        return False
    if len(wanted) == 1 and isinstance(
        wanted[0], str
    ):  # nearly every mail; a thousand of them are a million pairs
        return _address(wanted[0]) == _address(mail.recipients[0])
    options = []
    for address in wanted:
        choices: dict[int, _Bound] = {}
        for at, recipient in enumerate(mail.recipients):
            linked = dict(bound)
            if isinstance(address, str):
                if _address(address) == _address(recipient):
                    choices[at] = linked
            elif matches(address, recipient, linked):
                choices[at] = linked
        options.append(choices)
    pairs = match_all(options)
    for address, at in (pairs or {}).items():
        bound.update(options[address][at])
    return pairs is not None


def _names_fit(wanted: Any, names: list[str], bound: _Bound) -> bool:
    """All of them, in any order."""
    if not isinstance(wanted, list):
        return matches(wanted, names, bound)
    options: list[dict[int, _Bound]] = []
    for one in wanted:
        choices: dict[int, _Bound] = {}
        for at, name in enumerate(names):
            linked = dict(bound)
            if matches(one, name, linked):
                choices[at] = linked
        options.append(choices)
    pairs = match_all(options) if len(wanted) == len(names) else None
    for one_, at in (pairs or {}).items():
        bound.update(options[one_][at])
    return pairs is not None


def _address(address: str) -> str:
    local, at, domain = address.rpartition("@")
    return f"{local}{at}{domain.casefold()}"


def _lines(text: str) -> str:
    """SMTP carries lines: how they end, and whether the last one does, is not the author's text."""
    return text.replace("\r\n", "\n").rstrip("\n")


def _key_fits(expectation: Inserted | Updated | Deleted, change: RowChange, bound: _Bound) -> bool:
    if isinstance(expectation, Inserted) or expectation.key is ANY_KEY:
        return True
    wanted, key = expectation.key, change.key
    if key is None:
        return False
    if isinstance(wanted, tuple):
        return len(wanted) == len(key) and all(
            matches(part, value, bound) for part, value in zip(wanted, key, strict=True)
        )
    return matches(wanted, key[0] if len(key) == 1 else key, bound)


def _sides(value: Any, change: RowChange) -> list[tuple[Any, Mapping[str, Any]]]:
    before, after = change.before, change.after
    if isinstance(value, tuple):
        assert before is not None
        assert after is not None
        return [(value[0], before), (value[1], after)]
    row = after if after is not None else before
    assert row is not None
    return [(value, row)]
