"""The booking desk's tools as an MCP server: in process, over standard input and output, or over HTTP.

`python -m example_suites.hotel.server --database URL [--http PORT]`; without `--database` it reads `HOTEL_DATABASE_URL`
and, for tools that need them, `HOTEL_MAIL_HOST`, `HOTEL_MAIL_PORT` and `HOTEL_NOW` (ISO, with its UTC offset).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_suites.common.serving import Toolbox, run
from example_suites.hotel.desk import Desk
from example_suites.hotel.reads import READS
from example_suites.hotel.schema import audit_log, metadata
from example_suites.hotel.seed import NOW, seed
from example_suites.hotel.writes import WRITES
from pytest_thinkingbox import ServerContext

if TYPE_CHECKING:
    from mcp.server import MCPServer

TOOLBOX = Toolbox(
    name="hotel", reads=READS, writes=WRITES, desk=Desk, log=audit_log, now=NOW, hint=", or a room is taken"
)


def build_server(context: ServerContext) -> MCPServer:
    """The server of one attempt."""
    return TOOLBOX.server(context)


if __name__ == "__main__":
    run(build_server, prefix="HOTEL", metadata=metadata, seed=seed)
