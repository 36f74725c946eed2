"""A campaign's folder: `campaign.json`, and `attempts.jsonl` with one line per try."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from io import FileIO
from pathlib import Path

from filelock import FileLock

from pytest_thinkingbox.records.lock import exclusive
from pytest_thinkingbox.records.model import AttemptRecord, AttemptRow, CampaignInfo, Hashes, add_usage
from pytest_thinkingbox.records.redact import Redactor
from pytest_thinkingbox.records.schema import BrokenRecords, parse_info, parse_record
from pytest_thinkingbox.records.wire import dump, info_data, record_data
from pytest_thinkingbox.whole import whole

ROOT = ".thinkingbox"
LATEST = "latest"
_EXAMPLES = 5  # attempts named in an error


def new_campaign_id() -> str:
    """A campaign's name: UTC time, sortable, and six random hex digits."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


class CampaignFolder:
    """One campaign on disk. Any number of processes may append at once; each opens the folder for itself."""

    def __init__(self, path: Path, *, redactor: Redactor | None = None) -> None:
        self.path = path
        self._redactor = redactor or Redactor()

    @property
    def records_path(self) -> Path:
        return self.path / "attempts.jsonl"

    @property
    def info_path(self) -> Path:
        return self.path / "campaign.json"

    @classmethod
    def create(cls, path: Path, info: CampaignInfo, *, redactor: Redactor | None = None) -> CampaignFolder:
        """A new folder with its `campaign.json`. Raises BrokenRecords when there is a campaign already.

        Below `.thinkingbox` it also keeps git away and points `latest` at the new campaign.
        """
        folder = cls(path, redactor=redactor)
        if folder.info_path.exists():
            raise BrokenRecords(f"{folder.info_path}: there is a campaign already; name another folder")
        path.mkdir(parents=True, exist_ok=True)
        folder.write_info(info)
        folder.records_path.touch()
        if path.parent.name == ROOT:
            ignore = path.parent / ".gitignore"
            if not ignore.exists():
                _write(ignore, "*\n")
            _write(path.parent / LATEST, f"{path.name}\n")
        return folder

    @classmethod
    def open(cls, path: Path, *, redactor: Redactor | None = None) -> CampaignFolder:
        """An existing folder. Raises BrokenRecords when there is no campaign in it."""
        folder = cls(path, redactor=redactor)
        if not folder.info_path.is_file():
            raise BrokenRecords(f"{path}: no campaign here (campaign.json is missing)")
        return folder

    def database_path(self, task: str, attempt: int) -> Path:
        """Where the database of an attempt is kept, without the suffix that its backend chooses."""
        name = f"{sha256(task.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}-try{attempt}"
        return self.path / "databases" / name

    def kept_database(self, task: str, attempt: int) -> Path | None:
        """The database that was kept of an attempt."""
        path = self.database_path(task, attempt)
        return next(iter(path.parent.glob(f"{path.name}.*")), None)

    def write_info(self, info: CampaignInfo) -> None:
        """Replace `campaign.json`, whole or not at all."""
        _write(self.info_path, dump(info_data(info), redactor=self._redactor, indent=2) + "\n")

    def read_info(self) -> CampaignInfo:
        """`campaign.json`, read strictly. Raises BrokenRecords."""
        return parse_info(self.info_path.read_text(encoding="utf-8"), where=str(self.info_path))

    def note_seed(self, environment: str, seed: str) -> None:
        """Write down the hash of an environment's seed, once it is known. Any process of the campaign may."""
        with FileLock(self.path / "info.lock"):
            info = self.read_info()
            known = info.environments.get(environment, Hashes())
            if known.seed != seed:
                noted = {**info.environments, environment: replace(known, seed=seed)}
                self.write_info(replace(info, environments=noted))

    def append(self, record: AttemptRecord, *, database_url: str | None = None) -> None:
        """One line more, in the file when this returns: it survives the process, not a power failure.

        The password of `database_url`, which an agent may have been told, is not in it.
        """
        redactor = self._redactor.knowing(database_url)
        line = dump(record_data(record), redactor=redactor).encode("ascii") + b"\n"
        with self.records_path.open("a+b", buffering=0) as file, exclusive(file):
            _mend(file)
            while line:
                line = line[file.write(line) :]

    def read_records(self) -> Iterator[AttemptRecord]:
        """Every try, in the order of writing, one at a time.

        A last line that a killed process left half written is passed over. Anything else that is not a record
        raises BrokenRecords with file and line number.
        """
        return (record for _, record in self.read_entries())

    def read_entries(self, *, until: int | None = None) -> Iterator[tuple[int, AttemptRecord]]:
        """The same with the byte at which each line begins; only lines that begin before `until`."""
        offset = 0
        with self.records_path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                whole = line.endswith(b"\n")
                if (until is not None and offset >= until) or (not whole and not _is_json(line)):
                    return
                yield offset, _parse(line, where=f"{self.records_path}:{number}")
                offset += len(line)

    def read_at(self, offset: int) -> AttemptRecord:
        """The record whose line begins at this byte."""
        with self.records_path.open("rb") as file:
            file.seek(offset)
            return _parse(file.readline(), where=f"{self.records_path} at byte {offset}")

    def mend(self) -> int:
        """Cut off what a killed process left half written. The size of the file, in bytes."""
        with self.records_path.open("a+b", buffering=0) as file, exclusive(file):
            _mend(file)
            return file.seek(0, os.SEEK_END)

    def read_rows(self) -> list[AttemptRow]:
        """One row per attempt, as `rows_of` makes them."""
        return rows_of(self.read_records())

    def find_attempt(self, name: str) -> list[AttemptRecord]:
        """All tries of the attempt whose node id is `name` or ends with it, in the order of writing.

        Raises BrokenRecords when there is none, or more than one.
        """
        found: dict[str, list[AttemptRecord]] = {}
        known: dict[str, None] = {}
        for record in self.read_records():
            known[record.key] = None
            if _is_named(record.key, name):
                found.setdefault(record.key, []).append(record)
        if name in found:
            return found[name]
        if len(found) == 1:
            return next(iter(found.values()))
        what = "more than one attempt ends with" if found else "there is no attempt"
        examples = ", ".join(list(found or known)[:_EXAMPLES])
        raise BrokenRecords(f"{self.records_path}: {what} {name!r}. Known are: {examples or 'none at all'}")


