from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any
from unittest.mock import ANY

from hypothesis import given
from hypothesis import strategies as st

from pytest_thinkingbox.state.claims import Changes
from pytest_thinkingbox.state.diff import diff_tables
from pytest_thinkingbox.state.expect import Deleted, Inserted, Mail, Same, SchemaChange, Updated
from pytest_thinkingbox.state.explain import explain_comparison, explain_unaccounted
from pytest_thinkingbox.state.model import Rules, SchemaDelta, StateDiff
from pytest_thinkingbox.state.outbox import MailBox, Outbox
from tests.state.strategies import COMPOSITE, KEYED, KEYLESS, PROPERTY, TABLES, VALUES
from tests.state.world import BOOKING, DROPPED, booking, changes, delete, insert, line, log, mail, refund


def explain(left: Any, right: Any, op: str = "==") -> str:
    lines = explain_comparison(op, left, right)
    assert lines is not None
    assert all("\n" not in line for line in lines)
    return "\n".join(lines)


def test_other_comparisons_are_not_explained() -> None:
    assert explain_comparison("==", [1], [2]) is None
    assert explain_comparison("<", changes(), 3) is None


def test_a_differing_row_is_shown_column_by_column() -> None:
    seen = changes(booking(status="pending", total=1300))
    assert explain(seen, [Updated("bookings", 1042, status=("confirmed", "cancelled"), room="single")]) == (
        "changes differ: 0 as expected, 1 differs\n"
        'differs: Updated("bookings", 1042, status=("confirmed", "cancelled"), room="single")\n'
        '    status: expected "cancelled", is "pending"\n'
        '    room: expected "single", is "suite"\n'
        "    total: changed from 1450 to 1300, and is not named\n"
        '    it is Updated("bookings", 1042, status=("confirmed", "pending"), total=(1450, 1300))'
    )


def test_an_old_value_that_differs_is_told_from_a_new_one() -> None:
    text = explain(changes(booking(status="x")), [Updated("bookings", 1042, status=("pending", "x"))])
    assert '    status: expected "pending", was "confirmed"\n' in text


def test_missing_and_unexpected_rows_are_listed() -> None:
    seen = changes(refund(7), delete("bookings", **BOOKING))
    assert explain(seen, [Inserted("refunds"), Updated("bookings", 1042, status="x")]) == (
        "changes differ: 1 as expected, 1 missing, 1 unexpected\n"
        'missing: Updated("bookings", 1042, status="x")\n'
        'unexpected: Deleted("bookings", 1042, guest="Dana", room="suite", status="confirmed", total=1450)'
    )


def test_the_list_may_be_on_the_left() -> None:
    assert explain([Inserted("refunds")], changes()) == (
        'changes differ: 0 as expected, 1 missing\nmissing: Inserted("refunds")'
    )


def test_values_that_were_not_linked_are_shown_with_where_they_come_from() -> None:
    seen = changes(refund(7), line(1, refund_id=8))
    text = explain(seen, [Inserted("refunds", id=Same("r")), Inserted("refund_lines", refund_id=Same("r"))])
    assert "0 missing" not in text
    assert "1 as expected, 1 differs" in text
    assert '    refund_id: not linked: expected Same("r"), which is 7 in refunds.id, is 8' in text


def test_a_link_to_a_key_is_shown() -> None:
    seen = changes(booking(status="x"), refund(booking_id=7))
    text = explain(
        seen, [Updated("bookings", Same("b"), status="x"), Inserted("refunds", booking_id=Same("b"))]
    )
    assert 'booking_id: not linked: expected Same("b"), which is 1042 in the key of bookings, is 7' in text


