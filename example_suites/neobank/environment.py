"""The environment that all tasks of this suite share."""

from datetime import UTC
from pathlib import Path

from example_suites.neobank.schema import metadata
from example_suites.neobank.seed import NOW, seed
from example_suites.neobank.server import build_server
from pytest_thinkingbox import Database, Environment, Reply, Server

neobank = Environment(
    name="neobank",
    database=Database(
        schema=metadata,
        seed=seed,
        volatile=["*.created_at"],
        bookkeeping=["audit_log"],
    ),
    servers=[Server.in_process(build_server)],
    instructions=Path(__file__).with_name("policy.md"),
    http={"POST /v1/*": Reply(202, {"taken": True})},
    now=NOW.replace(tzinfo=UTC),
)
