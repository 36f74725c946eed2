"""The environment that all tasks of this suite share."""

from datetime import UTC
from pathlib import Path

from example_suites.auto_insurance.schema import metadata
from example_suites.auto_insurance.seed import NOW, seed
from example_suites.auto_insurance.server import build_server
from pytest_thinkingbox import Database, Environment, Server

auto_insurance = Environment(
    name="auto_insurance",
    database=Database(
        schema=metadata,
        seed=seed,
        volatile=["*.created_at", "*.updated_at"],
        bookkeeping=["audit_log"],
    ),
    servers=[Server.in_process(build_server)],
    instructions=Path(__file__).with_name("policy.md"),
    now=NOW.replace(tzinfo=UTC),
)
