"""The environment that all tasks of the library share."""

from datetime import UTC, datetime
from pathlib import Path

from example_suites.training.library.cases import ROWS
from example_suites.training.library.schema import metadata
from example_suites.training.library.tools import TOOLS
from pytest_thinkingbox import Database, Environment, Server

library = Environment(
    name="library",
    database=Database(schema=metadata, seed=ROWS.fill),
    servers=[Server.functions(TOOLS)],
    instructions=Path(__file__).with_name("policy.md"),
    now=datetime(2026, 5, 12, 9, 0, tzinfo=UTC),
    mail=False,
)
