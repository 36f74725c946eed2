"""Runs the examples of a Markdown page: files are written, commands are run, output is compared.

* A block whose first line is a comment with a file name (`# test_desk.py`) is that file; python, toml and text.
* In a `console` block each line that begins with `$ ` is a command, what follows is its output. A line `...` stands
  for any lines, `...` in a line for any text.
* Blocks of other languages are for people only.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^# ([\w./-]+\.(?:py|toml|txt|md))\n")
WRITTEN = ("python", "toml", "text")
APART = "-p no:randomly -p no:cov -p no:asyncio -p no:xdist -p no:django -p no:rerunfailures"
"""What may be installed beside this package adds lines to the output; pages are about the package alone."""


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str

    @property
    def file(self) -> str | None:
        found = _FILE.match(self.text)
        return None if found is None or self.language not in WRITTEN else found[1]


@dataclass(frozen=True, slots=True)
class Command:
    words: list[str]
    expected: list[str]


def blocks_of(page: Path) -> list[Block]:
    return [Block(found[1], found[2]) for found in _FENCE.finditer(page.read_text("utf-8"))]


def commands_of(block: Block) -> list[Command]:
    commands: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append(Command(shlex.split(line[2:]), []))
        else:
            commands[-1].expected.append(line)
    return commands


def difference(expected: list[str], actual: list[str]) -> str | None:
    """Which expected line is missing, in order; None when all are there and nothing is between them unsaid."""
    at, anywhere = 0, False
    for line in expected:
        if line == "...":
            anywhere = True
            continue
        found = at
        while found < len(actual) and not _fits(line, actual[found]):
            found += 1
        if found == len(actual) or (found > at and not anywhere):
            return f"not in the output after line {at}: {line!r}"
        at, anywhere = found + 1, False
    rest = [line for line in actual[at:] if line]
    return f"the page does not show: {rest[0]!r}" if rest and not anywhere else None


def _fits(expected: str, actual: str) -> bool:
    pattern = ".*?".join(re.escape(part) for part in expected.rstrip().split("..."))
    return re.fullmatch(pattern, actual.rstrip()) is not None


class Reader:
    """Does in a folder of its own what a page says, from top to bottom."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pytester = pytester
        self._environ = monkeypatch
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("PYTEST_ADDOPTS", APART)
        monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)

    def write_files(self, page: Path) -> None:
        for block in blocks_of(page):
            self._write(block)

    def follow(self, page: Path, *, prove: bool = False) -> None:
        """With `prove=False` proofs, which take seconds, are left out."""
        for block in blocks_of(page):
            self._write(block)
            if block.language == "console":
                for command in commands_of(block):
                    if prove or command.words[:2] != ["thinkingbox", "prove"]:
                        self._try(page, command)

    def _write(self, block: Block) -> None:
        if block.file is not None:
            path = self._pytester.path / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")

    def attempts(self, *arguments: str) -> dict[str, int]:
        """What became of the tasks that are there now: pytest's counts."""
        return self._pytester.runpytest_inprocess(*arguments).parseoutcomes()

    def _try(self, page: Path, command: Command) -> None:
        program, *arguments = command.words
        if program == "pytest":
            result = self._pytester.runpytest_inprocess(*arguments)
        elif program == "thinkingbox":
            apart = APART.replace("-p no:xdist", "")  # a proof uses all cores
            self._environ.setenv("PYTEST_ADDOPTS", apart)
            result = self._pytester.run(sys.executable, "-m", "pytest_thinkingbox.cli", *arguments)
            self._environ.setenv("PYTEST_ADDOPTS", APART)
        else:
            raise AssertionError(f"{page.name}: {program!r}: a console block runs pytest or thinkingbox")
        missing = difference(command.expected, result.outlines)
        assert missing is None, f"{page.name}: $ {shlex.join(command.words)}: {missing}"
