"""The environment that all tasks of the depot share."""

from datetime import UTC, datetime
from pathlib import Path

from example_suites.training.depot.cases import ROWS
from example_suites.training.depot.schema import metadata
from example_suites.training.depot.tools import TOOLS
from pytest_thinkingbox import Database, Environment, Server

depot = Environment(
    name="depot",
    database=Database(schema=metadata, seed=ROWS.fill),
    servers=[Server.functions(TOOLS)],
    instructions=Path(__file__).with_name("policy.md"),
    now=datetime(2026, 9, 14, 17, 0, tzinfo=UTC),
    mail=False,
)
