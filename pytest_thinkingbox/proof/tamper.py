"""What no tool of the environment may do: a changed row, a mail, a request, made for real behind the agent's back."""

from __future__ import annotations

import json
import smtplib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from email.message import EmailMessage
from http.client import HTTPConnection
from typing import Any

from sqlalchemy import ColumnClause, Connection, Engine, TableClause, and_, column, select, table, update
from sqlalchemy.exc import DBAPIError

from pytest_thinkingbox.backends.base import Lease
from pytest_thinkingbox.effects.files import WorkDir
from pytest_thinkingbox.effects.http import HttpSink
from pytest_thinkingbox.effects.mail import MailSink
from pytest_thinkingbox.effects.sinks import Sinks
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.proof.model import Plan
from pytest_thinkingbox.proof.notes import write_rules
from pytest_thinkingbox.state.code import plain
from pytest_thinkingbox.state.model import Rules, StateDiff, TableInfo
from pytest_thinkingbox.state.rules import RuleBook

_SAMPLE = 200
"""Rows of a table among which a neighbour is looked for."""


class Tamper:
    """Called when the agent is done and before its world is cut off."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __call__(self, request: EpisodeRequest, lease: Lease, sinks: Sinks, workdir: WorkDir | None) -> None:
        if self._plan.tasks is None:
            if request.attempt == 1:
                write_rules(self._plan.notes, request.task_id, lease.rules)
            return
        plan = self._plan.of(request.task_id)
        mutation = plan.attempts[request.attempt - 1]
        if mutation.kind == "mail" and sinks.mail is not None:
            _send(sinks.mail)
        elif mutation.kind == "request" and sinks.http is not None:
            _request(sinks.http)
        elif mutation.kind == "file" and workdir is not None:
            (workdir.folder / "unasked.txt").write_text("Nobody asked for this file.", encoding="utf-8")
        elif mutation.kind == "neighbour":
            touch_neighbour(lease.engine, lease.rules, mutation.table, plan.touched.get(mutation.table, ()))


def touch_neighbour(engine: Engine, rules: Rules, name: str, touched: Sequence[Sequence[Any]]) -> bool:
    """Change one column of one row whose key is not in `touched`; False when no row lets itself be changed."""
    info = rules.tables[name]
    book = RuleBook(StateDiff(), rules)
    free = [
        one
        for one in info.columns
        if one not in info.key and one not in info.generated and not book.is_volatile(name, one)
    ]
    clause = _clause(info)
    keys = {json.dumps(list(key), default=str) for key in touched}
    with engine.connect() as connection:
        query = select(clause).order_by(*(clause.c[one] for one in info.key)).limit(_SAMPLE)
        rows = [dict(row) for row in connection.execute(query).mappings()]
        connection.rollback()
        for row in rows:
            if info.key and json.dumps([plain(row[one]) for one in info.key], default=str) in keys:
                continue
            for one in free:
                for value in _others(row[one], [other[one] for other in rows]):
                    if _update(connection, clause, info, row, one, value):
                        return True
    return False


def _clause(info: TableInfo) -> TableClause:
    schema, _, name = info.name.rpartition(".")
    columns: list[ColumnClause[Any]] = [column(one) for one in info.columns]
    return table(name, *columns, schema=schema or None)


def _update(
    connection: Connection,
    clause: TableClause,
    info: TableInfo,
    row: Mapping[str, Any],
    name: str,
    value: Any,
) -> bool:
    this = and_(*(clause.c[one].is_not_distinct_from(row[one]) for one in info.key or info.columns))
    try:
        changed = connection.execute(update(clause).where(this).values({name: value})).rowcount
        connection.commit()
    except DBAPIError:  # a constraint: another column or value may pass
        connection.rollback()
        return False
    return changed > 0


def _others(value: Any, column_values: Sequence[Any]) -> Iterator[Any]:
    """Another value of the column first, which its constraints allow; then one close by."""
    for other in column_values:
        if other is not None and other != value:
            yield other
            break
    match value:
        case bool():
            yield not value
        case int() | float() | Decimal():
            yield value + 1
        case datetime() | date():
            yield value + timedelta(days=1)
        case str():
            yield f"{value}x"


def _send(sink: MailSink) -> None:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "agent@unasked.example", "anybody@unasked.example", "Unasked"
    mail.set_content("Nobody asked for this mail.")
    with smtplib.SMTP(sink.host, sink.port, timeout=15) as server:
        server.send_message(mail)


def _request(sink: HttpSink) -> None:
    connection = HTTPConnection(sink.host, sink.port, timeout=15)
    try:
        connection.request("POST", "/unasked", body="{}", headers={"content-type": "application/json"})
        connection.getresponse().read()
    finally:
        connection.close()


def keys_of(touched: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, list[list[Any]]]:
    """Keys as JSON values, as `touch_neighbour` compares them."""
    return {name: [[plain(part) for part in key] for key in keys] for name, keys in touched.items()}
