"""The customer desk's tools as an MCP server: in process, over standard input and output, or over HTTP.

`python -m example_suites.retail.server [--http PORT] [--database URL]` also reads `RETAIL_DATABASE_URL` (SQLAlchemy's
form) and, for tools that need them, `RETAIL_MAIL_HOST`, `RETAIL_MAIL_PORT` and `RETAIL_NOW` (ISO, with its UTC offset).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_suites.common.serving import Toolbox, run
from example_suites.retail.desk import Desk
from example_suites.retail.reads import READS
from example_suites.retail.schema import audit_log, metadata
from example_suites.retail.seed import NOW, seed
from example_suites.retail.writes import WRITES
from pytest_thinkingbox import ServerContext

if TYPE_CHECKING:
    from mcp.server import MCPServer

TOOLBOX = Toolbox(name="retail", reads=READS, writes=WRITES, desk=Desk, log=audit_log, now=NOW)


def build_server(context: ServerContext) -> MCPServer:
    """The server of one attempt."""
    return TOOLBOX.server(context)


if __name__ == "__main__":
    run(build_server, prefix="RETAIL", metadata=metadata, seed=seed)
