"""A campaign's `judge.jsonl`: what its judge answered, so that all its processes ask each thing once."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pytest_thinkingbox.records.lock import exclusive
from pytest_thinkingbox.records.model import shallow
from pytest_thinkingbox.records.redact import Redactor
from pytest_thinkingbox.records.schema import BrokenRecords, parse_ruling
from pytest_thinkingbox.records.wire import dump
from pytest_thinkingbox.state.rulings import Ruling


class RulingStore:
    """Rulings by a key of what was asked of whom. Any number of processes may use the file at once.

    The first ruling of a key stays: two processes that asked the same at the same time go on with one answer.
    """

    def __init__(self, path: Path, *, redactor: Redactor) -> None:
        self._path = path
        self._redactor = redactor
        self._known: dict[str, Ruling] = {}
        self._read = 0  # bytes

    def find(self, key: str) -> Ruling | None:
        """The ruling, marked as cached; None when there is none yet. Raises BrokenRecords."""
        if key not in self._known and self._path.exists():
            self._catch_up()
        return self._known.get(key)

    def keep(self, key: str, ruling: Ruling, *, database_url: str | None = None) -> Ruling:
        """Store it unless another process was first, and return the one that counts.

        The password of `database_url`, which may be in what was asked, is not stored.
        """
        redactor = self._redactor.knowing(database_url)
        line = dump({"key": key, **shallow(ruling)}, redactor=redactor).encode("ascii") + b"\n"
        with self._path.open("a+b", buffering=0) as file, exclusive(file):
            self._catch_up()
            if key in self._known:
                return self._known[key]
            size = file.seek(0, os.SEEK_END)
            if size > self._read:  # half a line of a process that was killed
                file.truncate(self._read)
            while line:
                line = line[file.write(line) :]
            self._catch_up()
        return ruling

    def _catch_up(self) -> None:
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                try:
                    key, ruling = parse_ruling(line.decode("ascii"))
                except ValueError as error:
                    raise BrokenRecords(f"{self._path}: at byte {self._read}: {error}") from None
                self._known.setdefault(key, replace(ruling, cached=True))
                self._read += len(line)
