"""The environment that all tasks of this suite share."""

from datetime import UTC
from pathlib import Path

from example_suites.consulting.schema import metadata
from example_suites.consulting.seed import NOW, seed
from example_suites.consulting.server import build_server
from pytest_thinkingbox import Database, Environment, Server

HERE = Path(__file__).parent

consulting = Environment(
    name="consulting",
    database=Database(
        schema=metadata,
        seed=seed,
        volatile=["*.created_at", "*.updated_at"],
        bookkeeping=["audit_log"],
    ),
    servers=[Server.in_process(build_server)],
    instructions=HERE / "policy.md",
    now=NOW.replace(tzinfo=UTC),
    workdir=HERE / "files",
)
