"""The tables of the library's counter. Amounts are in cents."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import CheckConstraint, Column, Date, ForeignKey, Integer, MetaData, String, Table

from example_suites.common.columns import NAMES, one_of
from example_suites.training.parts.rows import key

Card = Literal["adult", "child"]
CopyState = Literal["shelf", "lent", "missing"]
LendingState = Literal["out", "back", "lost"]
EntryState = Literal["waiting", "ready", "left"]
ChargeReason = Literal["overdue", "lost", "damage"]
ChargeState = Literal["open", "paid", "waived"]
NoteKind = Literal["refusal", "on_shelf", "already_waiting", "wrong_card"]

metadata = MetaData(naming_convention=NAMES)

readers = Table(
    "readers",
    metadata,
    key(),
    Column("card", String(8), nullable=False, unique=True),
    Column("name", String(60), nullable=False),
    Column("card_kind", String(5), nullable=False),
    one_of("card_kind", Card),
)

book_titles = Table(
    "book_titles",
    metadata,
    key(),
    Column("name", String(80), nullable=False, unique=True),
    Column("author", String(60), nullable=False),
    Column("period_days", Integer, nullable=False),
    Column("replacement_cents", Integer, nullable=False),
    CheckConstraint("period_days > 0 AND replacement_cents > 0", name="period_days"),
)

book_copies = Table(
    "book_copies",
    metadata,
    key(),
    Column("title_id", ForeignKey("book_titles.id"), nullable=False, index=True),
    Column("state", String(7), nullable=False),
    one_of("state", CopyState),
)

lendings = Table(
    "lendings",
    metadata,
    key(),
    Column("copy_id", ForeignKey("book_copies.id"), nullable=False),
    Column("reader_id", ForeignKey("readers.id"), nullable=False, index=True),
    Column("lent_on", Date, nullable=False),
    Column("due_on", Date, nullable=False),
    Column("renewals", Integer, nullable=False),
    Column("state", String(4), nullable=False),
    one_of("state", LendingState),
    CheckConstraint("due_on > lent_on AND renewals >= 0", name="due_on"),
)

waiting_entries = Table(
    "waiting_entries",
    metadata,
    key(),
    Column("title_id", ForeignKey("book_titles.id"), nullable=False, index=True),
    Column("reader_id", ForeignKey("readers.id"), nullable=False, index=True),
    Column("placed_on", Date, nullable=False),
    Column("state", String(7), nullable=False),
    one_of("state", EntryState),
)

reader_charges = Table(
    "reader_charges",
    metadata,
    key(),
    Column("reader_id", ForeignKey("readers.id"), nullable=False, index=True),
    Column("lending_id", ForeignKey("lendings.id"), nullable=False),
    Column("reason", String(7), nullable=False),
    Column("cents", Integer, nullable=False),
    Column("state", String(6), nullable=False),
    one_of("reason", ChargeReason),
    one_of("state", ChargeState),
    CheckConstraint("cents > 0", name="cents"),
)

counter_notes = Table(
    "counter_notes",
    metadata,
    key(),
    Column("reader_id", ForeignKey("readers.id"), nullable=False, index=True),
    Column("kind", String(15), nullable=False),
    Column("section", String(3), nullable=False),
    one_of("kind", NoteKind),
)
