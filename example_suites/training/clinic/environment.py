"""The environment that all tasks of the surgery share."""

from datetime import UTC, datetime
from pathlib import Path

from example_suites.training.clinic.cases import ROWS
from example_suites.training.clinic.schema import metadata
from example_suites.training.clinic.tools import TOOLS
from pytest_thinkingbox import Database, Environment, Server

clinic = Environment(
    name="clinic",
    database=Database(schema=metadata, seed=ROWS.fill),
    servers=[Server.functions(TOOLS)],
    instructions=Path(__file__).with_name("policy.md"),
    now=datetime(2026, 6, 10, 8, 30, tzinfo=UTC),
    mail=False,
)
