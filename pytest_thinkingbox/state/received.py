"""What left an attempt besides rows and mails: requests over HTTP and files, as plain data; decoded, never trusted."""

from __future__ import annotations

from codecs import lookup
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import policy
from email.parser import BytesParser
from functools import cached_property
from typing import Any, Literal
from urllib.parse import parse_qsl

from pytest_thinkingbox.state.values import parse_json


@dataclass(frozen=True, kw_only=True)
class ReceivedRequest:
    """One HTTP request as it reached the sink, in order of arrival.

    `query` maps a parameter to its text, or to a list of texts where it came several times. Names of `headers` are
    lower-case. `data` is the body, content encodings undone. `status` is what it was answered, None where the
    connection was cut instead.
    """

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    data: bytes = b""
    status: int | None = 200

    @cached_property
    def text(self) -> str:
        """The body as text, in the character set that the request names."""
        return as_text(self.data, charset_of(self.headers.get("content-type", "")))

    @cached_property
    def json(self) -> Any:
        """The body as a JSON value, None when it is none."""
        return as_json(self.data)

    @cached_property
    def form(self) -> dict[str, Any]:
        """The fields of a form, like `query`; empty when the body is none. Of a file that it holds, the text."""
        kind = self.headers.get("content-type", "")
        if kind.lower().startswith("application/x-www-form-urlencoded"):
            return together(parse_qsl(self.text, keep_blank_values=True, errors="replace"))
        if kind.lower().startswith("multipart/form-data"):
            return together(_parts(kind, self.data))
        return {}


@dataclass(frozen=True, kw_only=True)
class FileChange:
    """One file of an attempt's working directory that was added, changed or removed.

    `path` is relative, with "/" between its parts. `size` in bytes and `digest` (SHA-256, hex) are of the file at
    the end, of the one that was there where it was removed. `data` is None for a removed file, and for one that is
    too large to be kept.
    """

    change: Literal["added", "changed", "removed"]
    path: str
    size: int
    digest: str
    data: bytes | None = None

    @cached_property
    def text(self) -> str:
        """The content as text, "" where it is not kept."""
        return as_text(self.data or b"", "utf-8")

    @cached_property
    def json(self) -> Any:
        """The content as a JSON value, None when it is none."""
        return as_json(self.data or b"")


_NO_CHARSETS = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined"})
"""Python's own, of which some take hours for a megabyte."""


def as_text(data: bytes, charset: str) -> str:
    try:
        if lookup(charset).name in _NO_CHARSETS:
            charset = "utf-8"
        return data.decode(charset, "replace")
    except (LookupError, UnicodeError, ValueError):  # a character set that does not exist, or none for text
        return data.decode("utf-8", "replace")


def as_json(data: bytes) -> Any:
    try:
        return parse_json(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def charset_of(content_type: str) -> str:
    for part in content_type.split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'") or "utf-8"
    return "utf-8"


def together(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Names to texts; a name that comes several times to a list of them."""
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _parts(content_type: str, data: bytes) -> list[tuple[str, str]]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode("ascii", "replace")
    try:
        message = BytesParser(policy=policy.HTTP).parsebytes(head + data)
        pairs = []
        for part in message.iter_parts():
            name = part.get_param("name", header="content-disposition")
            payload = part.get_payload(decode=True)
            content = payload if isinstance(payload, bytes) else b""
            pairs.append((str(name or ""), as_text(content, part.get_content_charset("utf-8"))))
        return pairs
    except Exception:  # noqa: BLE001 - the standard library's parser raises nearly anything on a malformed body
        return []
