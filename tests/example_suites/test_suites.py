"""What every example suite is made of: its rows, its policy, its knowledge base and its tools, apart from any agent."""

from __future__ import annotations

import asyncio
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import Tool
from sqlalchemy import create_engine
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.schema import CreateTable

from example_suites.common.knowledge import search
from example_suites.common.policy import sections_of
from example_suites.common.serving import Toolbox
from pytest_thinkingbox import ServerContext
from tests.example_suites.suites import FOLDER, ROOT, SUITES, tasks_of

pytestmark = pytest.mark.parametrize("suite", SUITES)


def part(suite: str, module: str) -> ModuleType:
    return import_module(f"example_suites.{suite}.{module}")


def toolbox(suite: str) -> Toolbox:
    found = part(suite, "server").TOOLBOX
    assert isinstance(found, Toolbox)
    return found


def fill(suite: str, path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        part(suite, "schema").metadata.create_all(connection)
        part(suite, "seed").seed(connection)
    engine.dispose()


def content(path: Path) -> list[str]:
    """What is in a database, without an order: SQLAlchemy makes the indexes of a table in any."""
    with closing(sqlite3.connect(path)) as connection:
        return sorted(connection.iterdump())


async def tools_at(target: Any) -> list[Tool]:
    async with Client(target) as client:
        return (await client.list_tools()).tools


def tools_in_process(suite: str) -> list[Tool]:
    context = ServerContext(
        engine=create_engine("sqlite://"), database_url="", attempt_id="", now=None, mail_host="", mail_port=0
    )
    return asyncio.run(tools_at(toolbox(suite).server(context)))


# ---------------------------------------- rows


def test_two_seeds_hold_the_same(suite: str, tmp_path: Path) -> None:
    fill(suite, tmp_path / "one.db")
    fill(suite, tmp_path / "two.db")
    assert content(tmp_path / "one.db") == content(tmp_path / "two.db")
    with closing(sqlite3.connect(tmp_path / "one.db")) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_there_are_some_hundred_rows_in_ten_to_twenty_tables(suite: str) -> None:
    rows = part(suite, "seed").rows()
    assert set(rows) == set(part(suite, "schema").metadata.tables)
    assert [name for name, table in rows.items() if not table] == []
    assert 10 <= len(rows) <= 20
    assert 200 <= sum(map(len, rows.values())) <= 999


def test_no_row_was_created_after_the_fixed_clock(suite: str) -> None:
    now = part(suite, "seed").NOW
    for table in part(suite, "seed").rows().values():
        moments = [row["created_at"] for row in table if "created_at" in row]
        assert all(isinstance(one, datetime) and one <= now for one in moments)


@pytest.mark.parametrize("dialect", [postgresql.dialect, mysql.dialect], ids=["postgresql", "mysql"])
def test_the_schema_compiles_for_servers(suite: str, dialect: Any) -> None:
    for table in part(suite, "schema").metadata.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=dialect()))


# ---------------------------------------- texts


def test_the_policy_refers_only_to_sections_that_exist(suite: str) -> None:
    sections = sections_of(FOLDER / suite / "policy.md")
    assert len(sections) >= 15
    text = " ".join(sections.values())
    assert set(re.findall(r"\b([1-9]\.\d)\b(?!\d)", text)) <= set(sections)


def test_the_policy_names_only_tools_and_values_that_exist(suite: str) -> None:
    known = {function.__name__ for function in (*toolbox(suite).reads, *toolbox(suite).writes)}
    for literal in vars(part(suite, "schema")).values():
        known.update(value for value in get_args(literal) if isinstance(value, str))
    for table in part(suite, "schema").metadata.sorted_tables:
        known.update((table.name, *table.columns.keys()))
    text = (FOLDER / suite / "policy.md").read_text(encoding="utf-8").replace("\n", " ")
    assert set(re.findall(r"`([a-z_]+)`", text)) - known == set()


def test_an_article_is_found_by_its_title(suite: str, tmp_path: Path) -> None:
    fill(suite, tmp_path / "desk.db")
    engine = create_engine(f"sqlite:///{tmp_path / 'desk.db'}")
    titles = [row["title"] for row in part(suite, "seed").rows()["articles"]]
    assert len(titles) >= 8
    with engine.connect() as connection:
        assert [search(connection, title)[0]["title"] for title in titles] == titles
    engine.dispose()


def test_the_page_on_the_suites_counts_right(suite: str) -> None:
    tables = len(part(suite, "schema").metadata.tables)
    tools = len(toolbox(suite).reads) + len(toolbox(suite).writes)
    counts = f" | {tables} | {tools} | {len(tasks_of(suite))} |"
    page = (ROOT / "docs" / "example-suites.md").read_text(encoding="utf-8")
    [row] = [line for line in page.splitlines() if line.startswith(f"| `{suite}` |")]
    assert row.endswith(counts)


# ---------------------------------------- tools


def test_every_tool_is_described_hides_the_desk_and_says_whether_it_only_reads(suite: str) -> None:
    tools = tools_in_process(suite)
    reads, writes = toolbox(suite).reads, toolbox(suite).writes
    assert {one.name: one.annotations and one.annotations.read_only_hint for one in tools} == {
        one.__name__: one in reads for one in (*reads, *writes)
    }
    assert 12 <= len(tools) <= 25
    for tool in tools:
        assert tool.description
        assert "desk" not in tool.input_schema["properties"]


def test_collecting_finds_its_tasks_and_imports_no_mcp(suite: str) -> None:
    """Collecting is what every editor does all the time."""
    code = (
        "import sys, pytest; "
        f"status = pytest.main(['--co', '-q', '-p', 'no:cacheprovider', 'example_suites/{suite}']);"
        "print('mcp' in sys.modules, int(status))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert len([line for line in lines if "::" in line]) == len(tasks_of(suite)), done.stdout + done.stderr
    assert lines[-1] == "False 0"


@pytest.mark.slow
def test_the_program_speaks_over_stdio_and_fills_an_empty_database(suite: str, tmp_path: Path) -> None:
    args = ["-m", f"example_suites.{suite}.server", "--database", f"sqlite:///{tmp_path / 'desk.db'}"]
    program = StdioServerParameters(command=sys.executable, args=args, cwd=ROOT)
    assert asyncio.run(tools_at(program)) == tools_in_process(suite)
    fill(suite, tmp_path / "filled.db")
    assert content(tmp_path / "desk.db") == content(tmp_path / "filled.db")


@pytest.mark.slow
def test_the_program_speaks_over_http(suite: str, tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with running(suite, port, tmp_path / "desk.db"):
        assert asyncio.run(tools_at(f"http://127.0.0.1:{port}/mcp")) == tools_in_process(suite)


@contextmanager
def running(suite: str, port: int, database: Path) -> Iterator[None]:
    """The server as a program, from when it answers until the end of the block."""
    program = [sys.executable, "-m", f"example_suites.{suite}.server"]
    options = ["--http", str(port), "--database", f"sqlite:///{database}"]
    with subprocess.Popen([*program, *options], cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(300):
                with closing(socket.socket()) as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                assert process.poll() is None, process.communicate()[1]
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.communicate()
