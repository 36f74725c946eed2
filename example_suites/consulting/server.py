"""The back office's tools as an MCP server: in process, over standard input and output, or over HTTP.

`python -m example_suites.consulting.server [--http PORT]` works on the database that `--database` or
`CONSULTING_DATABASE_URL` names (SQLAlchemy's form; one without tables is filled first) and, for tools that need them,
with `CONSULTING_WORKDIR`, `CONSULTING_MAIL_HOST`, `CONSULTING_MAIL_PORT` and `CONSULTING_NOW` (ISO, with UTC offset).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_suites.common.serving import Toolbox, run
from example_suites.consulting.billing import BILLING
from example_suites.consulting.desk import Desk
from example_suites.consulting.reads import READS
from example_suites.consulting.schema import audit_log, metadata
from example_suites.consulting.seed import NOW, seed
from example_suites.consulting.writes import WRITES
from pytest_thinkingbox import ServerContext

if TYPE_CHECKING:
    from mcp.server import MCPServer

TOOLBOX = Toolbox(
    name="consulting",
    reads=READS,
    writes=(*WRITES, *BILLING),
    desk=Desk,
    log=audit_log,
    now=NOW,
)


def build_server(context: ServerContext) -> MCPServer:
    """The server of one attempt."""
    return TOOLBOX.server(context)


if __name__ == "__main__":
    run(build_server, prefix="CONSULTING", metadata=metadata, seed=seed)
