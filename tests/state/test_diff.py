from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from hypothesis import given

from pytest_thinkingbox.state.apply import apply
from pytest_thinkingbox.state.diff import diff_tables, same
from pytest_thinkingbox.state.model import RowChange, StateDiff, TableInfo
from pytest_thinkingbox.state.values import canonical_row
from tests.state.strategies import COMPOSITE, KEYED, KEYLESS, PROPERTY, TABLES, dumps

Dump = dict[str, list[dict[str, Any]]]


def keyed(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[RowChange, ...]:
    return diff_tables({"keyed": before}, {"keyed": after}, {"keyed": KEYED})


def row(id: Any, a: Any = 0, b: Any = 0) -> dict[str, Any]:
    return {"id": id, "a": a, "b": b}


def test_a_row_under_the_same_key_is_an_update() -> None:
    assert keyed([row(1)], [row(1, a=5)]) == (RowChange("update", "keyed", (1,), row(1), row(1, a=5)),)


def test_new_and_vanished_keys_are_inserts_and_deletes() -> None:
    assert keyed([row(1)], [row(2)]) == (
        RowChange("delete", "keyed", (1,), row(1), None),
        RowChange("insert", "keyed", (2,), None, row(2)),
    )


def test_equal_values_of_other_types_are_no_change() -> None:
    assert keyed([row(1, a=25, b=True)], [row(1.0, a=25.0, b=1)]) == ()


def test_text_that_looks_like_a_number_is_a_change() -> None:
    assert len(keyed([row(1, a=1)], [row(1, a="1")])) == 1


def test_composite_keys_are_in_key_order() -> None:
    info = TableInfo(name="t", columns=("a", "b", "c"), key=("b", "a"))
    [change] = diff_tables({"t": [{"a": 1, "b": 2, "c": 0}]}, {"t": [{"a": 1, "b": 2, "c": 9}]}, {"t": info})
    assert change.key == (2, 1)


def test_a_table_without_a_key_is_a_multiset_and_never_updated() -> None:
    before = [{"a": 1, "b": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 2}]
    after = [{"a": 1, "b": 1}, {"a": 2, "b": 3}]
    assert diff_tables({"keyless": before}, {"keyless": after}, {"keyless": KEYLESS}) == (
        RowChange("delete", "keyless", None, {"a": 1, "b": 1}, None),
        RowChange("delete", "keyless", None, {"a": 2, "b": 2}, None),
        RowChange("insert", "keyless", None, None, {"a": 2, "b": 3}),
    )


def test_rows_whose_key_is_null_are_a_multiset() -> None:
    changes = keyed([row(None, a=1), row(None, a=2)], [row(None, a=2), row(None, a=3)])
    assert [(change.kind, change.before or change.after) for change in changes] == [
        ("delete", row(None, a=1)),
        ("insert", row(None, a=3)),
    ]


def test_a_column_that_is_not_there_counts_as_null() -> None:
    assert keyed([{"id": 1, "a": 0}], [row(1, b=None)]) == ()
    assert len(keyed([{"id": 1, "a": 0}], [row(1, b=5)])) == 1


def test_a_table_that_came_or_went_is_no_change_of_rows() -> None:
    assert diff_tables({"keyed": [row(1)]}, {}, {"keyed": KEYED}) == ()
    assert diff_tables({}, {"keyed": [row(1)]}, {"keyed": KEYED}) == ()


def test_the_order_is_that_of_tables_and_keys() -> None:
    after = {"composite": [{"x": 1, "y": 2, "a": 0}], "keyed": [row("b"), row(10), row(9), row("a")]}
    changes = diff_tables({"composite": [], "keyed": []}, after, {"keyed": KEYED, "composite": COMPOSITE})
    assert [change.key for change in changes] == [(9,), (10,), ("a",), ("b",), (1, 2)]


@PROPERTY
@given(dumps(), dumps())
def test_changes_applied_to_before_give_after(before: Dump, after: Dump) -> None:
    changes = diff_tables(before, after, TABLES)
    result = apply(before, StateDiff(rows=changes), TABLES)
    for table in TABLES:
        assert Counter(map(canonical_row, result[table])) == Counter(map(canonical_row, after[table]))


@PROPERTY
@given(dumps())
def test_a_state_does_not_differ_from_itself_in_another_order(dump: Dump) -> None:
    assert diff_tables(dump, {table: rows[::-1] for table, rows in dump.items()}, TABLES) == ()


@PROPERTY
@given(dumps(), dumps())
def test_the_order_of_rows_decides_nothing(before: Dump, after: Dump) -> None:
    forwards = diff_tables(before, after, TABLES)
    backwards = diff_tables(
        {table: rows[::-1] for table, rows in before.items()},
        {table: rows[::-1] for table, rows in after.items()},
        TABLES,
    )
    assert [(change.kind, change.table, change.key) for change in forwards] == [
        (change.kind, change.table, change.key) for change in backwards
    ]


def test_a_nan_that_came_back_from_a_record_is_the_same() -> None:
    def read() -> StateDiff:
        nan = {"id": 1, "x": float("nan"), "y": Decimal("NaN")}
        return StateDiff(rows=(RowChange("update", "t", (1,), nan, nan | {"id": 2}),))

    assert read() != read()
    assert same(read(), read())
    assert not same(read(), StateDiff())
    assert not same(read(), StateDiff(rows=(RowChange("insert", "t", (1,), None, {"id": 1}),)))
