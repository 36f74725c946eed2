"""Differences, rules and mails as plain JSON data and back, without loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_thinkingbox.state.model import (
    Attachment,
    ReceivedMail,
    Row,
    RowChange,
    Rules,
    SchemaDelta,
    StateDiff,
    TableInfo,
)
from pytest_thinkingbox.state.values import decode, encode

Json = Mapping[str, Any]


def encode_diff(diff: StateDiff) -> dict[str, Any]:
    return {
        "rows": [encode_row_change(change) for change in diff.rows],
        "schema": [encode_schema_delta(delta) for delta in diff.schema],
    }


def decode_diff(data: Json) -> StateDiff:
    return StateDiff(
        rows=tuple(decode_row_change(change) for change in data["rows"]),
        schema=tuple(decode_schema_delta(delta) for delta in data["schema"]),
    )


def encode_row_change(change: RowChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "table": encode(change.table),
        "key": None if change.key is None else [encode(part) for part in change.key],
        "before": _encode_row(change.before),
        "after": _encode_row(change.after),
    }


def decode_row_change(data: Json) -> RowChange:
    return RowChange(
        kind=data["kind"],
        table=decode(data["table"]),
        key=None if data["key"] is None else tuple(decode(part) for part in data["key"]),
        before=decode(data["before"]),
        after=decode(data["after"]),
    )


def encode_schema_delta(delta: SchemaDelta) -> dict[str, Any]:
    return {
        "action": delta.action,
        "type": encode(delta.type),
        "name": encode(delta.name),
        "before": encode(delta.before),
        "after": encode(delta.after),
    }


def decode_schema_delta(data: Json) -> SchemaDelta:
    return SchemaDelta(
        action=data["action"],
        type=decode(data["type"]),
        name=decode(data["name"]),
        before=decode(data["before"]),
        after=decode(data["after"]),
    )


def encode_table(info: TableInfo) -> dict[str, Any]:
    return {
        "name": encode(info.name),
        "columns": encode(list(info.columns)),
        "key": encode(list(info.key)),
        "generated": encode(sorted(info.generated)),
    }


def decode_table(data: Json) -> TableInfo:
    return TableInfo(
        name=decode(data["name"]),
        columns=tuple(decode(data["columns"])),
        key=tuple(decode(data["key"])),
        generated=frozenset(decode(data["generated"])),
    )


def encode_rules(rules: Rules) -> dict[str, Any]:
    return {
        "tables": [encode_table(info) for info in rules.tables.values()],
        "volatile": encode(list(rules.volatile)),
        "bookkeeping": encode(sorted(rules.bookkeeping)),
    }


def decode_rules(data: Json) -> Rules:
    tables = [decode_table(info) for info in data["tables"]]
    return Rules(
        tables={info.name: info for info in tables},
        volatile=tuple(decode(data["volatile"])),
        bookkeeping=frozenset(decode(data["bookkeeping"])),
    )


def encode_mail(mail: ReceivedMail) -> dict[str, Any]:
    return {
        "sender": encode(mail.sender),
        "recipients": encode(list(mail.recipients)),
        "subject": encode(mail.subject),
        "text": encode(mail.text),
        "html": encode(mail.html),
        "headers": encode(dict(mail.headers)),
        "attachments": [
            {"name": encode(one.name), "type": encode(one.type), "data": encode(one.data)}
            for one in mail.attachments
        ],
    }


def decode_mail(data: Json) -> ReceivedMail:
    return ReceivedMail(
        sender=decode(data["sender"]),
        recipients=tuple(decode(data["recipients"])),
        subject=decode(data["subject"]),
        text=decode(data["text"]),
        html=decode(data["html"]),
        headers=decode(data["headers"]),
        attachments=tuple(
            Attachment(name=decode(one["name"]), type=decode(one["type"]), data=decode(one["data"]))
            for one in data["attachments"]
        ),
    )


def _encode_row(row: Row | None) -> Any:
    return None if row is None else encode(dict(row))