def test_json_is_shown_where_it_differs() -> None:
    for stored in ({"a": [1, {"b": 2}], "c": 3}, '{"a": [1, {"b": 2}], "c": 3}'):
        seen = changes(refund(amount=stored))
        text = explain(seen, [Inserted("refunds", amount={"a": [1, {"b": 3}], "d": 4})])
        assert '    amount["a"][1]["b"]: expected 3, is 2\n' in text
        assert '    amount["d"]: expected 4, is nothing\n' in text
        assert '    amount["c"]: expected nothing, is 3\n' in text


def test_text_and_numbers_that_print_alike_are_told_apart() -> None:
    assert 'amount: expected 1, is "1" (int, str)' in explain(
        changes(refund(amount="1")), [Inserted("refunds", amount=1)]
    )


def test_an_update_of_another_row_is_another_row() -> None:
    text = explain(changes(booking(status="x")), [Updated("bookings", 7, status="y")])
    assert "1 differs" in text  # there is nothing else that it could be
    seen = changes(booking(status="x"), refund())
    text = explain(seen, [Updated("bookings", 7, status="y"), Deleted("refunds", 1)])
    assert "2 missing, 2 unexpected" in text
    text = explain(seen, [Updated("bookings", 7, status="x"), Deleted("refunds", 1)])
    assert "    key: expected 7, is 1042\n" in text


def test_each_row_is_compared_with_the_one_most_like_it() -> None:
    seen = changes(refund(1, amount=10), refund(2, amount=20, booking_id=7))
    text = explain(
        seen,
        [Inserted("refunds", amount=21, booking_id=7), Inserted("refunds", amount=11, booking_id=1042)],
    )
    assert "amount: expected 21, is 20" in text
    assert "amount: expected 11, is 10" in text
    assert "booking_id: expected" not in text


def test_a_schema_change_shows_its_definition() -> None:
    altered = SchemaDelta(
        "altered", "table", "rooms", before="CREATE TABLE\n rooms (a)", after="CREATE TABLE rooms (a, b)"
    )
    text = explain(changes(altered), [])
    assert text.endswith(
        'unexpected: SchemaChange("altered", "table", "rooms")\n'
        "    before: CREATE TABLE rooms (a)\n"
        "    after: CREATE TABLE rooms (a, b)"
    )
    text = explain(changes(DROPPED), [SchemaChange("dropped", "table", "rooms")])
    assert '    name: expected "rooms", is "bookings"' in text


def test_long_texts_are_shown_around_their_first_difference() -> None:
    left, right = "a" * 5000 + "left" + "b" * 5000, "a" * 5000 + "right" + "b" * 5000
    text = explain(changes(refund(amount=left)), [Inserted("refunds", amount=right)])
    assert '"' + "a" * 40 + "right" in text
    assert '"' + "a" * 40 + "left" in text
    assert "(from character 4,960 of 10,004)" in text
    assert max(map(len, text.splitlines())) < 1000


def test_text_of_the_agent_cannot_reach_the_terminal() -> None:
    evil = "\x1b[2J\r\n\u202e\u2028gone\x00\ud800"
    seen = changes(insert("notes", author=evil, body=evil), SchemaDelta("created", "table", evil, after=evil))
    outbox = Outbox([mail(evil, subject=evil, text=evil, sender=evil)])
    for text in (explain(seen, []), explain(outbox.mail, []), explain_unaccounted(seen, outbox), repr(seen)):
        assert text.replace("\n", "").isprintable()
        assert "\\x1b[2J\\r\\n\\u202e\\u2028gone\\x00\\ud800" in text


def test_many_rows_are_cut_and_counted() -> None:
    seen = changes(*[refund(at) for at in range(100)], *[line(at, at) for at in range(30)])
    text = explain(seen, [])
    assert "0 as expected, 130 unexpected" in text
    assert "... and 110 more unexpected" in text
    assert len(text.splitlines()) == 22
    left = explain_unaccounted(seen, Outbox(None))
    assert "the checker did not account for 130 changes:" in left
    assert "... and 110 more" in left
    assert "    by table: refunds 100, refund_lines 30" in left
    assert "# ... and 80 more" in left


