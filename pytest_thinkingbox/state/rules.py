"""Which changes a checker sees, which columns of them count, and which names there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property, lru_cache

from pytest_thinkingbox.errors import ConfigurationError, UnknownName
from pytest_thinkingbox.state.code import literal
from pytest_thinkingbox.state.diff import changed_columns
from pytest_thinkingbox.state.expect import ANY_KEY, Deleted, Inserted, SchemaChange, Updated
from pytest_thinkingbox.state.model import RowChange, Rules, StateDiff
from pytest_thinkingbox.state.values import Same, is_data


def check_rules(rules: Rules) -> None:
    """Raises ConfigurationError for a volatile pattern or a bookkeeping table that names nothing there is."""
    for pattern in rules.volatile:
        matching = _pattern(pattern)
        names = [f"{table}.{column}" for table, info in rules.tables.items() for column in info.columns]
        if not any(matching.fullmatch(name) for name in names):
            raise ConfigurationError(f"volatile={pattern!r} matches no column{_hint(pattern, names)}")
    for table in sorted(rules.bookkeeping):
        if table not in rules.tables:
            raise ConfigurationError(f"bookkeeping={table!r} is no table{_hint(table, rules.tables)}")


class RuleBook:
    """The rules of an environment, applied to one difference."""

    def __init__(self, diff: StateDiff, rules: Rules) -> None:
        self.rules = rules
        self._diff = diff
        self._changed: dict[int, tuple[str, ...]] = {}

    def is_volatile(self, table: str, column: str) -> bool:
        return _is_volatile(self.rules.volatile, table, column)

    def is_generated(self, table: str, column: str) -> bool:
        info = self.rules.tables.get(table)
        return info is not None and column in info.generated

    def changed(self, change: RowChange) -> tuple[str, ...]:
        """The columns of an update that changed and count."""
        known = self._changed.get(id(change))  # the difference keeps its changes alive
        if known is None:
            columns = changed_columns(change.before or {}, change.after or {})
            known = tuple(column for column in columns if not self.is_volatile(change.table, column))
            self._changed[id(change)] = known
        return known

    def visible(self, change: RowChange) -> bool:
        if change.table in self.rules.bookkeeping:
            return False
        return change.kind != "update" or bool(self.changed(change))

    @cached_property
    def columns(self) -> Mapping[str, frozenset[str]]:
        """Every table and column there is: those of seed + start, and those that the changes brought."""
        names: dict[str, set[str]] = {name: set(info.columns) for name, info in self.rules.tables.items()}
        for change in self._diff.rows:
            known = names.setdefault(change.table, set())
            known.update(change.before or (), change.after or ())
        return {table: frozenset(columns) for table, columns in names.items()}

    def check_table(self, table: str) -> None:
        if table not in self.rules.tables and table not in self.columns:
            raise UnknownName(f"{table!r} is no table{_hint(table, self.columns)}")

    def check(self, expectation: Inserted | Updated | Deleted | SchemaChange) -> None:
        """Raises UnknownName when the expectation names what is not there."""
        if isinstance(expectation, SchemaChange):
            return
        try:
            self.check_table(expectation.table)
            for column in expectation.columns:
                self._check_column(expectation.table, column)
            if not isinstance(expectation, Inserted):
                self._check_key(expectation)
        except UnknownName as error:
            raise UnknownName(f"{expectation!r}: {error}") from None

    def _check_column(self, table: str, column: str) -> None:
        info = self.rules.tables.get(table)
        if (info is None or column not in info.columns) and column not in self.columns[table]:
            hint = _hint(column, sorted(self.columns[table]))
            raise UnknownName(f"{table} has no column {column!r}{hint}")

    def _check_key(self, expectation: Updated | Deleted) -> None:
        info = self.rules.tables.get(expectation.table)
        if info is None or expectation.key is ANY_KEY:
            return
        if not info.key:
            instead = f"Deleted({literal(info.name)}, ...) without a key"
            if isinstance(expectation, Updated):
                instead = f"Deleted({literal(info.name)}, ...) and Inserted({literal(info.name)}, ...)"
            raise UnknownName(f"{info.name} has no primary key: write {instead}")
        key = expectation.key
        if not isinstance(key, tuple) and len(info.key) > 1 and (isinstance(key, Same) or not is_data(key)):
            return
        parts = len(key) if isinstance(key, tuple) else 1
        if parts != len(info.key):
            raise UnknownName(
                f"the key of {info.name} is ({', '.join(info.key)}), so it takes {len(info.key)} "
                f"value{'s' * (len(info.key) > 1)}, not {literal(key)}"
            )


@lru_cache(maxsize=10_000)  # the same columns for all attempts
def _is_volatile(patterns: tuple[str, ...], table: str, column: str) -> bool:
    return any(_pattern(pattern).fullmatch(f"{table}.{column}") for pattern in patterns)


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*"), re.DOTALL)


def _hint(name: str, names: Iterable[str]) -> str:
    names = list(names)
    close = get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f" (did you mean {' or '.join(map(repr, close))}?)"
    return (
        f" (there are: {', '.join(names[:40])}{', ...' * (len(names) > 40)})" if names else " (there is none)"
    )
