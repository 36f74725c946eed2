"""Tools of a suite as an MCP server: in process, over standard input and output, or over HTTP."""

from __future__ import annotations

import argparse
import inspect
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, MetaData, Table, create_engine
from sqlalchemy import inspect as look_into
from sqlalchemy.exc import DataError, IntegrityError

from example_suites.common.desk import Desk, Refused
from pytest_thinkingbox import ServerContext

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.tools import Tool

ToolFunction = Callable[..., dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Toolbox:
    """The tools of a suite. `desk` makes what each of them gets as its first argument, which the agent does not see.

    Every call leaves a line in `log`, a table with the columns tool, arguments, refused and created_at. `now` is the
    clock, naive UTC, where the context has none. `hint` says what else a broken constraint may mean.
    """

    name: str
    reads: Sequence[ToolFunction]
    writes: Sequence[ToolFunction]
    desk: Callable[..., Desk]
    log: Table
    now: datetime
    hint: str = ""

    def server(self, context: ServerContext) -> MCPServer:
        """The server of one attempt: all tools, bound to that attempt's database, clock and mail server."""
        from mcp.server import MCPServer  # takes most of a second: only for those who run it

        tools = [
            definition.model_copy(update={"fn": self._bound(function, context)})
            for function, definition in self._definitions
        ]
        return MCPServer(self.name, tools=tools, log_level="WARNING")

    @cached_property
    def _definitions(self) -> list[tuple[ToolFunction, Tool]]:
        """Name, description and schema of each tool: made once, the same for every attempt."""
        from mcp.server.mcpserver.tools import Tool
        from mcp_types import ToolAnnotations

        return [
            (
                function,
                Tool.from_function(_visible(function), annotations=ToolAnnotations(read_only_hint=read_only)),
            )
            for functions, read_only in ((self.reads, True), (self.writes, False))
            for function in functions
        ]

    def _bound(self, function: ToolFunction, context: ServerContext) -> ToolFunction:
        """The tool in a transaction of its own, with a line in the log and refusals in words."""
        from mcp.server.mcpserver.exceptions import ToolError

        now = self.now if context.now is None else _naive_utc(context.now)

        def log(db: Connection, arguments: dict[str, Any], *, refused: bool) -> None:
            as_json = json.loads(json.dumps(arguments, default=str))
            db.execute(
                self.log.insert().values(
                    tool=function.__name__, arguments=as_json, refused=refused, created_at=now
                )
            )

        def tool(**arguments: Any) -> dict[str, Any]:
            try:
                with context.engine.begin() as db:
                    log(db, arguments, refused=False)
                    desk = self.desk(
                        db=db,
                        now=now,
                        mail_host=context.mail_host,
                        mail_port=context.mail_port,
                        http_url=context.http_url,
                        workdir=context.workdir,
                    )
                    return function(desk, **arguments)
            except Refused as refusal:
                reason = str(refusal)
            except IntegrityError:
                reason = f"The database refused this: a value breaks one of its constraints{self.hint}."
            except (DataError, UnicodeError):
                reason = "The database refused this: a value is too long, too large, or not text that can be stored."
            with context.engine.begin() as db:
                log(db, {}, refused=True)
            raise ToolError(reason)

        return tool


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


def _naive_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def run(
    build_server: Callable[[ServerContext], MCPServer],
    *,
    prefix: str,
    metadata: MetaData | None = None,
    seed: Callable[[Connection], None] | None = None,
) -> None:
    """The server as a program; options or `PREFIX_DATABASE_URL` and so on say where it works.

    Speaks over standard input and output, or with `--http PORT` over streamable HTTP at `/mcp` on the loopback
    interface. A database without tables gets those of `metadata`, and the rows of `seed`.
    """
    variable = f"{prefix}_DATABASE_URL"
    parser = argparse.ArgumentParser(
        prog=f"python -m example_suites.{prefix.lower()}.server",
        description=f"The tools of {prefix.lower()} as an MCP server.",
    )
    parser.add_argument(
        "--database",
        metavar="URL",
        default=os.environ.get(variable),
        help=f"SQLAlchemy's form; {variable} unless given; one without tables is filled first",
    )
    parser.add_argument("--http", metavar="PORT", type=int, help="serve http://127.0.0.1:PORT/mcp")
    given = parser.parse_args()
    if not given.database:
        raise SystemExit(f"give --database or set {variable}, for example sqlite:////tmp/{prefix.lower()}.db")
    engine = create_engine(given.database)
    if metadata is not None and seed is not None and not look_into(engine).get_table_names():
        with engine.begin() as connection:
            metadata.create_all(connection)
            seed(connection)
    now = os.environ.get(f"{prefix}_NOW")
    workdir = os.environ.get(f"{prefix}_WORKDIR")
    server = build_server(
        ServerContext(
            engine=engine,
            database_url=given.database,
            attempt_id=os.environ.get(f"{prefix}_ATTEMPT_ID", "program"),
            now=datetime.fromisoformat(now) if now else None,
            mail_host=os.environ.get(f"{prefix}_MAIL_HOST", "127.0.0.1"),
            mail_port=int(os.environ.get(f"{prefix}_MAIL_PORT", "25")),
            http_url=os.environ.get(f"{prefix}_HTTP_URL", ""),
            workdir=Path(workdir) if workdir else None,
        )
    )
    if given.http is None:
        server.run("stdio")
    else:
        server.run("streamable-http", port=given.http)