def test_explaining_accounts_for_nothing() -> None:
    seen = changes(refund())
    explain(seen, [Inserted("refunds")])
    explain(seen, [])
    assert seen.unaccounted() == [refund()]


def test_a_comparison_that_holds_is_said_to_hold() -> None:
    seen = changes(refund())
    for op in ("==", "!="):
        assert explain(seen, [Inserted("refunds")], op).startswith(
            "the changes are exactly what was expected"
        )


def test_membership_shows_what_there_is() -> None:
    assert explain(Inserted("refunds", amount=3), changes(refund(7)), "in") == (
        'Inserted("refunds", amount=3) in changes\n'
        'there is: Inserted("refunds", id=7, booking_id=1042, amount=100)'
    )


def test_mails_are_shown_field_by_field() -> None:
    box = MailBox([mail("dana@example.com", text="No.\r\n")])
    assert explain(box, [Mail(to="manager@example.com", subject="Hi", text="Yes.")]) == (
        "mails differ: 0 as expected, 1 differs\n"
        'differs: Mail(to="manager@example.com", subject="Hi", text="Yes.")\n'
        '    to: expected "manager@example.com", is "dana@example.com"\n'
        '    text: expected "Yes.", is "No.\\r\\n"\n'
        '    it is Mail(to="dana@example.com", subject="Hi", text="No.\\r\\n", sender="agent@hotel.example")'
    )


def test_nothing_unaccounted_is_no_text() -> None:
    seen, outbox = changes(refund()), Outbox([mail("a@b.c")])
    assert seen == [Inserted("refunds")]
    assert outbox.mail == [Mail()]
    assert explain_unaccounted(seen, outbox) == ""
    assert explain_unaccounted(changes(), Outbox(None)) == ""


def test_t09_what_is_unaccounted_is_named_and_all_of_it_is_code_to_paste() -> None:
    seen = changes(
        booking(status="cancelled", total=Decimal("1300.50"), updated_at=2),
        refund(7, amount=Decimal("149.50")),
        line(1, refund_id=7),
        log("read"),
        DROPPED,
    )
    outbox = Outbox([mail("manager@example.com", text="Please decide.\r\n")])
    seen.take(Inserted("refunds"))
    seen.ignore("audit_log")
    assert (
        explain_unaccounted(seen, outbox)
        == """\
the checker did not account for 3 changes and 1 mail:
    Updated("bookings", 1042, status=("confirmed", "cancelled"), total=(1450, 1300.5))
    Inserted("refund_lines", id=1, refund_id=7, amount=50)
    SchemaChange("dropped", "table", "bookings")
    Mail(to="manager@example.com", subject="Hi", text="Please decide.\\r\\n", sender="agent@hotel.example")
all that happened, as code:
    changes.ignore("audit_log")
    assert changes == [
        Updated("bookings", 1042, status=("confirmed", "cancelled"), total=(1450, 1300.5)),
        Inserted("refunds", id=Same("refund"), booking_id=1042, amount=149.5),
        Inserted("refund_lines", refund_id=Same("refund"), amount=50),
        SchemaChange("dropped", "table", "bookings"),
    ]
    assert attempt.outbox.mail == [
        Mail(to="manager@example.com", subject="Hi", text="Please decide.", sender="agent@hotel.example"),
    ]"""
    )


def test_only_mail_that_is_unaccounted_is_named() -> None:
    outbox = Outbox([mail("a@b.c"), mail("d@e.f")])
    outbox.mail.take(Mail(to="a@b.c"))
    text = explain_unaccounted(changes(), outbox)
    assert text.startswith('the checker did not account for 1 mail:\n    Mail(to="d@e.f"')
    assert "    assert changes == []\n" in text


