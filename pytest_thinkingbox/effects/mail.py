"""The mail sink: an SMTP server of one attempt that keeps what it is sent."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.state.model import ReceivedMail

if TYPE_CHECKING:
    from aiosmtpd.smtp import SMTP

_LARGEST = 64 * 1024 * 1024  # bytes of one mail


class MailSink:
    """`received` holds the mails in order of arrival; reading it parses what has come since."""

    host = "127.0.0.1"

    def __init__(self) -> None:
        self.port = 0
        self._raw: list[tuple[str, tuple[str, ...], bytes]] = []
        self._parsed: list[ReceivedMail] = []
        self._sessions: list[SMTP] = []
        self._closed = False

    @property
    def received(self) -> list[ReceivedMail]:
        from pytest_thinkingbox.effects.parsing import parse_mail

        while len(self._parsed) < len(self._raw):
            sender, recipients, content = self._raw[len(self._parsed)]
            self._parsed.append(parse_mail(content, sender=sender, recipients=recipients))
        return self._parsed

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Any) -> str:
        """Called by aiosmtpd with a complete mail."""
        if self._closed:
            return "421 The attempt is over"
        self._raw.append((envelope.mail_from or "", tuple(envelope.rcpt_tos), bytes(envelope.content)))
        return "250 OK"

    def _accept(self) -> SMTP:
        # Imported by the first connection: most attempts send no mail, and it takes a tenth of a second.
        from aiosmtpd.smtp import SMTP

        session = SMTP(
            self,
            hostname="localhost",  # else the resolver is asked for the name of this machine
            enable_SMTPUTF8=True,
            data_size_limit=_LARGEST,
            loop=asyncio.get_running_loop(),
        )
        self._sessions.append(session)
        return session

    async def _close(self, server: asyncio.Server) -> None:
        self._closed = True
        server.close()
        for session in self._sessions:
            if isinstance(session.transport, asyncio.Transport):
                session.transport.abort()
        handlers = [one._handler_coroutine for one in self._sessions if one._handler_coroutine is not None]
        if handlers:
            await asyncio.gather(*handlers, return_exceptions=True)


@asynccontextmanager
async def open_mail_sink() -> AsyncIterator[MailSink]:
    """A sink on a free loopback port. Once closed it takes nothing more, from open sessions neither."""
    sink = MailSink()
    # With a host's name asyncio asks the resolver in a task of its own, also for an address.
    listening = socket.create_server((sink.host, 0))
    sink.port = listening.getsockname()[1]
    server = await asyncio.get_running_loop().create_server(sink._accept, sock=listening)
    try:
        yield sink
    finally:
        await sink._close(server)
