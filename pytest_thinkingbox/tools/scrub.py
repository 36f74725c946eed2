"""What never reaches an agent: DSNs, passwords, paths of this machine, stacks."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

_STACKS = (
    # Python, inside a JSON string or a repr, and in lines of its own.
    re.compile(r"Traceback \(most recent call last\):(?:(?:\\+r)?\\+n(?:[ \t]|\\+t)(?:(?!\\+n)[^\n])*)+(?:\\+n)?"),
    re.compile(r"(?:[^\n]*Traceback \(most recent call last\):|^[ \t]*File \"[^\"\n]+\", line \d+[^\n]*)"
               r"\r?\n?(?:^[ \t]+[^\n]*\n?)*", re.MULTILINE),
    # JavaScript, Java, .NET: "    at refund (/srv/shop.js:3:9)", in lines of their own or in a JSON string.
    re.compile(r"(?:^|(?<=\\n))(?:[ \t]|\\+t)+at (?:[^\s(]+ ){0,3}?[^\s(\\]*"
               r"(?:\([^()\n]*(?::\d+|Native Method|Unknown Source|<anonymous>|native)\)|:\d+:\d+"
               r"|\([^()\n]*\) in [^\n]*:line \d+|(?<=\w)\([^()\n]*\)(?=\s*$))[ \t]*(?:\r?\n|\\+n|$)", re.MULTILINE),
    re.compile(r"^[ \t]*\.\.\. \d+ (?:more|common frames omitted)\s*?(?:\n|$)", re.MULTILINE),
    # Go, Ruby.
    re.compile(r"^goroutine \d+ \[[^\]\n]*\]:\n(?:^\S[^\n]*\n[ \t]+[^\n]*(?:\n|$))*", re.MULTILINE),
    re.compile(r"^[ \t]+from [^\s:]+:\d+:in [^\n]*(?:\n|$)", re.MULTILINE),
)  # fmt: skip
_DATABASES = "postgres(?:ql)?|mysql|mariadb|sqlite|mssql|sqlserver|oracle|rediss?|mongodb|amqps?"
_KEYWORDS = "host|hostaddr|port|user|dbname|password|sslmode|connect_timeout|application_name|options"
_CREDENTIALS = re.compile(
    rf"\b(?:jdbc:)?(?:{_DATABASES})(?:\+[\w.]+)?:/{{2,}}[^\s'\"`<>]+(?:'[^\s'\"/@]*@[^\s'\"`<>]+)?"
    r"|[A-Za-z][A-Za-z0-9+.-]*://[^\s/@:'\"]*:[^\s/@'\"]+@[^\s'\"]+"
    rf"|\b(?:{_KEYWORDS})=(?:'[^'\n]*'|\S+)(?:[ \t]+(?:{_KEYWORDS})=(?:'[^'\n]*'|\S+))+"
)
_PASSWORD = re.compile(
    r"\b(\w*(?:password|passwd|pwd))(\s?=\s?)(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s;,&'\"]+)", re.IGNORECASE
)
_ROOTS = (
    "home|root|Users|tmp|var|private|usr|opt|srv|mnt|proc|dev|run|etc|work|data|app|workspaces?|builds|media|nix|snap"
    "|lib|lib64|s?bin|Volumes|Library|Applications|System"
)
_SOURCES = "pyc?|pyi|[mc]?js|tsx?|jsx|rb|go|java|php|rs|cs|so|db|sqlite3?|sql|sh|env|ini|toml|ya?ml|lock|log"
_PART = r"[^\s/:;,'\"`<>()\[\]]+"
_PATH = re.compile(
    rf"(?<=(['\"]))/(?:{_ROOTS})/[^'\"\n]*(?=\1)"  # in quotes it may hold spaces
    rf"|(?<![\w/.])/(?:{_ROOTS})(?:/{_PART})+/?|(?<![\w/.])/(?:{_PART}/)*{_PART}\.(?:{_SOURCES})\b"
    rf"|(?<![\w/.])~[\w-]*(?:/{_PART})+|\bfile:/+[^\s:;,'\"`<>()\[\]]+|\b[A-Za-z]:\\[^\s:;,'\"`<>]+"
)
_SHORTEST_PASSWORD = 6  # a shorter one would be found in ordinary words


class Scrubber:
    """Takes the attempt's own secrets out of every text, and paths and stacks out of errors.

    Texts of successful calls keep their paths: they may be what the tool is about.
    """

    def __init__(self, database_url: str) -> None:
        parts = urlsplit(database_url)
        secrets = {database_url, database_url.replace("+" + parts.scheme.partition("+")[2], "", 1)}
        if parts.password:
            secrets |= {
                one for one in (parts.password, unquote(parts.password)) if len(one) >= _SHORTEST_PASSWORD
            }
        if parts.scheme.startswith("sqlite") and (file := unquote(parts.path.partition("?")[0])[1:]):
            folder, name = os.path.split(file)
            secrets |= {file, os.path.join(_real(folder), name)}
        self._secrets = sorted((one for one in secrets if len(one) > 1), key=len, reverse=True)

    def result(self, text: str) -> str:
        """The text of a call that succeeded."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, "[database]")
        return text

    def error(self, text: str) -> str:
        """The text of an error, on which nothing of this machine is of use to an agent."""
        text = self.result(text)
        for stack in _STACKS:
            text = stack.sub("", text)
        text = _PASSWORD.sub(r"\1\2[password]", _CREDENTIALS.sub("[database]", text))
        for place in _places():
            text = re.sub(re.escape(place) + r"[^\s:;,'\"`<>()\[\]]*", "[path]", text)
        return _PATH.sub("[path]", text).strip()


@lru_cache(maxsize=64)
def _real(folder: str) -> str:
    """All files of a campaign lie in one folder."""
    return os.path.realpath(folder)


def _places() -> list[str]:
    """Folders of this machine that a text may name, the longest first."""
    here = {str(Path.home()), str(Path.cwd()), sys.prefix, tempfile.gettempdir()}
    return sorted((one for one in here if one.count(os.sep) > 1), key=len, reverse=True)
