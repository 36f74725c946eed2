"""What a checker expects: changes of rows and of the schema, mails, requests and files. Every repr is code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from pytest_thinkingbox.state.code import call_code, literal
from pytest_thinkingbox.state.values import Same, can_match, is_data

__all__ = [
    "ANY_KEY",
    "Deleted",
    "Expectation",
    "File",
    "Inserted",
    "Mail",
    "Same",
    "SchemaChange",
    "Updated",
    "Webhook",
]

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
    """A mail that was sent. `to` is one address or a list of all, in any order; what is not named is free.

    `attachments` are the names of all attached files, in any order.
    """

    __slots__ = ("attachments", "html", "sender", "subject", "text", "to")

    def __init__(
        self,
        *,
        to: Any = None,
        subject: Any = None,
        text: Any = None,
        sender: Any = None,
        html: Any = None,
        attachments: Any = None,
    ) -> None:
        self.to = _texts("Mail", "to", to)
        self.subject = _text("Mail", "subject", subject)
        self.text = _text("Mail", "text", text)
        self.sender = _text("Mail", "sender", sender)
        self.html = _text("Mail", "html", html)
        if isinstance(attachments, str):
            raise TypeError(
                f"Mail: attachments={attachments!r} must be a list of names, for example [{attachments!r}]"
            )
        self.attachments = _texts("Mail", "attachments", attachments)

    def named(self) -> dict[str, Any]:
        """The fields that are compared."""
        return _named(self, ("to", "subject", "text", "sender", "html", "attachments"))

    def __repr__(self) -> str:
        return call_code("Mail", [], _codes(self.named()))


class Webhook:
    """A request that reached the HTTP sink; what is not named is free.

    `path` begins with "/" and has no query. `json` is the whole body as a JSON value, `form` all fields of a form,
    `text` the body as text. `query` names all parameters, a list where one came several times. `headers` names only
    those that matter, in any case.
    """

    __slots__ = ("form", "headers", "json", "method", "path", "query", "text")

    def __init__(
        self,
        *,
        method: Any = None,
        path: Any = None,
        json: Any = None,
        query: Any = None,
        form: Any = None,
        text: Any = None,
        headers: Mapping[str, Any] | None = None,
    ) -> None:
        self.method = _text("Webhook", "method", method)
        if isinstance(path, str) and not path.startswith("/"):
            raise TypeError(f"Webhook: path={path!r} must begin with '/'")
        if isinstance(path, str) and "?" in path:
            raise TypeError(f"Webhook: path={path!r} holds a query: name it as query={{...}}")
        self.path = _text("Webhook", "path", path)
        self.json = _comparable("Webhook", "json", json)
        self.query = _comparable("Webhook", "query", query)
        self.form = _comparable("Webhook", "form", form)
        self.text = _text("Webhook", "text", text)
        if headers is not None and not isinstance(headers, Mapping):
            raise TypeError(f"Webhook: headers={headers!r} must be a dictionary of names and values")
        for name, value in (headers or {}).items():
            _text("Webhook", f"headers[{name!r}]", value)
        self.headers = headers

    def named(self) -> dict[str, Any]:
        """The fields that are compared."""
        return _named(self, ("method", "path", "query", "json", "form", "text", "headers"))

    def __repr__(self) -> str:
        return call_code("Webhook", [], _codes(self.named()))


FileAction = Literal["added", "changed", "removed"]


class File:
    """A file of the working directory that was added, changed or removed; what is not named is free.

    `text` is its content at the end, `json` the same read as JSON.
    """

    __slots__ = ("change", "json", "path", "text")

    def __init__(
        self, path: Any = None, *, change: FileAction | None = None, text: Any = None, json: Any = None
    ) -> None:
        if isinstance(path, str) and (path.startswith("/") or "\\" in path):
            raise TypeError(f"File: path={path!r} must be relative to the working directory, with '/' in it")
        if change is not None and change not in get_args(FileAction):
            raise TypeError(f"File: change={change!r} must be one of {', '.join(get_args(FileAction))}")
        self.path = _text("File", "path", path)
        self.change = change
        self.text = _text("File", "text", text)
        self.json = _comparable("File", "json", json)

    def named(self) -> dict[str, Any]:
        """The fields that are compared."""
        return _named(self, ("path", "change", "text", "json"))

    def __repr__(self) -> str:
        named = self.named()
        positional = [named.pop("path")] if "path" in named else []
        return call_code("File", positional, _codes(named))


Expectation = Inserted | Updated | Deleted | SchemaChange


def _codes(columns: Mapping[str, Any]) -> dict[str, str]:
    return {column: literal(value) for column, value in columns.items()}


def _named(expectation: object, fields: Sequence[str]) -> dict[str, Any]:
    """Those that are not None, which stands for free."""
    values = {field: getattr(expectation, field) for field in fields}
    return {field: value for field, value in values.items() if value is not None}


def _texts(where: str, argument: str, value: Any) -> Any:
    """One text, or a list of them."""
    if isinstance(value, list | tuple):
        return [_text(where, f"{argument} item", one) for one in value]
    return _text(where, argument, value)


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