def rows_of(records: Iterable[AttemptRecord]) -> list[AttemptRow]:
    """One row per attempt: the last final try decides, tokens and seconds of all its tries add up.

    Of a try that was graded again the last line counts. An attempt that was killed between two tries has no final
    one: it is invalid, as its last try was. Tasks come in the order of their first record, attempts by number.
    """
    attempts: dict[tuple[str, int], _Tries] = {}
    for record in records:
        attempts.setdefault((record.task, record.attempt), _Tries()).add(record)
    order = {task: index for index, task in enumerate(dict.fromkeys(task for task, _ in attempts))}
    rows = [tries.row() for tries in attempts.values()]
    return sorted(rows, key=lambda row: (order[row.task], row.attempt))


class _Tries:
    """What was read of one attempt so far."""

    __slots__ = ("_deciding", "_final", "_rows")

    def __init__(self) -> None:
        self._rows: dict[int, AttemptRow] = {}
        self._deciding = 0
        self._final = False

    def add(self, record: AttemptRecord) -> None:
        self._rows[record.try_number] = record.row()
        if record.final or not self._final:
            self._deciding = record.try_number
            self._final = record.final

    def row(self) -> AttemptRow:
        if len(self._rows) == 1:
            return self._rows[self._deciding]
        return replace(
            self._rows[self._deciding],
            usage=add_usage(one.usage for one in self._rows.values()),
            seconds=sum(one.seconds for one in self._rows.values()),
            tries=len(self._rows),
        )


def _is_named(key: str, name: str) -> bool:
    """Whether `name` is the id of an attempt or the end of one, from a file, class or function on."""
    return key == name or (bool(name) and key.endswith((f":{name}", f"/{name}")))


def find_campaign(path: Path) -> Path:
    """The campaign that `path` means: itself, or the latest one of a root such as `.thinkingbox`."""
    if (path / "campaign.json").is_file():
        return path
    pointer = path / LATEST
    if pointer.is_file():
        latest = path / pointer.read_text(encoding="utf-8").strip()
        if (latest / "campaign.json").is_file():
            return latest
    below = sorted(one.parent for one in path.glob("*/campaign.json"))
    if below:  # a folder of another name has no pointer; names of campaigns begin with their time
        return below[-1]
    raise BrokenRecords(
        f"{path}: neither a campaign nor a folder of campaigns (no campaign.json, no {LATEST})"
    )


def _parse(line: bytes, *, where: str) -> AttemptRecord:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BrokenRecords(f"{where}: not UTF-8: {error}") from None
    return parse_record(text, where=where)


def _mend(file: FileIO) -> None:
    """Make the file end with a whole line. What a killed process left half written is cut off."""
    size = file.seek(0, os.SEEK_END)
    if not size:
        return
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return
    start = size
    tail = b""
    while start and b"\n" not in tail:
        step = min(65536, start)
        start -= step
        file.seek(start)
        tail = file.read(step) + tail
    torn = tail[tail.rfind(b"\n") + 1 :]
    if _is_json(torn):
        file.write(b"\n")
    else:
        file.truncate(size - len(torn))


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _write(path: Path, text: str) -> None:
    with whole(path) as part:
        part.write_text(text, encoding="ascii", newline="\n")
