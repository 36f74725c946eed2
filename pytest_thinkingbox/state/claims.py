"""`changes`: what changed in the database, compared with what a checker expects."""

from __future__ import annotations

from typing import ClassVar

from pytest_thinkingbox.state.accounting import Accounted
from pytest_thinkingbox.state.describe import describe_change
from pytest_thinkingbox.state.expect import Deleted, Expectation, Inserted, SchemaChange, Updated
from pytest_thinkingbox.state.fits import Change, Difference, comparable, differences, fits
from pytest_thinkingbox.state.matching import Bindings
from pytest_thinkingbox.state.model import Row, RowChange, Rules, SchemaDelta, StateDiff
from pytest_thinkingbox.state.rules import RuleBook, check_rules
from pytest_thinkingbox.state.values import equal

__all__ = ["Change", "Changes", "check_rules"]


class Changes(Accounted[Change, Expectation]):
    """The net changes of rows and of the schema, without bookkeeping tables and purely volatile updates.

    A change of the schema is seen whatever the table, also of a bookkeeping or an ignored one.
    """

    noun: ClassVar[str] = "change"
    accepts: ClassVar[tuple[type, ...]] = (Inserted, Updated, Deleted, SchemaChange)

    __slots__ = ("_described", "book", "ignored")

    def __init__(self, diff: StateDiff, rules: Rules) -> None:
        self.book = RuleBook(diff, rules)
        rows = [change for change in diff.rows if self.book.visible(change)]
        self.ignored: dict[str, None] = {}
        self._described: dict[int, tuple[Change, str]] = {}
        super().__init__([*rows, *diff.schema])

    def ignore(self, *tables: str) -> None:
        """Accounts for all row changes of these tables; comparisons no longer see them.

        Raises UnknownName for a table that is not there.
        """
        for table in tables:
            if not isinstance(table, str):
                raise TypeError(f"ignore: {table!r} must be the name of a table")
            self.book.check_table(table)
        self.ignored.update(dict.fromkeys(tables))
        self._take(
            at
            for at, change in enumerate(self._items)
            if isinstance(change, RowChange) and change.table in tables
        )

    def unaccounted_schema(self) -> list[SchemaDelta]:
        """The changes of the schema that nobody accounted for."""
        return [change for change in self.unaccounted() if isinstance(change, SchemaDelta)]

    def check(self, expectation: Expectation) -> None:
        self.book.check(expectation)

    def fits(self, expectation: Expectation, item: Change) -> Bindings | None:
        return fits(expectation, item, self.book)

    def differences(self, expectation: Expectation, item: Change, bound: Bindings) -> list[Difference] | None:
        if not comparable(expectation, item):
            return None
        return differences(expectation, item, self.book, bound)

    def interchangeable(self, one: Change, other: Change) -> bool:
        if isinstance(one, SchemaDelta) or isinstance(other, SchemaDelta):
            return one == other
        return (one.kind, one.table) == (other.kind, other.table) and all(
            self._same_row(one.table, a, b) for a, b in ((one.before, other.before), (one.after, other.after))
        )

    def describe(self, item: Change) -> str:
        known = self._described.get(id(item))
        if known is None:  # pytest asks several times when a comparison fails
            known = self._described[id(item)] = item, describe_change(item, self.book)
        return known[1]

    def _same_row(self, table: str, one: Row | None, other: Row | None) -> bool:
        if one is None or other is None:
            return one is other
        return all(
            equal(one.get(column), other.get(column))
            for column in one.keys() | other.keys()
            if not self.book.is_generated(table, column) and not self.book.is_volatile(table, column)
        )
