from __future__ import annotations

import pytest

from pytest_thinkingbox.state.apply import apply
from pytest_thinkingbox.state.model import RowChange, StateDiff
from tests.state.strategies import KEYED, TABLES


def test_rows_that_stay_keep_their_place_and_new_ones_come_last() -> None:
    rows = [{"id": 3, "a": 0, "b": 0}, {"id": 1, "a": 0, "b": 0}, {"id": 2, "a": 0, "b": 0}]
    changes = (
        RowChange("delete", "keyed", (3,), rows[0], None),
        RowChange("update", "keyed", (1,), rows[1], {"id": 1, "a": 7, "b": 0}),
        RowChange("insert", "keyed", (0,), None, {"id": 0, "a": 0, "b": 0}),
    )
    after = apply({"keyed": rows}, StateDiff(rows=changes), {"keyed": KEYED})
    assert [(row["id"], row["a"]) for row in after["keyed"]] == [(1, 7), (2, 0), (0, 0)]


def test_nothing_that_was_given_is_changed() -> None:
    before = {"keyed": [{"id": 1, "a": 0, "b": 0}], "keyless": [{"a": 1, "b": 1}]}
    change = RowChange("delete", "keyed", (1,), before["keyed"][0], None)
    assert apply(before, StateDiff(rows=(change,)), TABLES) == {"keyed": [], "keyless": [{"a": 1, "b": 1}]}
    assert before["keyed"] == [{"id": 1, "a": 0, "b": 0}]


def test_a_row_that_is_not_there_is_an_error() -> None:
    change = RowChange("delete", "keyed", (1,), {"id": 1, "a": 5, "b": 0}, None)
    with pytest.raises(ValueError, match=r"the row to delete is not in keyed: \{'id': 1, 'a': 5"):
        apply({"keyed": [{"id": 1, "a": 0, "b": 0}]}, StateDiff(rows=(change,)), TABLES)
