"""Nothing else changed, by default: what accounts for what."""
# ruff: noqa: SIM201, SIM202, SIM300 - which operator is asked is the subject

from __future__ import annotations

import pytest

from pytest_thinkingbox.state.expect import Deleted, Inserted, Same, SchemaChange, Updated
from pytest_thinkingbox.state.model import SchemaDelta
from tests.state.world import BOOKING, DROPPED, booking, changes, delete, insert, line, log, refund


def test_nothing_is_accounted_for_by_itself() -> None:
    assert changes(refund(), DROPPED).unaccounted() == [refund(), DROPPED]


def test_equality_that_holds_accounts_for_everything() -> None:
    seen = changes(refund(), booking(status="x"))
    assert seen == [Inserted("refunds"), Updated("bookings", 1042, status="x")]
    assert seen.unaccounted() == []


def test_equality_that_does_not_hold_accounts_for_nothing() -> None:
    seen = changes(refund(), booking(status="x"))
    assert not seen == [Inserted("refunds")]
    assert len(seen.unaccounted()) == 2


def test_equality_accounts_from_either_side() -> None:
    seen = changes(refund())
    assert [Inserted("refunds")] == seen
    assert seen.unaccounted() == []


def test_inequality_never_accounts() -> None:
    seen = changes(refund())
    assert not seen != [Inserted("refunds")]
    assert seen != []
    assert [] != seen
    assert seen.unaccounted() == [refund()]


def test_one_of_two_alternatives_may_hold() -> None:
    for happened in ([refund()], [refund(), booking(status="x")]):
        seen = changes(*happened)
        first = [Inserted("refunds")]
        assert seen == first or seen == [*first, Updated("bookings", 1042, status="x")]
        assert seen.unaccounted() == []


def test_not_equal_to_nothing_accounts_for_nothing() -> None:
    seen = changes(refund())
    assert not seen == []
    assert seen.unaccounted() == [refund()]


def test_the_same_equality_holds_twice() -> None:
    seen = changes(refund())
    assert seen == [Inserted("refunds")]
    assert seen == [Inserted("refunds")]


def test_looking_accounts_for_nothing() -> None:
    seen = changes(refund(), DROPPED)
    assert len(seen) == 2
    assert Inserted("refunds") in seen
    assert list(seen)[1] is seen[1] is DROPPED
    assert bool(seen)
    assert repr(seen)
    assert seen.count(Inserted("refunds")) == 1
    assert len(seen.unaccounted()) == 2


def test_take_accounts_for_one_and_returns_it() -> None:
    seen = changes(refund(7), booking(status="x"))
    taken = seen.take(Inserted("refunds"))
    assert taken == refund(7)
    assert seen.unaccounted() == [booking(status="x")]


def test_equality_after_take_compares_the_rest() -> None:
    seen = changes(refund(7), booking(status="x"))
    seen.take(Inserted("refunds"))
    assert len(seen) == 1
    assert not seen == [Inserted("refunds"), Updated("bookings", 1042, status="x")]
    assert seen == [Updated("bookings", 1042, status="x")]
    assert seen.unaccounted() == []


def test_take_raises_an_assertion_error_that_lists_what_there_is() -> None:
    seen = changes(refund(7, amount=3))
    with pytest.raises(AssertionError) as caught:
        seen.take(Inserted("refunds", amount=100))
    assert str(caught.value) == (
        'no change is Inserted("refunds", amount=100)\n'
        "there is:\n"
        '    Inserted("refunds", id=7, booking_id=1042, amount=3)'
    )
    assert seen.unaccounted() == [refund(7, amount=3)]


def test_nothing_can_be_taken_twice() -> None:
    seen = changes(refund())
    seen.take(Inserted("refunds"))
    with pytest.raises(AssertionError, match="there is no change left"):
        seen.take(Inserted("refunds"))


def test_take_does_not_mind_candidates_that_differ_in_generated_keys_and_volatile_columns() -> None:
    seen = changes(refund(1, created_at=10), refund(2, created_at=20))
    first = seen.take(Inserted("refunds"))
    second = seen.take(Inserted("refunds"))
    assert [first, second] == [refund(1, created_at=10), refund(2, created_at=20)]


def test_take_raises_when_candidates_differ_in_more() -> None:
    seen = changes(refund(1, amount=10), refund(2, amount=20))
    with pytest.raises(AssertionError) as caught:
        seen.take(Inserted("refunds", booking_id=1042))
    assert str(caught.value) == (
        '2 changes are Inserted("refunds", booking_id=1042): name what tells them apart\n'
        '    Inserted("refunds", id=1, booking_id=1042, amount=10)\n'
        '    Inserted("refunds", id=2, booking_id=1042, amount=20)'
    )
    assert len(seen.unaccounted()) == 2
    assert seen.take(Inserted("refunds", amount=20)) == refund(2, amount=20)


def test_take_of_a_deleted_row() -> None:
    seen = changes(delete("bookings", **BOOKING), delete("bookings", **{**BOOKING, "id": 7, "guest": "Ada"}))
    with pytest.raises(AssertionError, match="2 changes are"):
        seen.take(Deleted("bookings"))
    assert seen.take(Deleted("bookings", 7)).before["guest"] == "Ada"  # type: ignore[union-attr, index]


def test_take_of_a_schema_change() -> None:
    other = SchemaDelta("dropped", "table", "rooms")
    seen = changes(DROPPED, other)
    with pytest.raises(AssertionError, match="2 changes are"):
        seen.take(SchemaChange("dropped"))
    assert seen.take(SchemaChange(name="rooms")) is other
    assert seen.unaccounted_schema() == [DROPPED]


def test_take_links_same_within_its_expectation() -> None:
    seen = changes(line(1, refund_id=2), line(3, refund_id=3))
    assert seen.take(Inserted("refund_lines", id=Same("x"), refund_id=Same("x"))) == line(3, refund_id=3)


def test_take_wants_an_expectation() -> None:
    with pytest.raises(TypeError, match="'refunds' is no Inserted, Updated, Deleted or SchemaChange"):
        changes().take("refunds")  # type: ignore[arg-type]


def test_t11_an_ignored_table_is_accounted_for_and_out_of_the_comparison() -> None:
    seen = changes(log("a"), log("b", 2), refund())
    seen.ignore("audit_log")
    assert seen.unaccounted() == [refund()]
    assert len(seen) == 1
    assert seen == [Inserted("refunds")]
    assert seen.unaccounted() == []


def test_several_tables_can_be_ignored_and_ignoring_none_is_fine() -> None:
    seen = changes(log("a"), insert("notes", author="a", body="b"), refund())
    seen.ignore("audit_log", "notes")
    seen.ignore()
    assert seen.unaccounted() == [refund()]


def test_t09_a_change_of_an_unrelated_table_stays_unaccounted() -> None:
    stray = insert("notes", author="agent", body="oops")
    seen = changes(refund(), stray)
    seen.take(Inserted("refunds"))
    assert seen.unaccounted() == [stray]


def test_unaccounted_schema_holds_only_changes_of_the_schema() -> None:
    seen = changes(refund(), DROPPED)
    assert seen.unaccounted_schema() == [DROPPED]
    assert seen == [Inserted("refunds"), SchemaChange("dropped", "table", "bookings")]
    assert seen.unaccounted_schema() == []


def test_everything_is_never_taken_away() -> None:
    seen = changes(refund(), log("a"))
    seen.take(Inserted("refunds"))
    seen.ignore("audit_log")
    assert seen.everything() == [refund(), log("a")]
