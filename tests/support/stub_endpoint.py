"""A chat-completions endpoint on a loopback socket that follows a script: replies, latency, errors, hangs, raw bytes.

In a test it runs on a thread of its own (`with StubEndpoint(script) as stub: ... stub.url`). For benchmarks it runs
as a process: `python -m tests.support.stub_endpoint --latency 0.2 --port 0` prints its URL's port on the first line.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Ending = Literal["keep", "close", "reset", "hang"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer. `latency` seconds pass before it.

    `chunks` are sent chunked, `gap` seconds apart, instead of `body`. `raw` is put on the socket as it is, no status
    line added. `ending` says what happens afterwards: `hang` sends nothing at all and keeps the connection open,
    `reset` drops the connection without a byte.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    latency: float = 0.0
    chunks: Sequence[bytes] = ()
    gap: float = 0.0
    raw: bytes | None = None
    ending: Ending = "keep"


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came in; `number` counts from 0 over all connections."""

    number: int
    connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.json["messages"]
        return messages


Script = Callable[[Received], Reply]


def answer(
    message: Mapping[str, Any], *, finish_reason: str, usage: Mapping[str, Any] | None = None
) -> bytes:
    """A whole chat.completion body around one assistant message."""
    body: dict[str, Any] = {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "stub",
        "choices": [
            {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
        ],
    }
    if usage is not None:
        body["usage"] = usage
    return json.dumps(body).encode()


USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def says(text: str, *, latency: float = 0.0, usage: Mapping[str, Any] | None = USAGE) -> Reply:
    """The assistant answers with text."""
    return Reply(body=answer({"content": text}, finish_reason="stop", usage=usage), latency=latency)


def calls(
    *made: tuple[str, Any],
    latency: float = 0.0,
    usage: Mapping[str, Any] | None = USAGE,
    ids: Sequence[str] = (),
) -> Reply:
    """The assistant calls tools: `calls(("get_booking", {"id": 1}))`; arguments that are text stay as they are."""
    tool_calls = [
        {
            "id": ids[index] if ids else f"call_{index}_{name}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for index, (name, arguments) in enumerate(made)
    ]
    message = {"content": None, "tool_calls": tool_calls}
    return Reply(body=answer(message, finish_reason="tool_calls", usage=usage), latency=latency)


def fails(
    status: int,
    message: str = "no",
    *,
    code: Any = None,
    type: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """An error in the shape that OpenAI documents."""
    error = {"message": message, "type": type, "param": param, "code": code}
    return Reply(status=status, body=json.dumps({"error": error}).encode(), headers=headers or {})


def in_order(replies: Iterable[Reply]) -> Script:
    """The n-th request gets the n-th reply, whoever asks; one request too many gets a 500 that says so."""
    ready = iter(replies)
    exhausted = fails(500, "the script of the stub is exhausted")
    return lambda _received: next(ready, exhausted)


def by_turn(replies: Sequence[Reply]) -> Script:
    """Each conversation plays all replies: the n-th is given when n assistant messages are in the request."""

    def script(received: Received) -> Reply:
        said = sum(1 for message in received.messages if message["role"] == "assistant")
        return replies[min(said, len(replies) - 1)]

    return script


class StubEndpoint:
    """The endpoint on a thread of its own; `url` is a base URL as an OpenAI client wants it."""

    def __init__(
        self,
        script: Script | Iterable[Reply],
        *,
        port: int = 0,
        remember: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._script: Script = script if callable(script) else in_order(script)
        self._port = port
        self._remember = remember
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stub-endpoint", daemon=True)
        self.received: list[Received] = []
        self.failures: list[BaseException] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.url = ""

    def __enter__(self) -> StubEndpoint:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(5)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http{'s' if self._tls else ''}://127.0.0.1:{port}/v1"
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
        if self.failures and exc[0] is None:
            raise self.failures[0]

    async def _listen(self) -> asyncio.Server:
        self._connections: set[_Connection] = set()
        self._numbers = itertools.count()
        self._connection_numbers = itertools.count()
        return await self._loop.create_server(
            lambda: _Connection(self), "127.0.0.1", self._port, backlog=1024, ssl=self._tls
        )

    async def _stop(self) -> None:
        self._server.close()
        # A connection that is being accepted is not among the known ones yet: left open, it would be found by the
        # collector, in whatever test runs by then.
        while accepting := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(accepting)
        while self._connections:
            for connection in list(self._connections):
                connection.abort()
            await asyncio.sleep(0)
        await self._server.wait_closed()

    @property
    def connections(self) -> int:
        """How many connections were ever opened by a client that sent a request."""
        return len({one.connection for one in self.received})


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, Content-Length bodies, one request at a time."""

    def __init__(self, stub: StubEndpoint) -> None:
        self._stub = stub
        self._buffer = b""
        self._timers: set[asyncio.TimerHandle] = set()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._number = next(self._stub._connection_numbers)
        self._stub._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stub._connections.discard(self)
        for timer in self._timers:
            timer.cancel()
            self._stub.in_flight -= 1
        self._timers.clear()

    def abort(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
            headers = {}
            for line in lines:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            length = int(headers.get("content-length", "0"))
            if len(self._buffer) < end + 4 + length:
                return
            body = self._buffer[end + 4 : end + 4 + length]
            self._buffer = self._buffer[end + 4 + length :]
            method, path, _ = first.split(" ", 2)
            self._handle(method, path, headers, body)

    def _handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> None:
        stub = self._stub
        received = Received(next(stub._numbers), self._number, method, path, headers, body, stub._loop.time())
        if stub._remember:
            stub.received.append(received)
        stub.in_flight += 1
        stub.most_in_flight = max(stub.most_in_flight, stub.in_flight)
        try:
            reply = stub._script(received)
        except BaseException as error:  # noqa: BLE001 - a script's assertion must reach the test, not this loop
            stub.failures.append(error)
            reply = fails(500, f"the script of the stub raised {type(error).__name__}")
        if reply.ending == "hang":
            return
        if reply.latency:
            self._later(reply.latency, reply)
        else:
            self._send(reply)

    def _later(self, seconds: float, reply: Reply) -> None:
        def fire() -> None:
            self._timers.discard(timer)
            self._send(reply)

        timer = self._stub._loop.call_later(seconds, fire)
        self._timers.add(timer)

    def _send(self, reply: Reply) -> None:
        self._stub.in_flight -= 1
        if self._transport.is_closing():
            return
        if reply.ending == "reset":
            self._transport.abort()
            return
        if reply.raw is not None:
            self._transport.write(reply.raw)
        elif reply.chunks:
            self._transport.write(_head(reply, "Transfer-Encoding: chunked"))
            self._send_chunks(reply, 0)
            return
        else:
            self._transport.write(_head(reply, f"Content-Length: {len(reply.body)}") + reply.body)
        if reply.ending == "close":
            self._transport.close()

    def _send_chunks(self, reply: Reply, index: int) -> None:
        if self._transport.is_closing():
            return
        if index == len(reply.chunks):
            self._transport.write(b"0\r\n\r\n")
            if reply.ending == "close":
                self._transport.close()
            return
        chunk = reply.chunks[index]
        self._transport.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        self._stub._loop.call_later(reply.gap, self._send_chunks, reply, index + 1)


def _head(reply: Reply, framing: str) -> bytes:
    lines = [f"HTTP/1.1 {reply.status} Stub", framing]
    if "content-type" not in {name.lower() for name in reply.headers}:
        lines.append("Content-Type: application/json")
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _script_of_file(path: Path, latency: float) -> Script:
    steps = json.loads(path.read_text(encoding="utf-8"))
    replies = [
        says(step["text"], latency=latency)
        if "text" in step
        else calls(*((one["name"], one["arguments"]) for one in step["calls"]), latency=latency)
        for step in steps
    ]
    return by_turn(replies)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument(
        "--script",
        type=Path,
        help='JSON list, one item per answer of the model: {"calls": [{"name", "arguments"}]} or {"text": "..."}; '
        'without it every answer is the text "done"',
    )
    options = parser.parse_args()
    script = (
        _script_of_file(options.script, options.latency)
        if options.script
        else by_turn([says("done", latency=options.latency)])
    )
    stub = StubEndpoint(script, port=options.port, remember=False)
    with stub:
        print(stub.url.rsplit(":", 1)[1].removesuffix("/v1"), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
