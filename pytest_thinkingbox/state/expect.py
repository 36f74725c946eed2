"""What a checker expects: changes of rows and of the schema, and mails. Every repr is code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pytest_thinkingbox.state.code import call_code, literal
from pytest_thinkingbox.state.values import Same, can_match, is_data

__all__ = ["ANY_KEY", "Deleted", "Expectation", "Inserted", "Mail", "Same", "SchemaChange", "Updated"]

Action = Literal["created", "dropped", "altered"]


class _AnyKey:
    """The key of a `Deleted` that names none."""


ANY_KEY = _AnyKey()


class Inserted:
    """A new row. Columns that are not named are free."""

    __slots__ = ("columns", "table")

    def __init__(self, table: str, /, **columns: Any) -> None:
        self.table = _name("Inserted", "table", table)
        self.columns = _one_sided("Inserted", columns)

    def __repr__(self) -> str:
        return call_code("Inserted", [self.table], _codes(self.columns))


class Updated:
    """A changed row: every column that changed must be named, as `column=new` or `column=(old, new)`.

    `key` is the primary key's value, a tuple in key order for a composite one. A named column that did not
    change is compared as well.
    """

    __slots__ = ("columns", "key", "table")

    def __init__(self, table: str, key: Any, /, **columns: Any) -> None:
        self.table = _name("Updated", "table", table)
        self.key = _key("Updated", key)
        if not columns:
            raise TypeError(f"Updated({table!r}, {key!r}): name the columns that changed")
        for column, value in columns.items():
            if isinstance(value, tuple) and len(value) != 2:
                raise TypeError(
                    f"Updated: {column}={value!r}: a tuple means (old, new); an array is written as a list"
                )
            for part in value if isinstance(value, tuple) else (value,):
                _comparable("Updated", column, part)
        self.columns: Mapping[str, Any] = columns

    def __repr__(self) -> str:
        return call_code("Updated", [self.table, self.key], _codes(self.columns))


class Deleted:
    """A row that is gone. Columns that are not named are free.

    A table without a primary key has no `key` to name; elsewhere leaving it out means any row.
    """

    __slots__ = ("columns", "key", "table")

    def __init__(self, table: str, key: Any = ANY_KEY, /, **columns: Any) -> None:
        self.table = _name("Deleted", "table", table)
        self.key = key if key is ANY_KEY else _key("Deleted", key)
        self.columns = _one_sided("Deleted", columns)

    def __repr__(self) -> str:
        positional = [self.table] if self.key is ANY_KEY else [self.table, self.key]
        return call_code("Deleted", positional, _codes(self.columns))


class SchemaChange:
    """A change of the schema, as in `SchemaChange("dropped", "table", "bookings")`; a part left out is free.

    `type` is "table", "index", "view", "trigger", "sequence"... as the backend calls it.
    """

    __slots__ = ("action", "name", "type")

    def __init__(self, action: Action | None = None, type: str | None = None, name: Any = None) -> None:
        if action is not None and action not in get_args(Action):
            raise TypeError(f"SchemaChange: action={action!r} must be one of {', '.join(get_args(Action))}")
        self.action = action
        self.type = None if type is None else _name("SchemaChange", "type", type)
        self.name = _text("SchemaChange", "name", name)

    def named(self) -> dict[str, Any]:
        """The parts that are compared."""
        parts = {"action": self.action, "type": self.type, "name": self.name}
        return {part: value for part, value in parts.items() if value is not None}

    def __repr__(self) -> str:
        named = self.named()
        if len(named) == 3:
            return call_code("SchemaChange", named.values(), {})
        return call_code("SchemaChange", [], _codes(named))


class Mail:
    """A mail that was sent. `to` is one address or a list of all, in any order; what is not named is free."""

    __slots__ = ("sender", "subject", "text", "to")

    def __init__(self, *, to: Any = None, subject: Any = None, text: Any = None, sender: Any = None) -> None:
        if isinstance(to, list | tuple):
            self.to: Any = [_text("Mail", "to item", address) for address in to]
        else:
            self.to = _text("Mail", "to", to)
        self.subject = _text("Mail", "subject", subject)
        self.text = _text("Mail", "text", text)
        self.sender = _text("Mail", "sender", sender)

    def named(self) -> dict[str, Any]:
        """The fields that are compared."""
        fields = {"to": self.to, "subject": self.subject, "text": self.text, "sender": self.sender}
        return {field: value for field, value in fields.items() if value is not None}

    def __repr__(self) -> str:
        return call_code("Mail", [], _codes(self.named()))


Expectation = Inserted | Updated | Deleted | SchemaChange


def _codes(columns: Mapping[str, Any]) -> dict[str, str]:
    return {column: literal(value) for column, value in columns.items()}


def _name(where: str, argument: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(f"{where}: {argument}={value!r} must be a non-empty string")
    return value


def _text(where: str, argument: str, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if is_data(value):
        raise TypeError(f"{where}: {argument}={value!r} must be a string")
    return _comparable(where, argument, value)


def _key(where: str, key: Any) -> Any:
    if isinstance(key, list | dict):
        raise TypeError(f"{where}: key={key!r} must be a value, or a tuple of values for a composite key")
    for part in key if isinstance(key, tuple) else (key,):
        _comparable(where, "key", part)
    return key


def _one_sided(where: str, columns: Mapping[str, Any]) -> Mapping[str, Any]:
    for column, value in columns.items():
        if isinstance(value, tuple):
            raise TypeError(
                f"{where}: {column}={value!r}: a tuple means (old, new), which only Updated has; "
                "an array is written as a list"
            )
        _comparable(where, column, value)
    return columns


def _comparable(where: str, argument: str, value: Any) -> Any:
    if not can_match(value):
        raise TypeError(
            f"{where}: {argument}={value!r} can never equal a value of the database: give the value itself, "
            "or an object with an __eq__"
        )
    return value
