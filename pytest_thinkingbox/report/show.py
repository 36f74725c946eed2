"""One attempt for a terminal: what was said and done, what changed, what was sent, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from pytest_thinkingbox.records.model import AttemptRecord, ToolCallRecord
from pytest_thinkingbox.report.messages import REASONING, content_text, said_calls, speaker, unsaid_calls
from pytest_thinkingbox.report.paint import Paint
from pytest_thinkingbox.report.text import escape, wrap
from pytest_thinkingbox.report.tokens import token_texts
from pytest_thinkingbox.state.code import shown
from pytest_thinkingbox.state.codec import decode_diff
from pytest_thinkingbox.state.diff import changed_columns
from pytest_thinkingbox.state.model import ReceivedMail, RowChange, SchemaDelta
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from pytest_thinkingbox.state.rulings import Ruling

_INDENT = "    "
_SHOWN = 2_000  # characters of one text; the record has all of it


def show_lines(*, tries: Sequence[AttemptRecord], width: int = 80, color: bool = False) -> list[str]:
    """All tries of one attempt, in order. Everything that others wrote is escaped."""
    view = _View(width, Paint(color))
    for number, record in enumerate(tries):
        if number:
            view.lines += ["", ""]
        view.one(record, of=len(tries))
    return view.lines


class _View:
    def __init__(self, width: int, paint: Paint) -> None:
        self.lines: list[str] = []
        self.width = width
        self.paint = paint

    def one(self, record: AttemptRecord, *, of: int) -> None:
        self.lines.append(self.paint.bold(escape(record.key)))
        self.lines.append(_who(record) + (f", try {record.try_number} of {of}" if of > 1 else ""))
        self._conversation(record)
        self._calls(unsaid_calls(record))
        self._faults(record.tool_calls)
        self._changes(record)
        self._mail(record.mail)
        self._received("requests", record.http)
        self._received("files", record.files)
        self._rulings(record.rulings)
        self._outcome(record)

    def _head(self, title: str) -> None:
        self.lines += ["", self.paint.bold(title)]

    def _text(self, text: str, indent: str = _INDENT) -> None:
        rest = len(text) - _SHOWN
        for line in text[:_SHOWN].splitlines() or [""]:
            self.lines += [indent + part for part in wrap(escape(line), self.width - len(indent))]
        if rest > 0:
            self.lines.append(self.paint.dim(f"{indent}({rest:,} more characters in the record)"))

    def _conversation(self, record: AttemptRecord) -> None:
        self._head("conversation")
        if not record.messages:
            self._text("nothing was said", "  ")
        for message in record.messages:
            self.lines.append("  " + self.paint.dim(escape(speaker(message))))
            for name in REASONING:
                if message.get(name):
                    self._text(f"({name}) {content_text(message[name])}")
            if message.get("content"):
                self._text(content_text(message["content"]))
            for _, name, arguments in said_calls(message):
                code = arguments if isinstance(arguments, str) else _arguments(arguments)
                self._text(f"-> {name}({code})")

    def _calls(self, calls: Sequence[ToolCallRecord]) -> None:
        if not calls:
            return
        self._head("tool calls")
        for call in calls:
            self._text(f"{call.name}({_arguments(call.arguments)})", "  ")
            self._text(f"{'error: ' if call.error else ''}{call.result}")

    def _faults(self, calls: Sequence[ToolCallRecord]) -> None:
        broken = [call for call in calls if call.fault]
        if broken:
            self._head("faults on purpose")
        for call in broken:
            self._text(f"{call.name}: {call.fault}", "  ")

    def _changes(self, record: AttemptRecord) -> None:
        self._head("changes")
        if record.changes is None:
            self._text("the state was not read", "  ")
            return
        diff = decode_diff(record.changes)
        if not diff.rows and not diff.schema:
            self._text("none", "  ")
        for change in diff.rows:
            self._text(_change(change), "  ")
        for delta in diff.schema:
            self._text(_schema(delta), "  ")

    def _mail(self, mail: Sequence[ReceivedMail] | None) -> None:
        if mail is None:
            return
        self._head("mail")
        if not mail:
            self._text("none", "  ")
        for one in mail:
            self._text(f"from {one.sender} to {', '.join(one.recipients)}: {one.subject}", "  ")
            self._text(one.text or one.html)
            for file in one.attachments:
                self._text(f"attachment {file.name} ({file.type}, {len(file.data):,} bytes)")

    def _received(self, title: str, items: Sequence[ReceivedRequest | FileChange] | None) -> None:
        if items is None:
            return
        self._head(title)
        if not items:
            self._text("none", "  ")
        for one in items:
            if isinstance(one, FileChange):
                self._text(f"{one.change} {one.path} ({one.size:,} bytes)", "  ")
            else:
                answer = "connection cut" if one.status is None else f"answered {one.status}"
                query = f"?{urlencode(one.query, doseq=True, errors='replace')}" if one.query else ""
                self._text(f"{one.method} {one.path}{query} ({answer})", "  ")
            if one.data:
                self._text(one.text)

    def _rulings(self, rulings: Sequence[Ruling]) -> None:
        if not rulings:
            return
        self._head("judge")
        for one in rulings:
            self._text(one.question, "  ")
            self._text(f"{one.answer}: {one.reason} ({one.model}{', asked before' if one.cached else ''})")

    def _outcome(self, record: AttemptRecord) -> None:
        self._head("outcome")
        color = {"passed": self.paint.green, "failed": self.paint.red, "invalid": self.paint.yellow}
        cause = f", {record.cause}" if record.cause else ""
        again = "" if record.final else " (played again)"
        self.lines.append(f"  {color[record.outcome](record.outcome + cause)}{again}")
        if record.detail:
            self._text(record.detail)
        if record.stop_reason not in (None, "done"):
            self._text(f"stopped: {record.stop_reason} {record.stop_detail}".rstrip(), "  ")
        if record.credit is not None:
            self._text(f"credit {record.credit:g}", "  ")
        for text in token_texts([record.row()], agent=record.agent):
            self._text(f"tokens: {text}", "  ")
        phases = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in record.seconds.items())
        self._text(f"time: {sum(record.seconds.values()):.2f} s{f' ({phases})' if phases else ''}", "  ")


def _who(record: AttemptRecord) -> str:
    model = f", model {escape(record.model)}" if record.model else ""
    return f"campaign {escape(record.campaign)}, agent {escape(record.agent)}{model}, seed {record.seed}"


def _arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={shown(value)}" for name, value in arguments.items())


def _change(change: RowChange) -> str:
    before, after = change.before or {}, change.after or {}
    key = "" if change.key is None else f" {', '.join(shown(part) for part in change.key)}"
    if change.kind == "update":
        columns = [
            f"{name}: {shown(before.get(name))} -> {shown(after.get(name))}"
            for name in changed_columns(before, after)
        ]
        return f"updated {change.table}{key}: {', '.join(columns)}"
    row = ", ".join(f"{name}={shown(value)}" for name, value in (after or before).items())
    return f"{'inserted' if change.kind == 'insert' else 'deleted'} {change.table}{key}: {row}"


def _schema(delta: SchemaDelta) -> str:
    text = f"{delta.action} {delta.type} {delta.name}"
    if delta.before is not None and delta.after is not None:
        return f"{text}: {delta.before} -> {delta.after}"
    return text
