"""The bank's tools as an MCP server: in process, over standard input and output, or over HTTP.

`python -m example_suites.neobank.server --database URL [--http PORT]`; without `--database` it reads
`NEOBANK_DATABASE_URL` and, for tools that need them, `NEOBANK_MAIL_HOST`, `NEOBANK_MAIL_PORT`, `NEOBANK_HTTP_URL` (the
card processor) and `NEOBANK_NOW` (ISO, with its UTC offset).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_suites.common.serving import Toolbox, run
from example_suites.neobank.desk import Bank
from example_suites.neobank.reads import READS
from example_suites.neobank.schema import audit_log, metadata
from example_suites.neobank.seed import NOW, seed
from example_suites.neobank.writes import WRITES
from pytest_thinkingbox import ServerContext

if TYPE_CHECKING:
    from mcp.server import MCPServer

TOOLBOX = Toolbox(name="neobank", reads=READS, writes=WRITES, desk=Bank, log=audit_log, now=NOW)


def build_server(context: ServerContext) -> MCPServer:
    """The server of one attempt."""
    return TOOLBOX.server(context)


if __name__ == "__main__":
    run(build_server, prefix="NEOBANK", metadata=metadata, seed=seed)
