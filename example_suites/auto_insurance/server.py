"""The insurer's tools as an MCP server: in process, over standard input and output, or over HTTP.

`python -m example_suites.auto_insurance.server --database URL [--http PORT]` works on a database in SQLAlchemy's
form, or on `AUTO_INSURANCE_DATABASE_URL`; one without tables is filled first. Tools that need them read
`AUTO_INSURANCE_MAIL_HOST`, `AUTO_INSURANCE_MAIL_PORT` and `AUTO_INSURANCE_NOW` (ISO, with its UTC offset).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_suites.auto_insurance.desk import Desk
from example_suites.auto_insurance.reads import READS
from example_suites.auto_insurance.schema import audit_log, metadata
from example_suites.auto_insurance.seed import NOW, seed
from example_suites.auto_insurance.writes import WRITES
from example_suites.common.serving import Toolbox, run
from pytest_thinkingbox import ServerContext

if TYPE_CHECKING:
    from mcp.server import MCPServer

TOOLBOX = Toolbox(name="auto_insurance", reads=READS, writes=WRITES, desk=Desk, log=audit_log, now=NOW)


def build_server(context: ServerContext) -> MCPServer:
    """The server of one attempt."""
    return TOOLBOX.server(context)


if __name__ == "__main__":
    run(build_server, prefix="AUTO_INSURANCE", metadata=metadata, seed=seed)
