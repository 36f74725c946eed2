"""The environment that all tasks of the school share."""

from datetime import UTC, datetime
from pathlib import Path

from example_suites.training.school.cases import ROWS
from example_suites.training.school.schema import metadata
from example_suites.training.school.tools import TOOLS
from pytest_thinkingbox import Database, Environment, Server

school = Environment(
    name="school",
    database=Database(schema=metadata, seed=ROWS.fill),
    servers=[Server.functions(TOOLS)],
    instructions=Path(__file__).with_name("policy.md"),
    now=datetime(2026, 10, 6, 7, 30, tzinfo=UTC),
    mail=False,
)
