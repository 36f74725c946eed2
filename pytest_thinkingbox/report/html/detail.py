"""One try as the page shows it: plain JSON of safe text. What others wrote is escaped and cut here, never in the page.

A text is a string, or `{"cut": [head, characters left out, tail]}`. In a list, `{"left": n}` stands for n entries.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from pytest_thinkingbox.records.model import AttemptRecord, ToolCallRecord
from pytest_thinkingbox.report.messages import REASONING, content_text, said_calls, speaker, unsaid_calls
from pytest_thinkingbox.report.text import escape, escape_lines
from pytest_thinkingbox.report.tokens import token_texts
from pytest_thinkingbox.state.code import literal, plain
from pytest_thinkingbox.state.codec import decode_diff
from pytest_thinkingbox.state.diff import changed_columns
from pytest_thinkingbox.state.model import ReceivedMail, RowChange, SchemaDelta
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from pytest_thinkingbox.state.rulings import Ruling

LONGEST = 20_000
"""Characters of one text that a page can hold at most."""
MOST = 1_000
"""Entries of one list that a page can hold at most: messages, changes, mails."""

Json = dict[str, Any]


def try_detail(record: AttemptRecord) -> Json:
    """All that a person may want to know of a try."""
    return {
        "number": record.try_number,
        "final": record.final,
        "outcome": record.outcome,
        "cause": record.cause,
        "verdict": safe(record.detail),
        "facts": [[name, safe(text)] for name, text in _facts(record)],
        "talk": shorter(list(_talk(record)), MOST),
        "calls": shorter([_call(call) for call in unsaid_calls(record)], MOST),
        "rulings": shorter([_ruling(one) for one in record.rulings], MOST),
        "changes": _changes(record.changes),
        "effects": [
            {"title": title, "items": None if items is None else shorter(items, MOST)}
            for title, items in _effects(record)
        ],
    }


def safe(text: str) -> Any:
    """`text` escaped, and cut in the middle where it is longer than `LONGEST`."""
    if len(text) <= LONGEST:
        return escape_lines(text)
    head, left, tail = _parts(text, LONGEST)
    return {"cut": [escape_lines(head), left, escape_lines(tail)]}


def cut_to(text: Any, longest: int) -> Any:
    """A text of a detail in at most `longest` characters of the record, counted from the whole one."""
    if isinstance(text, str):
        return {"cut": list(_parts(text, longest))} if len(text) > longest else text
    head, left, tail = text["cut"]
    if len(head) + len(tail) <= longest:
        return text
    ends = _parts(head, longest)[0], _parts(tail, longest)[2]
    return {"cut": [ends[0], left + len(head) - len(ends[0]) + len(tail) - len(ends[1]), ends[1]]}


def _parts(text: str, longest: int) -> tuple[str, int, str]:
    """Three quarters of what is kept come from the beginning."""
    tail = longest // 4
    head = longest - tail
    return text[:head], len(text) - longest, text[len(text) - tail :]


def shorter(entries: Sequence[Any], most: int) -> list[Any]:
    """At most `most` entries, and how many are missing in the middle; a mark of an earlier cut is added up."""
    if len(entries) <= most:
        return list(entries)
    head, middle, tail = _split(entries, most)
    left = sum(one["left"] if is_left_out(one) else 1 for one in middle)
    return [*head, {"left": left}, *tail]


def is_left_out(entry: Any) -> bool:
    """Whether an entry of a list stands for entries that are missing."""
    return isinstance(entry, dict) and "left" in entry


def _split(entries: Sequence[Any], most: int) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
    tail = most // 4
    return entries[: most - tail], entries[most - tail : len(entries) - tail], entries[len(entries) - tail :]


def _facts(record: AttemptRecord) -> Iterator[tuple[str, str]]:
    if record.stop_reason is not None:
        yield "stopped", f"{record.stop_reason} {record.stop_detail}".rstrip()
    if record.credit is not None:
        yield "credit", f"{record.credit:g}"
    phases = ", ".join(f"{name} {seconds:.2f}" for name, seconds in record.seconds.items())
    yield "time", f"{sum(record.seconds.values()):.2f} s{f' ({phases})' if phases else ''}"
    for text in token_texts([record.row()], agent=record.agent):
        yield "tokens", text
    yield "agent", record.agent + (f", model {record.model}" if record.model else "")
    yield "seed", str(record.seed)
    yield "started", record.started_at
    if record.regraded_at is not None:
        yield "graded again", record.regraded_at


def _talk(record: AttemptRecord) -> Iterator[Json]:
    """Messages in order; a call stands where it was said, together with its answer."""
    played = {call.id: call for call in record.tool_calls}
    shown: set[str] = set()
    for message in record.messages:
        text = content_text(message["content"]) if message.get("content") else ""
        if message.get("role") == "tool" and _is_answer_of(message, text, played, shown):
            continue  # it stands with its call
        who = escape(speaker(message))
        for name in REASONING:
            if message.get(name):
                yield {"who": who, "note": name, "text": safe(content_text(message[name]))}
        if text:
            yield {"who": who, "text": safe(text)}
        for call_id, name, arguments in said_calls(message):
            call = played.get(call_id) if call_id is not None else None
            if call is None or call.id in shown:
                yield {"call": safe(name), "arguments": _arguments(arguments), "played": False}
                continue
            shown.add(call.id)
            yield _call(call)


def _is_answer_of(
    message: Mapping[str, Any], text: str, played: Mapping[str, ToolCallRecord], shown: set[str]
) -> bool:
    answered = message.get("tool_call_id")
    return isinstance(answered, str) and answered in shown and text == played[answered].result


def _call(call: ToolCallRecord) -> Json:
    return {
        "call": safe(call.name),
        "arguments": _arguments(call.arguments),
        "played": True,
        "error": call.error,
        "fault": safe(call.fault),
        "seconds": round(call.seconds, 2),
        "result": safe(_indented(call.result)),
    }


def _arguments(arguments: Mapping[str, Any] | str) -> list[Any]:
    if isinstance(arguments, str):
        return [["", safe(arguments)]] if arguments else []
    return shorter([[safe(name), safe(literal(value))] for name, value in arguments.items()], MOST)


def _indented(text: str) -> str:
    """JSON on one line is laid out for reading; all else stays as it is."""
    if not text.startswith(("{", "[")) or "\n" in text or len(text) > LONGEST:
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _ruling(ruling: Ruling) -> Json:
    model = f"{ruling.model}, asked before" if ruling.cached else ruling.model
    return _effect(
        [("question", ruling.question), ("answer", ruling.answer), ("model", model)], ruling.reason
    )


def _changes(changes: Any) -> Json | None:
    if changes is None:
        return None
    diff = decode_diff(changes)
    return {
        "rows": shorter([_row(change) for change in diff.rows], MOST),
        "schema": shorter([_schema(delta) for delta in diff.schema], MOST),
    }


def _row(change: RowChange) -> Json:
    before, after = change.before or {}, change.after or {}
    columns = changed_columns(before, after) if change.kind == "update" else tuple(after or before)
    return {
        "kind": change.kind,
        "table": safe(change.table),
        "key": None if change.key is None else safe(", ".join(literal(plain(part)) for part in change.key)),
        "cells": shorter([_cell(column, change) for column in columns], MOST),
    }


def _cell(column: str, change: RowChange) -> list[Any]:
    return [
        safe(column),
        *(
            None if row is None else safe(literal(plain(row.get(column))))
            for row in (change.before, change.after)
        ),
    ]


def _schema(delta: SchemaDelta) -> Json:
    return {
        "what": safe(f"{delta.action} {delta.type} {delta.name}"),
        "before": None if delta.before is None else safe(delta.before),
        "after": None if delta.after is None else safe(delta.after),
    }


def _effects(record: AttemptRecord) -> Iterator[tuple[str, list[Json] | None]]:
    """What reached each sink; None where there was no such sink."""
    yield "mail", None if record.mail is None else [_mail(one) for one in record.mail]
    yield "HTTP requests", None if record.http is None else [_request(one) for one in record.http]
    yield "files", None if record.files is None else [_file(one) for one in record.files]


def _mail(mail: ReceivedMail) -> Json:
    attached = [f"{one.name} ({one.type}, {len(one.data):,} bytes)" for one in mail.attachments]
    facts = [("from", mail.sender), ("to", ", ".join(mail.recipients)), ("subject", mail.subject)]
    return _effect([*facts, *(("attached", one) for one in attached)], mail.text or mail.html)


def _request(request: ReceivedRequest) -> Json:
    answer = "the connection was cut" if request.status is None else str(request.status)
    query = f"?{urlencode(request.query, doseq=True, errors='replace')}" if request.query else ""
    facts = [("request", f"{request.method} {request.path}{query}"), ("answered", answer)]
    return _effect(facts, request.text)


def _file(change: FileChange) -> Json:
    return _effect([(change.change, f"{change.path} ({change.size:,} bytes)")], change.text)


def _effect(facts: Sequence[tuple[str, str]], text: str) -> Json:
    return {"facts": shorter([[name, safe(one)] for name, one in facts], MOST), "text": safe(text)}