def test_long_values_are_left_free_in_the_code() -> None:
    seen = changes(refund(amount="x" * 5000), booking(status="y" * 5000))
    text = explain_unaccounted(seen, Outbox(None))
    assert '        Inserted("refunds", booking_id=1042),  # amount: 5,002 characters left free\n' in text
    assert (
        '        Updated("bookings", 1042, status=("confirmed", ANY)),  # status: 5,002 characters left free\n'
        in text
    )
    assert len(text) < 2000


NAMES = {
    "ANY": ANY, "Decimal": Decimal, "Deleted": Deleted, "Inserted": Inserted, "Mail": Mail, "Same": Same,
    "SchemaChange": SchemaChange, "Updated": Updated, "datetime": datetime,
}  # fmt: skip


def run_pasted(text: str, changes: Changes, outbox: Outbox) -> None:
    code = text.partition("all that happened, as code:\n")[2]
    lines = [one[4:] for one in code.splitlines()]

    class attempt:
        pass

    attempt.outbox = outbox  # type: ignore[attr-defined]
    exec("\n".join(lines), {**NAMES, "changes": changes, "attempt": attempt})


@st.composite
def random_changes(draw: st.DrawFn) -> StateDiff:
    """Inserts, updates and deletes of arbitrary values."""

    def dump() -> dict[str, list[dict[str, Any]]]:
        keyed = [
            {"id": at, "a": draw(VALUES), "b": draw(VALUES)}
            for at in sorted(draw(st.sets(st.integers(1, 3))))
        ]
        composite = [
            {"x": x, "y": datetime.date(2024, 5, 1), "a": draw(VALUES)}
            for x in sorted(draw(st.sets(st.sampled_from(["p", "q"]))))
        ]
        keyless = [{"a": draw(VALUES), "b": 1} for _ in range(draw(st.integers(0, 2)))]
        return {KEYED.name: keyed, COMPOSITE.name: composite, KEYLESS.name: keyless}

    return StateDiff(rows=diff_tables(dump(), dump(), TABLES))


@PROPERTY
@given(random_changes(), st.text(max_size=5))
def test_the_code_to_paste_accounts_for_everything(diff: StateDiff, text: str) -> None:
    rules = Rules(tables=TABLES)
    outbox = Outbox([mail("a@b.c", subject=text, text=text)])
    pasted = explain_unaccounted(Changes(diff, rules), outbox)
    again = Changes(diff, rules)
    run_pasted(pasted, again, outbox)
    assert explain_unaccounted(again, outbox) == ""


@PROPERTY
@given(random_changes(), random_changes())
def test_any_mismatch_can_be_explained(expected: StateDiff, actual: StateDiff) -> None:
    rules = Rules(tables=TABLES)
    wanted = [
        Inserted(one.table, **one.after) if one.kind == "insert"
        else Deleted(one.table, one.key if one.key is None or len(one.key) > 1 else one.key[0])
        if one.key is not None
        else Deleted(one.table)
        for one in expected.rows
        if one.kind != "update" and not any(isinstance(value, tuple) for value in (one.after or {}).values())
    ]  # fmt: skip
    seen = Changes(actual, rules)
    text = explain(seen, wanted)
    assert text.startswith(("changes differ: ", "the changes are "))
    assert text.isprintable() or "\n" in text
    assert len(seen.unaccounted()) == len(seen)


def test_an_explanation_never_raises() -> None:
    class Positive:
        def __eq__(self, other: Any) -> bool:
            return bool(other > 0)

        __hash__ = None  # type: ignore[assignment]

        def __repr__(self) -> str:
            return "Positive()"

    seen = changes(refund(7, amount=None), booking(status="x"))
    assert seen != [
        Inserted("refunds", amount=Positive())
    ]  # there is one change too many, whatever they hold
    text = explain(seen, [Inserted("refunds", amount=Positive())])
    assert "not compared further: TypeError(" in text
    assert 'there is: Inserted("refunds", id=7, booking_id=1042, amount=None)' in text
    assert explain(seen, "x").startswith("the changes are not compared further: TypeError(")
