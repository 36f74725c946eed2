"""What the counter's clerk can do. Whether it is allowed is the policy's matter."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from sqlalchemy import Connection, func, select

from example_suites.common.desk import Id, Line
from example_suites.training.library.schema import (
    ChargeReason,
    NoteKind,
    book_copies,
    book_titles,
    counter_notes,
    lendings,
    reader_charges,
    readers,
    waiting_entries,
)
from example_suites.training.parts.tools import Cents, Section, changed, found, inserted
from pytest_thinkingbox import ServerContext


def find_reader(db: Connection, card: Line) -> dict[str, Any]:
    """The reader with this card, with open charges, their sum in cents, and entries on waiting lists."""
    reader = db.execute(select(readers).where(readers.c.card == card)).mappings().one_or_none()
    if reader is None:
        raise ValueError(f"There is no card {card}.")
    charges = select(reader_charges).where(
        reader_charges.c.reader_id == reader["id"], reader_charges.c.state == "open"
    )
    entries = select(waiting_entries).where(
        waiting_entries.c.reader_id == reader["id"], waiting_entries.c.state == "waiting"
    )
    still_open = [dict(one) for one in db.execute(charges.order_by(reader_charges.c.id)).mappings()]
    return {
        **reader,
        "open_charges": still_open,
        "owed_cents": sum(one["cents"] for one in still_open),
        "waiting_for": [dict(one) for one in db.execute(entries.order_by(waiting_entries.c.id)).mappings()],
    }


def list_lendings(db: Connection, reader_id: Id) -> list[dict[str, Any]]:
    """What a reader has out now: lending, title, dates, renewals so far."""
    rows = (
        select(
            lendings.c.id,
            book_titles.c.id.label("title_id"),
            book_titles.c.name,
            book_titles.c.author,
            book_titles.c.period_days,
            book_titles.c.replacement_cents,
            lendings.c.due_on,
            lendings.c.renewals,
        )
        .select_from(lendings.join(book_copies).join(book_titles))
        .where(lendings.c.reader_id == reader_id, lendings.c.state == "out")
        .order_by(lendings.c.id)
    )
    return [dict(one) for one in db.execute(rows).mappings()]


def find_titles(db: Connection, words: Line) -> list[dict[str, Any]]:
    """Titles whose name contains these words, with their copies and the readers who wait, first come first."""
    rows = db.execute(
        select(book_titles)
        .where(book_titles.c.name.icontains(words, autoescape=True))
        .order_by(book_titles.c.id)
        .limit(5)
    )
    return [{**one, **_availability(db, one["id"])} for one in rows.mappings()]


def _availability(db: Connection, title_id: int) -> dict[str, Any]:
    copies = (
        select(book_copies.c.state, func.count().label("number"))
        .where(book_copies.c.title_id == title_id)
        .group_by(book_copies.c.state)
    )
    waiting = (
        select(waiting_entries.c.id, waiting_entries.c.reader_id, waiting_entries.c.placed_on)
        .where(waiting_entries.c.title_id == title_id, waiting_entries.c.state == "waiting")
        .order_by(waiting_entries.c.placed_on)
    )
    return {
        "copies": {one.state: one.number for one in db.execute(copies)},
        "waiting": [dict(one) for one in db.execute(waiting).mappings()],
    }


def renew_lending(db: Connection, lending_id: Id, due_on: date) -> dict[str, Any]:
    """Give a lending a later due date; counts as one renewal."""
    lending = found(db, lendings, lending_id, "lending")
    if due_on <= lending.due_on:
        raise ValueError(f"{due_on} is not after {lending.due_on}, when it is due already.")
    return changed(db, lendings, lending_id, "lending", due_on=due_on, renewals=lending.renewals + 1)


def take_back(db: Connection, lending_id: Id) -> dict[str, Any]:
    """A book was handed in: the lending ends and the copy is on the shelf."""
    lending = found(db, lendings, lending_id, "lending")
    changed(db, book_copies, lending.copy_id, "copy", state="shelf")
    return changed(db, lendings, lending_id, "lending", state="back")


def declare_lost(db: Connection, lending_id: Id) -> dict[str, Any]:
    """A book will not come back: the lending ends as lost and the copy is missing."""
    lending = found(db, lendings, lending_id, "lending")
    changed(db, book_copies, lending.copy_id, "copy", state="missing")
    return changed(db, lendings, lending_id, "lending", state="lost")


def charge_reader(
    db: Connection, reader_id: Id, lending_id: Id, reason: ChargeReason, cents: Cents
) -> dict[str, Any]:
    """Charge a reader for a lending, in cents."""
    return inserted(
        db,
        reader_charges,
        reader_id=reader_id,
        lending_id=lending_id,
        reason=reason,
        cents=cents,
        state="open",
    )


def settle_charge(db: Connection, charge_id: Id, state: Literal["paid", "waived"]) -> dict[str, Any]:
    """Close a charge."""
    return changed(db, reader_charges, charge_id, "charge", state=state)


def join_waiting_list(db: Connection, context: ServerContext, reader_id: Id, title_id: Id) -> dict[str, Any]:
    """Put a reader at the end of a title's waiting list."""
    assert context.now is not None
    return inserted(
        db,
        waiting_entries,
        reader_id=reader_id,
        title_id=title_id,
        placed_on=context.now.date(),
        state="waiting",
    )


def close_waiting_entry(db: Connection, entry_id: Id, state: Literal["ready", "left"]) -> dict[str, Any]:
    """An entry of a waiting list ends: a copy is `ready` for the reader, or the reader has `left`."""
    return changed(db, waiting_entries, entry_id, "entry", state=state)


def write_counter_note(db: Connection, reader_id: Id, kind: NoteKind, section: Section) -> dict[str, Any]:
    """Write down what was not done, with the section of the rules that says why, for example 2.2."""
    return inserted(db, counter_notes, reader_id=reader_id, kind=kind, section=section)


TOOLS = (
    find_reader,
    list_lendings,
    find_titles,
    renew_lending,
    take_back,
    declare_lost,
    charge_reader,
    settle_charge,
    join_waiting_list,
    close_waiting_entry,
    write_counter_note,
)
