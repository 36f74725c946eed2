from __future__ import annotations

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.state.claims import check_rules
from pytest_thinkingbox.state.model import Rules, StateDiff, TableInfo
from pytest_thinkingbox.state.rules import RuleBook
from tests.state.world import TABLES

SALES = TableInfo(name="sales.orders", columns=("id", "updated_at"), key=("id",))


def rules(*volatile: str, bookkeeping: tuple[str, ...] = ()) -> Rules:
    return Rules(tables={**TABLES, SALES.name: SALES}, volatile=volatile, bookkeeping=frozenset(bookkeeping))


def test_names_that_are_there_are_fine() -> None:
    check_rules(rules("*.updated_at", "bookings.*", "sales.*.id", "re*.amount", bookkeeping=("audit_log",)))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("*.changed_at", r"volatile='\*\.changed_at' matches no column"),
        ("booking.updated_at", r"matches no column \(did you mean 'bookings\.updated_at'"),
        ("bookings.updated", r"matches no column"),
        ("bookings.up.ated_at", r"matches no column"),
        ("*.UPDATED_AT", r"matches no column"),
    ],
)
def test_a_volatile_pattern_that_matches_no_column_is_a_configuration_error(
    pattern: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_rules(rules("*.updated_at", pattern))


def test_a_bookkeeping_table_that_is_not_there_is_a_configuration_error() -> None:
    with pytest.raises(
        ConfigurationError, match=r"bookkeeping='audit' is no table \(did you mean 'audit_log'\?\)"
    ):
        check_rules(rules(bookkeeping=("audit",)))


@pytest.mark.parametrize(
    ("pattern", "table", "column", "volatile"),
    [
        ("*.updated_at", "bookings", "updated_at", True),
        ("*.updated_at", "sales.orders", "updated_at", True),
        ("*.updated_at", "bookings", "not_updated_at", False),
        ("bookings.*", "bookings", "guest", True),
        ("bookings.*", "sales.orders", "id", False),
        ("*.*_at", "refunds", "created_at", True),
        ("bookings.total", "bookings", "total", True),
        ("bookings.tota.", "bookings", "total", False),
    ],
)
def test_a_star_stands_for_anything_on_either_side(
    pattern: str, table: str, column: str, volatile: bool
) -> None:
    assert RuleBook(StateDiff(), rules(pattern)).is_volatile(table, column) is volatile
