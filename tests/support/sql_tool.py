"""An agent that has one tool, which executes whatever SQL it is given, on the database of its attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sqlalchemy import Connection

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.backends.base import Lease
from pytest_thinkingbox.declare import Database, Environment, Limits, Server
from pytest_thinkingbox.tools.containers import Containers
from pytest_thinkingbox.tools.session import open_toolbox


def sql(connection: Connection, statement: str) -> str:
    """Execute one statement, commit it, and say what came of it."""
    result = connection.exec_driver_sql(statement)
    return str([tuple(row) for row in result]) if result.returns_rows else "done"


def play(lease: Lease, statements: Sequence[str], *, seconds: float = 20.0) -> list[ToolOutput]:
    """What the tool answers, statement by statement. Raises InfrastructureDown where the toolbox does."""
    environment = Environment(
        name="sql", database=Database(schema=lambda _: None), servers=[Server.functions([sql])]
    )

    async def go() -> list[ToolOutput]:
        async with open_toolbox(
            environment,
            engine=lease.engine,
            database_url=lease.url,
            attempt_id="test.py::test_sql[try1]",
            mail_host="",
            mail_port=0,
            seed=1,
            limits=Limits(tool_seconds=seconds),
            containers=Containers(),
            alive=lease.alive,
            blames=lease.blames,
        ) as toolbox:
            return [await toolbox.call("sql", {"statement": statement}) for statement in statements]

    return asyncio.run(go())
