"""What the tests of this package share: an attempt's world around one environment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from pytest_thinkingbox.backends.sqlite.lease import is_outage
from pytest_thinkingbox.declare import Database, Environment, Limits, Server, Tools
from pytest_thinkingbox.tools.containers import Containers
from pytest_thinkingbox.tools.session import Toolbox, open_toolbox

T = TypeVar("T")

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def environment_of(servers: Sequence[Server], **options: Any) -> Environment:
    database = Database(schema=lambda connection: None)
    return Environment(name="shop", database=database, servers=servers, **options)


class World:
    """A SQLite file with a table `bookings(id primary key, guest)`, and toolboxes on it."""

    alive = True

    def __init__(self, folder: Path) -> None:
        self.file = folder / "attempt.db"
        self.url = f"sqlite:///{self.file}"
        self.engine = sa.create_engine(self.url)
        with self.engine.begin() as connection:
            connection.execute(sa.text("create table bookings (id integer primary key, guest text not null)"))

    @asynccontextmanager
    async def open(
        self,
        *servers: Server,
        tool_seconds: float = 30.0,
        attempt_id: str = "test_shop.py::test_order[try3]",
        task_tools: Tools | None = None,
        containers: Containers | None = None,
        **options: Any,
    ) -> AsyncIterator[Toolbox]:
        async with open_toolbox(
            environment_of(servers, **options),
            engine=self.engine,
            database_url=self.url,
            attempt_id=attempt_id,
            mail_host="127.0.0.1",
            mail_port=2525,
            seed=1,
            limits=Limits(tool_seconds=tool_seconds),
            tools=task_tools,
            containers=containers or Containers(),
            alive=lambda: self.alive,
            blames=lambda error, **_: is_outage(error, folder=self.file.parent),
        ) as toolbox:
            yield toolbox

    def run(self, use: Callable[[Toolbox], Coroutine[Any, Any, T]], *servers: Server, **options: Any) -> T:
        """Open the servers, use the toolbox, close everything, in a loop of its own."""

        async def play() -> T:
            async with self.open(*servers, **options) as toolbox:
                return await use(toolbox)

        return asyncio.run(play())

    def rows(self) -> list[tuple[Any, ...]]:
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text("select * from bookings order by id"))]
