"""The environment that all tasks of the workshop share."""

from datetime import UTC, datetime
from pathlib import Path

from example_suites.training.workshop.cases import ROWS
from example_suites.training.workshop.schema import metadata
from example_suites.training.workshop.tools import TOOLS
from pytest_thinkingbox import Database, Environment, Server

workshop = Environment(
    name="workshop",
    database=Database(schema=metadata, seed=ROWS.fill),
    servers=[Server.functions(TOOLS)],
    instructions=Path(__file__).with_name("policy.md"),
    now=datetime(2026, 4, 9, 8, 0, tzinfo=UTC),
    mail=False,
)
