"""All sinks of one attempt, opened and closed together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.declare.effects import Routes
from pytest_thinkingbox.effects.http import HttpSink, open_http_sink
from pytest_thinkingbox.effects.mail import MailSink, open_mail_sink


@dataclass(frozen=True, slots=True, kw_only=True)
class Sinks:
    """Each is None where the environment does not have it."""

    mail: MailSink | None = None
    http: HttpSink | None = None


@asynccontextmanager
async def open_sinks(environment: Environment, routes: Routes | None) -> AsyncIterator[Sinks]:
    """Those that the environment has; `routes` are the replies of the HTTP sink, None without one."""
    if not environment.mail and routes is None:
        yield Sinks()
        return
    async with AsyncExitStack() as stack:
        yield Sinks(
            mail=await stack.enter_async_context(open_mail_sink()) if environment.mail else None,
            http=None if routes is None else await stack.enter_async_context(open_http_sink(routes)),
        )
