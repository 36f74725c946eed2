"""Changes, mails, requests and files as expectations: shortened for people, and as code to paste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_thinkingbox.state.code import call_code, literal, plain, shown, shown_pair
from pytest_thinkingbox.state.fields import Received, field_of, shown_fields
from pytest_thinkingbox.state.fits import Change, mail_field
from pytest_thinkingbox.state.model import ReceivedMail, Row, RowChange, SchemaDelta
from pytest_thinkingbox.state.received import FileChange
from pytest_thinkingbox.state.rules import RuleBook
from pytest_thinkingbox.state.values import equal

LONGEST_PASTED = 200
"""Characters of code for one value; longer ones are left free."""

_KINDS = {"insert": "Inserted", "update": "Updated", "delete": "Deleted"}


def describe_change(change: Change, book: RuleBook) -> str:
    """One line: every column that counts, long values shortened."""
    if isinstance(change, SchemaDelta):
        return _schema_code(change)
    if change.kind == "update":
        codes = {}
        for column in book.changed(change):
            before, after = _sides(change, column)
            codes[column] = "({}, {})".format(*shown_pair(plain(before), plain(after)))
    else:
        key = () if change.kind == "insert" else _key_columns(change, book)
        codes = {
            column: shown(plain(value))
            for column, value in _row(change).items()
            if column not in key and not book.is_volatile(change.table, column)
        }
    return call_code(_KINDS[change.kind], _address(change), codes)


def describe_mail(mail: ReceivedMail) -> str:
    """One line: the fields that `Mail` can name, long ones shortened."""
    return call_code("Mail", [], {field: shown(mail_field(mail, field)) for field in _mail_fields(mail)})


def describe_received(item: Received) -> str:
    """One line: the request or file as an expectation, long fields shortened."""
    return _received_code(item, {field: shown(field_of(item, field)) for field in shown_fields(item)})


def _received_code(item: Received, codes: dict[str, str]) -> str:
    if isinstance(item, FileChange):
        codes.pop("path", None)
        return call_code("File", [item.path], codes)
    return call_code("Webhook", [], codes)


def _mail_fields(mail: ReceivedMail) -> tuple[str, ...]:
    more = [("html", mail.html), ("attachments", mail.attachments)]
    return (*_MAIL_FIELDS, *(field for field, value in more if value))


def paste_changes(changes: Sequence[Change], book: RuleBook) -> list[str]:
    """For each change one line of code that expects it, with a comment where a long value is left free.

    Generated keys are left free, or linked by `Same` where another row refers to them.
    """
    links = _links(changes, book)
    return [_paste_change(change, book, links.get(at, {})) for at, change in enumerate(changes)]


def paste_mail(mail: ReceivedMail) -> str:
    codes: dict[str, str] = {}
    notes: list[str] = []
    for field in _mail_fields(mail):
        value = mail_field(mail, field)
        if field in ("text", "html"):
            value = value.replace("\r\n", "\n").rstrip("\n")
        _add(codes, notes, field, literal(value))
    return _line(call_code("Mail", [], codes), notes)


def paste_received(item: Received) -> str:
    codes: dict[str, str] = {}
    notes: list[str] = []
    for field in shown_fields(item):
        _add(codes, notes, field, literal(field_of(item, field)))
    return _line(_received_code(item, codes), notes)


def _paste_change(change: Change, book: RuleBook, links: Mapping[str, str]) -> str:
    if isinstance(change, SchemaDelta):
        return _line(_schema_code(change), [])
    codes: dict[str, str] = {}
    notes: list[str] = []
    if change.kind == "update":
        for column in book.changed(change):
            before, after = _sides(change, column)
            parts = [literal(plain(before)), links.get(column) or literal(plain(after))]
            for at, part in enumerate(parts):
                if len(part) > LONGEST_PASTED:
                    notes.append(f"{column}: {len(part):,} characters left free")
                    parts[at] = "ANY"
            codes[column] = f"({parts[0]}, {parts[1]})"
    else:
        for column, value in _row(change).items():
            if column in links:
                codes[column] = links[column]
            elif not _is_free(change, column, book):
                _add(codes, notes, column, literal(plain(value)))
    return _line(call_code(_KINDS[change.kind], _address(change), codes), notes)


_MAIL_FIELDS = ("to", "subject", "text", "sender")


def _is_free(change: RowChange, column: str, book: RuleBook) -> bool:
    """Whether an inserted or deleted row is expected without naming this column."""
    if book.is_volatile(change.table, column):
        return True
    if change.kind == "delete":
        return change.key is not None  # the key says which row it was
    return book.is_generated(change.table, column)


def _add(codes: dict[str, str], notes: list[str], name: str, code: str) -> None:
    if len(code) > LONGEST_PASTED:
        notes.append(f"{name}: {len(code):,} characters left free")
    else:
        codes[name] = code


def _line(code: str, notes: list[str]) -> str:
    return f"{code},  # {'; '.join(notes)}" if notes else f"{code},"


def _links(changes: Sequence[Change], book: RuleBook) -> dict[int, dict[str, str]]:
    """Code of `Same` by position and column: `refund_id` of one row is the generated `id` of another in `refunds`."""
    links: dict[int, dict[str, str]] = {}
    names: dict[str, int] = {}
    rows = [
        (at, one) for at, one in enumerate(changes) if isinstance(one, RowChange) and one.after is not None
    ]
    for at, parent in rows:
        if parent.kind != "insert":
            continue
        table = parent.table.rpartition(".")[2]
        for generated, value in _row(parent).items():
            if value is None or not book.is_generated(parent.table, generated):
                continue
            referring = [
                (child, column)
                for child, row in rows
                for column in (row.after or {})
                if column.endswith(f"_{generated}")
                and table.startswith(column.removesuffix(f"_{generated}"))
                and (row.kind == "insert" or column in book.changed(row))
                and equal((row.after or {})[column], value)
            ]
            if not referring:
                continue
            stem = referring[0][1].removesuffix(f"_{generated}")
            names[stem] = names.get(stem, 0) + 1
            code = f"Same({literal(stem if names[stem] == 1 else f'{stem} {names[stem]}')})"
            links.setdefault(at, {})[generated] = code
            for child, column in referring:
                links.setdefault(child, {}).setdefault(column, code)
    return links


def _schema_code(delta: SchemaDelta) -> str:
    return call_code("SchemaChange", [delta.action, delta.type, delta.name], {})


def _address(change: RowChange) -> list[Any]:
    if change.kind == "insert" or change.key is None:
        return [change.table]
    parts = tuple(plain(part) for part in change.key)
    return [change.table, parts[0] if len(parts) == 1 else parts]


def _key_columns(change: RowChange, book: RuleBook) -> tuple[str, ...]:
    info = book.rules.tables.get(change.table)
    return info.key if info is not None and change.key is not None else ()


def _row(change: RowChange) -> Row:
    return change.after if change.after is not None else change.before or {}


def _sides(change: RowChange, column: str) -> tuple[Any, Any]:
    return (change.before or {}).get(column), (change.after or {}).get(column)
