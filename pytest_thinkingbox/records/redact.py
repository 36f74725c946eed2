"""Values that must never reach a file: API keys, passwords of database URLs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

MASK = "[hidden]"

_SHORTEST = 8
"""A shorter secret is an ordinary word ("test"): it is hidden only where it is the password of a URL."""


class Redactor:
    """Replaces secrets in every string of a JSON value.

    `secrets` are values to hide; of `urls` the password is hidden, as written and decoded.
    """

    def __init__(self, *, secrets: Iterable[str] = (), urls: Iterable[str] = ()) -> None:
        self._values = values = {one for one in secrets if one}
        for url in urls:
            password = urlsplit(url).password
            if password:
                values |= {password, unquote(password)}
        needles: dict[str, str] = {}
        for value in values:
            for form in (value, quote(value, safe=""), json.dumps(value)[1:-1]):
                if len(value) >= _SHORTEST:
                    needles[form] = MASK
                else:
                    needles[f":{form}@"] = f":{MASK}@"
        # A secret may hold another one: the longest goes first.
        self._needles = sorted(needles.items(), key=lambda item: (-len(item[0]), item[0]))
        self._in_json = [json.dumps(needle)[1:-1] for needle, _ in self._needles]

    def knowing(self, url: str | None) -> Redactor:
        """One that also hides the password of this URL, if it has one."""
        if url is None or not urlsplit(url).password:
            return self
        return Redactor(secrets=self._values, urls=[url])

    def in_json(self, line: str) -> bool:
        """Whether ASCII JSON may hold a secret in one of its strings: a quick look before the slow walk."""
        return any(needle in line for needle in self._in_json)

    def text(self, text: str) -> str:
        """`text` with every secret masked."""
        for needle, mask in self._needles:
            text = text.replace(needle, mask)
        return text

    def value(self, value: Any) -> Any:
        """A JSON value with every secret masked, in keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        return value
