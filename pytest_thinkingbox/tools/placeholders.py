"""`{database_url}` and its like in the commands, variables and URLs of servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import make_url

from pytest_thinkingbox.errors import ConfigurationError

# Only {lower_case_names}: JSON, format strings and shell variables such as ${HOME} pass untouched.
_PLACEHOLDER = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}|(?<!\$)\{([a-z][a-z0-9_]*)\}")


def fill(
    text: str, values: Mapping[str, str | None], *, where: str, missing: Mapping[str, str] | None = None
) -> str:
    """`text` with its placeholders replaced; `{{name}}` stands for the literal text `{name}`.

    A value of None means that this environment has no such thing; `missing` says why where it is not the usual
    reason. Raises ConfigurationError, naming `where`, for those and for unknown names.
    """
    reasons = _MISSING if missing is None else {**_MISSING, **missing}

    def one(match: re.Match[str]) -> str:
        literal, name = match.groups()
        if literal is not None:
            return f"{{{literal}}}"
        if name not in values:
            known = ", ".join(f"{{{one}}}" for one in values)
            raise ConfigurationError(
                f"{where}: {{{name}}} in {text!r} is no placeholder; there are {known}. "
                f"Write {{{{{name}}}}} for the text {{{name}}}."
            )
        value = values[name]
        if value is None:
            raise ConfigurationError(f"{where}: {{{name}}} in {text!r} has no value: {reasons[name]}")
        return value

    return _PLACEHOLDER.sub(one, text)


def database_file(url: str) -> str | None:
    """The absolute path of the file that an SQLite URL names; None where the database is no file."""
    parts = make_url(url)
    if parts.get_backend_name() != "sqlite" or not parts.database or parts.database == ":memory:":
        return None
    return str(Path(parts.database).resolve())


_MISSING = {
    "database_path": "only a database of the sqlite backend is a file",
    "now": "give the Environment now=datetime(...)",
    "mail_host": "the Environment says mail=False",
    "mail_port": "the Environment says mail=False",
    "http_url": "give the Environment http=True, or replies by route",
    "workdir": "give the Environment workdir=True, or the path of a folder to start from",
}
