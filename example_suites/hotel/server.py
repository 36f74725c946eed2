"""The booking desk's tools as an MCP server: in process, or over standard input and output.

`python -m example_suites.hotel.server` reads `HOTEL_DATABASE_URL` (SQLAlchemy's form) and, for tools that need
them, `HOTEL_MAIL_HOST`, `HOTEL_MAIL_PORT` and `HOTEL_NOW` (ISO, with its UTC offset).
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine
from sqlalchemy.exc import DataError, IntegrityError

from example_suites.hotel.desk import Desk, Refused
from example_suites.hotel.reads import READS
from example_suites.hotel.schema import audit_log
from example_suites.hotel.seed import NOW
from example_suites.hotel.writes import WRITES
from pytest_thinkingbox import ServerContext

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.tools import Tool

ToolFunction = Callable[..., dict[str, Any]]


def build_server(context: ServerContext) -> MCPServer:
    """The server of one attempt: all tools, bound to that attempt's database, clock and mail server."""
    from mcp.server import MCPServer  # takes most of a second: only for those who run it

    tools = [
        definition.model_copy(update={"fn": _bound(function, context)})
        for function, definition in _definitions()
    ]
    return MCPServer("hotel", tools=tools, log_level="WARNING")


@cache
def _definitions() -> list[tuple[ToolFunction, Tool]]:
    """Name, description and schema of each tool: made once, the same for every attempt."""
    from mcp.server.mcpserver.tools import Tool
    from mcp_types import ToolAnnotations

    return [
        (
            function,
            Tool.from_function(_visible(function), annotations=ToolAnnotations(read_only_hint=read_only)),
        )
        for functions, read_only in ((READS, True), (WRITES, False))
        for function in functions
    ]


def _visible(function: ToolFunction) -> ToolFunction:
    """A function with the name, the description and the parameters that the agent sees: all but the desk."""

    def tool(**arguments: Any) -> dict[str, Any]:
        raise NotImplementedError

    signature = inspect.signature(function, eval_str=True)
    shown = [one for one in signature.parameters.values() if one.name != "desk"]
    tool.__name__, tool.__doc__ = function.__name__, function.__doc__
    tool.__annotations__ = {one.name: one.annotation for one in shown} | {
        "return": signature.return_annotation
    }
    vars(tool)["__signature__"] = signature.replace(parameters=shown)
    return tool


def _bound(function: ToolFunction, context: ServerContext) -> ToolFunction:
    """The tool in a transaction of its own, with a line in the log and refusals in words."""
    from mcp.server.mcpserver.exceptions import ToolError

    now = NOW if context.now is None else _naive_utc(context.now)

    def log(db: Any, arguments: dict[str, Any], *, refused: bool) -> None:
        as_json = json.loads(json.dumps(arguments, default=str))
        db.execute(
            audit_log.insert().values(
                tool=function.__name__, arguments=as_json, refused=refused, created_at=now
            )
        )

    def tool(**arguments: Any) -> dict[str, Any]:
        try:
            with context.engine.begin() as db:
                log(db, arguments, refused=False)
                desk = Desk(db=db, now=now, mail_host=context.mail_host, mail_port=context.mail_port)
                return function(desk, **arguments)
        except Refused as refusal:
            reason = str(refusal)
        except IntegrityError:
            reason = "The database refused this: a value breaks one of its constraints, or a room is taken."
        except (DataError, UnicodeError):
            reason = (
                "The database refused this: a value is too long, too large, or not text that can be stored."
            )
        with context.engine.begin() as db:
            log(db, {}, refused=True)
        raise ToolError(reason)

    return tool


def _naive_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def main() -> None:
    url = os.environ.get("HOTEL_DATABASE_URL")
    if not url:
        raise SystemExit("set HOTEL_DATABASE_URL, for example sqlite:////tmp/hotel.db")
    now = os.environ.get("HOTEL_NOW")
    build_server(
        ServerContext(
            engine=create_engine(url),
            database_url=url,
            attempt_id=os.environ.get("HOTEL_ATTEMPT_ID", "stdio"),
            now=datetime.fromisoformat(now) if now else None,
            mail_host=os.environ.get("HOTEL_MAIL_HOST", "127.0.0.1"),
            mail_port=int(os.environ.get("HOTEL_MAIL_PORT", "25")),
        )
    ).run("stdio")


if __name__ == "__main__":
    main()
