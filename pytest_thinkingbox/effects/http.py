"""The HTTP sink: a server of one attempt that keeps what it is sent and answers as it is told."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from pytest_thinkingbox.declare.effects import Reply, Routes
from pytest_thinkingbox.state.received import ReceivedRequest, together

if TYPE_CHECKING:
    import h11

_LARGEST = 64 * 1024 * 1024  # bytes of one body, decoded or not
_CHUNK = 1 << 16
_OTHERS = Reply(200, {})


class HttpSink:
    """`received` holds the requests in order of arrival. `url` has no slash at its end."""

    host = "127.0.0.1"

    def __init__(self, routes: Routes) -> None:
        self.port = 0
        self.received: list[ReceivedRequest] = []
        self._routes = routes
        self._answered = dict.fromkeys(routes, 0)
        self._sessions: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import h11  # by the first connection: most attempts send no request

        session = asyncio.current_task()
        assert session is not None
        self._sessions.add(session)
        try:
            with suppress(ConnectionError, h11.ProtocolError, asyncio.CancelledError):
                await _Session(self, reader, writer).serve()
        finally:
            self._sessions.discard(session)
            writer.transport.abort() if self._closed else writer.close()

    def take(self, head: h11.Request, body: bytes) -> Reply:
        """Keep a complete request; what it is to be answered."""
        if self._closed:
            return Reply(503, {"error": "The attempt is over."})
        raw_path, query = _target(head.target.decode("latin-1"))
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        method, path = head.method.decode("latin-1").upper(), unquote(raw_path) or "/"
        reply = self._reply(f"{method} {path}", path)
        self.received.append(
            ReceivedRequest(
                method=method,
                path=path,
                query=together(parse_qsl(query, keep_blank_values=True, errors="replace")),
                headers=headers,
                data=_decoded(body, headers.get("content-encoding", "")),
                status=None if reply.disconnect else reply.status,
            )
        )
        return reply

    def _reply(self, named: str, path: str) -> Reply:
        for route, replies in self._routes.items():
            if fnmatchcase(f"* {path}" if route.startswith("* ") else named, _pattern(route)):
                number = self._answered[route]
                self._answered[route] = number + 1
                return replies[min(number, len(replies) - 1)]
        return _OTHERS

    async def _close(self, server: asyncio.Server) -> None:
        self._closed = True
        server.close()
        sessions = list(self._sessions)
        for session in sessions:
            session.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)


class _Session:
    """One connection: requests one after the other, as long as both sides keep it."""

    def __init__(self, sink: HttpSink, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import h11

        self._h11 = h11
        self._sink = sink
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.SERVER)

    async def serve(self) -> None:
        try:
            while isinstance(head := await self._event(), self._h11.Request):
                body = await self._body()
                if body is None:
                    await self._answer(head, Reply(413, {"error": f"more than {_LARGEST} bytes"}))
                    return
                reply = self._sink.take(head, body)
                if reply.delay:
                    await asyncio.sleep(reply.delay)
                if reply.disconnect:
                    self._writer.transport.abort()
                    return
                await self._answer(head, reply)
                if self._protocol.our_state is not self._h11.DONE:
                    return
                self._protocol.start_next_cycle()
        except self._h11.RemoteProtocolError as error:
            if self._protocol.our_state in (self._h11.IDLE, self._h11.SEND_RESPONSE):
                await self._answer(None, Reply(error.error_status_hint, {"error": "this is no HTTP/1.1"}))

    async def _event(self) -> Any:
        """The next part of a request; what ends the connection is none."""
        while True:
            event = self._protocol.next_event()
            if event is not self._h11.NEED_DATA:
                return event
            if self._protocol.they_are_waiting_for_100_continue:
                go_on = self._h11.InformationalResponse(status_code=100, headers=[])
                self._writer.write(self._protocol.send(go_on) or b"")
            self._protocol.receive_data(await self._reader.read(_CHUNK))

    async def _body(self) -> bytes | None:
        """The whole body; None when it is too large."""
        parts: list[bytes] = []
        size = 0
        while isinstance(event := await self._event(), self._h11.Data):
            parts.append(bytes(event.data))
            size += len(event.data)
            if size > _LARGEST:
                return None
        if not isinstance(event, self._h11.EndOfMessage):
            raise ConnectionError("the request did not end")
        return b"".join(parts)

    async def _answer(self, head: h11.Request | None, reply: Reply) -> None:
        h11 = self._h11
        body, kind = _encoded(reply)
        given = {name.lower() for name in reply.headers}
        headers = [(name, value) for name, value in reply.headers.items()]
        if body and "content-type" not in given:
            headers.append(("content-type", kind))
        empty = reply.status in (204, 304)
        if not empty and "content-length" not in given:
            headers.append(("content-length", str(len(body))))
        parts = [self._protocol.send(h11.Response(status_code=reply.status, headers=headers))]
        if not empty and (head is None or head.method != b"HEAD"):
            parts.append(self._protocol.send(h11.Data(data=body)))
        parts.append(self._protocol.send(h11.EndOfMessage()))
        self._writer.write(b"".join(part or b"" for part in parts))
        await self._writer.drain()


def _target(target: str) -> tuple[str, str]:
    """Path and query, as they were sent. Proxies are asked for whole URLs, of which the authority is left out."""
    whole = re.match(r"https?://[^/?]*", target, re.IGNORECASE)
    path, _, query = (target[whole.end() :] if whole else target).partition("?")
    return path, query


def _encoded(reply: Reply) -> tuple[bytes, str]:
    if reply.text is not None:
        return reply.text.encode("utf-8", "replace"), "text/plain; charset=utf-8"
    if reply.json is None:
        return b"", ""
    return json.dumps(reply.json).encode(), "application/json"


def _pattern(route: str) -> str:
    """Only `*` is special: a path may hold brackets and question marks may be no part of it."""
    return route.replace("[", "[[]")


def _decoded(body: bytes, encodings: str) -> bytes:
    """With content encodings undone; as it came when one is unknown, wrong, or makes more of it than is sane."""
    decoded = body
    for encoding in reversed([one.strip().lower() for one in encodings.split(",")]):
        if encoding in ("", "identity"):
            continue
        if encoding not in _WINDOWS:
            return body
        for window in _WINDOWS[encoding]:
            with suppress(zlib.error):
                stream = zlib.decompressobj(window)
                decoded = stream.decompress(decoded, _LARGEST)
                if not stream.eof or stream.unused_data:
                    return body
                break
        else:
            return body
    return decoded


# "deflate" is sent with and without the header that it should have.
_WINDOWS: dict[str, Sequence[int]] = {
    "gzip": (zlib.MAX_WBITS | 16,),
    "x-gzip": (zlib.MAX_WBITS | 16,),
    "deflate": (zlib.MAX_WBITS, -zlib.MAX_WBITS),
}


@asynccontextmanager
async def open_http_sink(routes: Routes) -> AsyncIterator[HttpSink]:
    """A sink on a free loopback port. Once closed it takes nothing more, on open connections neither."""
    sink = HttpSink(routes)
    server = await asyncio.start_server(sink._accept, sink.host, 0)
    sink.port = server.sockets[0].getsockname()[1]
    try:
        yield sink
    finally:
        await sink._close(server)
