"""What `changes` compares and how, sentence by sentence. What it accounts for is in test_accounting.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from unittest.mock import ANY

import pytest

from pytest_thinkingbox.errors import UnknownName
from pytest_thinkingbox.state.expect import Deleted, Inserted, Same, SchemaChange, Updated
from pytest_thinkingbox.state.model import RowChange, SchemaDelta
from tests.state.world import BOOKING, DROPPED, booking, changes, delete, insert, line, log, refund, update


def test_no_changes_equal_an_empty_list() -> None:
    assert changes() == []
    assert changes(refund()) != []
    assert changes() != [Inserted("refunds")]


def test_the_order_is_free() -> None:
    assert changes(refund(), booking(status="x")) == [
        Updated("bookings", 1042, status="x"),
        Inserted("refunds"),
    ]


def test_every_expectation_is_met_by_one_change_only() -> None:
    assert changes(refund()) != [Inserted("refunds"), Inserted("refunds")]
    assert changes(refund(1), refund(2)) != [Inserted("refunds")]
    assert changes(refund(1), refund(2)) == [Inserted("refunds"), Inserted("refunds")]


def test_the_matching_is_a_maximum_and_not_the_first_that_comes() -> None:
    assert changes(refund(amount=1), refund(2, amount=2)) == [
        Inserted("refunds"),
        Inserted("refunds", amount=1),
    ]


def test_the_list_may_be_on_either_side() -> None:
    assert [Inserted("refunds")] == changes(refund())
    assert [Inserted("refunds", amount=5)] != changes(refund())


def test_an_inserted_row_leaves_columns_free_that_are_not_named() -> None:
    assert changes(refund(amount=100)) == [Inserted("refunds", booking_id=1042)]
    assert changes(refund(amount=100)) != [Inserted("refunds", booking_id=1042, amount=99)]


def test_a_deleted_row_leaves_columns_free_that_are_not_named() -> None:
    gone = delete("bookings", **BOOKING)
    assert changes(gone) == [Deleted("bookings", 1042)]
    assert changes(gone) == [Deleted("bookings", 1042, guest="Dana")]
    assert changes(gone) == [Deleted("bookings", guest="Dana")]
    assert changes(gone) != [Deleted("bookings", 1042, guest="Ada")]
    assert changes(gone) != [Deleted("bookings", 1043)]


def test_an_updated_row_names_every_column_that_changed() -> None:
    both = booking(status="cancelled", total=0)
    assert changes(both) == [Updated("bookings", 1042, status="cancelled", total=0)]
    assert changes(both) != [Updated("bookings", 1042, status="cancelled")]


def test_a_named_column_that_did_not_change_is_compared_too() -> None:
    assert changes(booking(status="x")) == [Updated("bookings", 1042, status="x", guest="Dana")]
    assert changes(booking(status="x")) != [Updated("bookings", 1042, status="x", guest="Ada")]


def test_a_tuple_value_means_old_and_new() -> None:
    one = booking(status="cancelled")
    assert changes(one) == [Updated("bookings", 1042, status=("confirmed", "cancelled"))]
    assert changes(one) != [Updated("bookings", 1042, status=("pending", "cancelled"))]
    assert changes(one) != [Updated("bookings", 1042, status=("confirmed", "pending"))]
    assert changes(one) != [Updated("bookings", 1042, status=("cancelled", "confirmed"))]


def test_array_values_are_lists() -> None:
    one = booking(room=["suite", "spa"])
    assert changes(one) == [Updated("bookings", 1042, room=["suite", "spa"])]
    assert changes(one) == [Updated("bookings", 1042, room=("suite", ["suite", "spa"]))]
    assert changes(one) != [Updated("bookings", 1042, room=["spa", "suite"])]


def test_an_array_that_the_driver_returns_as_a_tuple_equals_a_list() -> None:
    assert changes(booking(room=("suite", "spa"))) == [Updated("bookings", 1042, room=["suite", "spa"])]


def test_composite_keys_are_tuples_in_key_order() -> None:
    one = update("rates", {"hotel": "H1", "room": "suite", "price": 100}, price=90)
    assert changes(one) == [Updated("rates", ("H1", "suite"), price=90)]
    assert changes(one) != [Updated("rates", ("suite", "H1"), price=90)]
    assert changes(one) == [Updated("rates", ("H1", ANY), price=90)]
    assert changes(one) == [Updated("rates", ANY, price=90)]


def test_the_key_of_an_update_is_compared() -> None:
    assert changes(booking(status="x")) != [Updated("bookings", 7, status="x")]
    assert changes(booking(status="x")) == [Updated("bookings", 1042.0, status="x")]


def test_kind_and_table_are_compared() -> None:
    assert changes(refund()) != [Inserted("refund_lines")]
    assert changes(refund()) != [Deleted("refunds", 1)]
    assert changes(refund()) != [Updated("refunds", 1, amount=100)]
    assert changes(refund()) != [SchemaChange()]


def test_a_table_without_a_key_has_deletes_and_inserts_without_a_key() -> None:
    gone, come = delete("notes", author="a", body="x"), insert("notes", author="a", body="y")
    assert changes(gone, come) == [Inserted("notes", body="y"), Deleted("notes", body="x")]
    assert changes(gone, come) != [Inserted("notes", body="y"), Deleted("notes", body="z")]


def test_a_row_in_which_only_volatile_columns_changed_is_no_change() -> None:
    seen = changes(booking(updated_at=2))
    assert seen == []
    assert len(seen) == 0
    assert seen.unaccounted() == []


def test_a_volatile_column_is_compared_only_when_named() -> None:
    one = booking(status="x", updated_at=2)
    assert changes(one) == [Updated("bookings", 1042, status="x")]
    assert changes(one) == [Updated("bookings", 1042, status="x", updated_at=(1, 2))]
    assert changes(one) != [Updated("bookings", 1042, status="x", updated_at=3)]
    assert changes(refund(created_at=5)) != [Inserted("refunds", created_at=6)]


def test_a_volatile_pattern_covers_only_the_tables_it_names() -> None:
    row = {"id": 1, "what": "x"}
    assert changes(update("audit_log", row, what="y")) == [Updated("audit_log", 1, what="y")]


def test_bookkeeping_tables_are_invisible() -> None:
    seen = changes(log("read"), refund(), bookkeeping=("audit_log",))
    assert len(seen) == 1
    assert seen == [Inserted("refunds")]
    assert changes(log("read"), bookkeeping=("audit_log",)).unaccounted() == []


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (Decimal("25.00"), 25),
        (25, 25.0),
        (25.0, Decimal("25.00")),
        (1, True),
        (None, None),
        (float("nan"), float("nan")),
        ({"a": {"b": 1, "c": 2}, "d": 3}, {"d": 3, "a": {"c": 2, "b": 1}}),
        (datetime(2024, 5, 1, 12, tzinfo=UTC), datetime(2024, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))),
        (datetime(2024, 5, 1, 12, tzinfo=UTC), "2024-05-01T14:00+02:00"),
        (0.1 + 0.2, pytest.approx(0.3)),
        ("anything", ANY),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_t10_values_compare_as_the_database_means_them(actual: Any, expected: Any) -> None:
    assert changes(booking(room=actual)) == [Updated("bookings", 1042, room=expected)]
    assert changes(refund(amount=actual)) == [Inserted("refunds", amount=expected)]


@pytest.mark.parametrize(
    ("actual", "expected"),
    [(1, "1"), ("1", 1), (None, 0), (None, ""), (0, None), (None, float("nan")), (25, 25.001)],
    ids=repr,
)
def test_t10_different_values_compare_different(actual: Any, expected: Any) -> None:
    assert changes(refund(amount=actual)) != [Inserted("refunds", amount=expected)]


def test_an_eq_that_raises_is_raised() -> None:
    class Broken:
        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError

        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(ZeroDivisionError):
        changes(refund()).__eq__([Inserted("refunds", amount=Broken())])


def test_same_links_values_over_one_comparison() -> None:
    expected = [Inserted("refunds", id=Same("r")), Inserted("refund_lines", refund_id=Same("r"))]
    assert changes(refund(7), line(1, refund_id=7)) == expected
    assert changes(refund(7), line(1, refund_id=8)) != expected


def test_same_finds_the_one_way_to_link_in_which_all_rows_are_met() -> None:
    expected = [
        Inserted("refunds", id=Same("a")),
        Inserted("refunds", id=Same("b")),
        Inserted("refund_lines", refund_id=Same("a"), amount=1),
        Inserted("refund_lines", refund_id=Same("b"), amount=2),
    ]
    assert changes(refund(1), refund(2), line(1, 2, amount=1), line(2, 1, amount=2)) == expected
    assert changes(refund(1), refund(2), line(1, 2, amount=1), line(2, 2, amount=2)) != expected


def test_different_names_may_stand_for_the_same_value() -> None:
    assert changes(line(1, 7), line(2, 7)) == [
        Inserted("refund_lines", refund_id=Same("a")),
        Inserted("refund_lines", refund_id=Same("b")),
    ]


def test_same_is_free_again_in_the_next_comparison() -> None:
    seen = changes(refund(7))
    assert seen == [Inserted("refunds", id=Same("r"))]
    assert changes(refund(8)) == [Inserted("refunds", id=Same("r"))]


def test_same_may_stand_for_keys_and_for_old_values() -> None:
    assert changes(booking(status="x", total=1042)) == [
        Updated("bookings", Same("id"), status=(Same("old"), "x"), total=Same("id"))
    ]
    assert changes(booking(status="x"), refund(booking_id=1042)) == [
        Updated("bookings", Same("b"), status="x"),
        Inserted("refunds", booking_id=Same("b")),
    ]


def test_auto_increment_ids_decide_nothing_unless_named() -> None:
    for id in (1, 99):
        assert changes(refund(id)) == [Inserted("refunds", booking_id=1042, amount=100)]
    assert changes(refund(99)) != [Inserted("refunds", id=1)]


def test_a_schema_change_is_expected_by_the_parts_that_are_named() -> None:
    for expected in (
        SchemaChange(),
        SchemaChange("dropped"),
        SchemaChange(type="table"),
        SchemaChange("dropped", "table", "bookings"),
        SchemaChange(name=ANY),
    ):
        assert changes(DROPPED) == [expected]
    assert changes(DROPPED) != [SchemaChange("created", "table", "bookings")]
    assert changes(DROPPED) != [SchemaChange("dropped", "index", "bookings")]
    assert changes(DROPPED) != [SchemaChange("dropped", "table", "rooms")]


def test_schema_changes_of_bookkeeping_and_ignored_tables_stay_visible() -> None:
    dropped = SchemaDelta("dropped", "table", "audit_log")
    seen = changes(log("x"), dropped, bookkeeping=("audit_log",))
    assert list(seen) == [dropped]
    seen = changes(log("x"), dropped)
    seen.ignore("audit_log")
    assert list(seen) == [dropped]


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (Inserted("refundz"), r"'refundz' is no table \(did you mean 'refunds'"),
        (Inserted("qqq"), r"'qqq' is no table \(there are: bookings, refunds"),
        (Inserted("refunds", ammount=1), r"refunds has no column 'ammount' \(did you mean 'amount'\?\)"),
        (Updated("bookings", 1042, state="x"), r"bookings has no column 'state'"),
        (Deleted("bookings", 1, state="x"), r"bookings has no column 'state'"),
        (Updated("bookings", (1, 2), status="x"), r"the key of bookings is \(id\), so it takes 1 value, not \(1, 2\)"),
        (Updated("rates", "H1", price=1), r'the key of rates is \(hotel, room\), so it takes 2 values, not "H1"'),
        (Deleted("notes", 1), r'notes has no primary key: write Deleted\("notes", ...\) without a key'),
        (Updated("notes", 1, body="x"), r"notes has no primary key: write Deleted.* and Inserted"),
    ],
    ids=lambda value: "" if isinstance(value, str) else repr(value),
)  # fmt: skip
def test_t11_a_name_that_is_not_there_is_the_checkers_mistake(expected: Any, message: str) -> None:
    for seen in (changes(), changes(refund())):
        with pytest.raises(UnknownName, match=message):
            seen.__eq__([expected])
        with pytest.raises(UnknownName, match=message):
            seen.__ne__([Inserted("refunds"), expected])
        with pytest.raises(UnknownName, match=message):
            seen.take(expected)
        with pytest.raises(UnknownName, match=message):
            seen.__contains__(expected)
        assert seen.unaccounted() == list(seen)
    assert not issubclass(UnknownName, AssertionError)


def test_t11_ignoring_a_table_that_is_not_there_is_the_checkers_mistake() -> None:
    with pytest.raises(UnknownName, match="'audit_logs' is no table"):
        changes().ignore("audit_logs")
    with pytest.raises(TypeError, match="ignore: 3 must be the name of a table"):
        changes().ignore(3)  # type: ignore[arg-type]


def test_tables_and_columns_that_the_agent_made_have_names() -> None:
    created = RowChange("insert", "secret", None, None, {"x": 1})
    added = RowChange("update", "bookings", (1042,), BOOKING, {**BOOKING, "vip": True})
    assert changes(created, added) == [Inserted("secret", x=1), Updated("bookings", 1042, vip=True)]


@pytest.mark.parametrize(
    "other", [set(), "refunds", None, {}, 3, ANY, iter([])], ids=lambda v: type(v).__name__
)
def test_only_a_list_can_be_compared(other: Any) -> None:
    with pytest.raises(
        TypeError, match="changes are compared with a list of Inserted, Updated, Deleted or Schema"
    ):
        changes().__eq__(other)
    with pytest.raises(TypeError, match="changes are compared with a list"):
        changes().__ne__(other)


@pytest.mark.parametrize(
    "item", [3, "refunds", {"table": "refunds"}, refund(), ANY], ids=lambda v: type(v).__name__
)
def test_only_expectations_can_be_in_the_list(item: Any) -> None:
    with pytest.raises(
        TypeError, match="is no Inserted, Updated, Deleted or SchemaChange, so it can be no change"
    ):
        changes(refund()).__eq__([item])


def test_it_is_a_sequence_of_changes() -> None:
    first, second = refund(1), refund(2)
    seen = changes(first, second, DROPPED)
    assert len(seen) == 3
    assert bool(seen)
    assert not changes()
    assert list(seen) == [first, second, DROPPED]
    assert seen[0] is first
    assert seen[-1] is DROPPED
    assert seen[:2] == [first, second]
    assert [one.table for one in seen if isinstance(one, RowChange)] == ["refunds", "refunds"]
    assert Inserted("refunds", id=2) in seen
    assert Inserted("refunds", id=3) not in seen
    assert seen.count(Inserted("refunds")) == 2
    assert seen.index(Inserted("refunds", id=2)) == 1
    with pytest.raises(ValueError, match="no change is"):
        seen.index(Inserted("refunds", id=3))


def test_its_repr_shows_the_changes() -> None:
    assert repr(changes(refund(7), booking(status="x"))) == (
        '[Inserted("refunds", id=7, booking_id=1042, amount=100), '
        'Updated("bookings", 1042, status=("confirmed", "x"))]'
    )


def test_it_cannot_be_hashed() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(changes())
