"""HTTP/1.1 for many requests at once to one address.

The pool that httpx brings looks at every connection before and after every request, and at every pair of idle ones:
measured on one core, a request costs 1.8 ms of CPU with one connection, 2.7 ms with 32 and 45 ms with 128. Here idle
connections lie on a stack, no cookies are kept, the answer is read in C, and a request costs 0.1 ms, however many there
are. Proxies are left to httpx, whose exceptions are raised here too.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import httptools
import httpx

IDLE_SECONDS = 60.0
"""A connection that was idle for longer is not used again: the other side has probably given it up."""


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
    named = {name.decode("latin-1").lower(): value.decode("latin-1").strip() for name, value in headers}
    if "content-encoding" in named:
        content = httpx.Response(status, headers=named, content=content).content
    return Reply(status, named, content)


_Raw = tuple[int, list[tuple[bytes, bytes]], list[bytes]]
"""Status, headers and the parts of the body."""


class _Connection(asyncio.Protocol):
    """One socket, which carries one request after the other. httptools calls the methods `on_...`."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        # As lenient as other clients: both matter to who reads ahead for somebody else, and here nobody does.
        self._parser.set_dangerous_leniencies(lenient_chunked_length=True, lenient_optional_cr_before_lf=True)
        self._answered: asyncio.Future[_Raw] | None = None  # None while no answer is awaited
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._begun = False  # the head of the answer is there
        self._reusable = True

    def usable(self) -> bool:
        return self.reusable() and time.monotonic() - self.idle_since < IDLE_SECONDS

    def reusable(self) -> bool:
        """Whether the next request can follow on this connection."""
        return self._reusable and not self._transport.is_closing()

    async def exchange(self, request: bytes) -> Reply:
        """Raises httpx.RequestError."""
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        status, headers, body = await self._answered
        self.idle_since = time.monotonic()
        return reply_of(status, headers, b"".join(body))

    def abort(self) -> None:
        self._answered = None
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._end(httpx.RemoteProtocolError(f"its answer is no HTTP: {error}"))
            self._transport.abort()
        except httptools.HttpParserUpgrade:
            self._end(httpx.RemoteProtocolError("it wants to speak another protocol than HTTP"))
            self._transport.abort()

    def on_message_begin(self) -> None:
        self._headers, self._body, self._begun = [], [], False
        if self._answered is None or self._answered.done():
            self._reusable = False  # nobody has asked

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._begun:  # else it comes behind the body
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._begun = self._parser.get_status_code() >= 200

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        if self._begun:  # else it is a notice that the answer will come
            # A server may answer before it has read the whole request.
            self._reusable &= self._parser.should_keep_alive() and not self._transport.get_write_buffer_size()
            self._end()

    def eof_received(self) -> None:
        framed = {name.lower() for name, _ in self._headers} & {b"content-length", b"transfer-encoding"}
        if self._begun and not framed:  # such a body ends with the connection
            self._reusable = False
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._reusable = False
        if exc is not None:
            self._end(httpx.ReadError(str(exc) or type(exc).__name__))
        elif self._begun:
            self._end(
                httpx.RemoteProtocolError("the server closed the connection in the middle of its answer")
            )
        else:
            self._end(httpx.RemoteProtocolError("the server closed the connection without an answer"))

    def _end(self, error: httpx.RequestError | None = None) -> None:
        answered = self._answered
        if answered is None or answered.done():
            return
        if error is None:
            answered.set_result((self._parser.get_status_code(), self._headers, self._body))
        else:
            answered.set_exception(error)


class Connections:
    """Connections to one address; the one used last is used next. How many there are, the caller decides.

    Requests have the method `method`; `headers` go with every request, `ssl_context` is None for http.
    """

    def __init__(
        self,
        url: httpx.URL,
        *,
        method: str,
        headers: Iterable[tuple[bytes, bytes]],
        ssl_context: ssl.SSLContext | None,
        connect_seconds: float,
    ) -> None:
        self._url = url
        lines = [b"%b %b HTTP/1.1" % (method.encode(), url.raw_path)]
        lines += [b"%b: %b" % (name, value) for name, value in headers if name.lower() != b"content-length"]
        self._head = b"\r\n".join([*lines, b"content-length: "])
        self._ssl_context = ssl_context
        self._connect_seconds = connect_seconds
        self._idle: list[_Connection] = []

    async def send(self, body: bytes) -> Reply:
        """Raises httpx.RequestError."""
        connection = self._pop() or await self._connect()
        reusable = False
        try:
            reply = await connection.exchange(b"%b%d\r\n\r\n%b" % (self._head, len(body), body))
            reusable = connection.reusable()
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
                _, connection = await asyncio.get_running_loop().create_connection(
                    _Connection, url.host, url.port or (443 if secure else 80), ssl=self._ssl_context
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection within {self._connect_seconds:g} s") from error
        except OSError as error:
            raise httpx.ConnectError(str(error) or type(error).__name__) from error
        return connection

    async def aclose(self) -> None:
        for connection in self._idle:
            connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)  # the loop closes aborted sockets in its next round
