from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import socket
import time
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from pytest_thinkingbox.declare.effects import Reply, routes_of
from pytest_thinkingbox.effects.http import HttpSink, open_http_sink
from pytest_thinkingbox.state.received import ReceivedRequest

Play = Callable[[http.client.HTTPConnection], Any]


def played(play: Play, **routes: Any) -> tuple[Any, list[ReceivedRequest]]:
    """What `play` returned, given one connection to a sink, and what the sink holds."""

    async def go() -> tuple[Any, list[ReceivedRequest]]:
        named = routes_of("test", routes.get("http", True))
        assert named is not None
        async with open_http_sink(named) as sink:
            result = await asyncio.to_thread(with_connection, sink, play)
        return result, sink.received

    return asyncio.run(go())


def with_connection(sink: HttpSink, play: Play) -> Any:
    connection = http.client.HTTPConnection(sink.host, sink.port, timeout=10)
    try:
        return play(connection)
    finally:
        connection.close()


def asked(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, bytes]:
    connection.request(method, target, body=body, headers=headers or {})
    response = connection.getresponse()
    return response.status, response.read()


def test_a_request_arrives_with_method_path_query_headers_and_body() -> None:
    body = json.dumps({"id": 1042, "guest": "Zoë"})
    headers = {"Content-Type": "application/json", "X-Signature": "abc"}
    answer, (received,) = played(
        lambda one: asked(one, "POST", "/hooks/Zo%C3%AB?tag=a&tag=b&empty=", body, headers)
    )
    assert answer == (200, b"{}")
    assert (received.method, received.path, received.status) == ("POST", "/hooks/Zoë", 200)
    assert received.query == {"tag": ["a", "b"], "empty": ""}
    assert received.headers["x-signature"] == "abc"
    assert received.json == {"id": 1042, "guest": "Zoë"}
    assert received.text == body


def test_one_connection_may_send_many_and_their_order_is_kept() -> None:
    def play(one: http.client.HTTPConnection) -> list[int]:
        return [asked(one, "PUT", f"/{number}")[0] for number in range(5)]

    answers, received = played(play)
    assert answers == [200] * 5
    assert [one.path for one in received] == ["/0", "/1", "/2", "/3", "/4"]


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),
        ("deflate, gzip", lambda data: gzip.compress(zlib.compress(data))),
    ],
)
def test_content_encodings_are_undone(encoding: str, encode: Callable[[bytes], bytes]) -> None:
    data = encode(b'{"paid": true}')
    _, (received,) = played(lambda one: asked(one, "POST", "/", data, {"Content-Encoding": encoding}))
    assert received.json == {"paid": True}


@pytest.mark.parametrize("encoding", ["br", "gzip"])
def test_what_cannot_be_decoded_stays_as_it_came(encoding: str) -> None:
    _, (received,) = played(lambda one: asked(one, "POST", "/", b"\xffodd", {"Content-Encoding": encoding}))
    assert received.data == b"\xffodd"
    assert received.json is None


def test_a_chunked_body_is_put_together() -> None:
    _, (received,) = played(lambda one: asked(one, "POST", "/", iter([b"one ", b"two"])))
    assert received.text == "one two"


def test_text_is_read_in_the_character_set_that_it_names() -> None:
    data, kind = "Grüße".encode("latin-1"), "text/plain; charset=latin-1"
    _, (received,) = played(lambda one: asked(one, "POST", "/", data, {"Content-Type": kind}))
    assert received.text == "Grüße"
    _, (received,) = played(
        lambda one: asked(one, "POST", "/", b"odd", {"Content-Type": "text/plain; charset=no"})
    )
    assert received.text == "odd"


def test_forms_are_read_as_fields() -> None:
    kind = "application/x-www-form-urlencoded"
    _, (received,) = played(
        lambda one: asked(one, "POST", "/", "amount=10%2C50&tag=a&tag=b", {"Content-Type": kind})
    )
    assert received.form == {"amount": "10,50", "tag": ["a", "b"]}
    multipart = (
        b'--x\r\nContent-Disposition: form-data; name="note"\r\n\r\nhi\r\n'
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n1,2\r\n--x--\r\n'
    )
    _, (received,) = played(
        lambda one: asked(one, "POST", "/", multipart, {"Content-Type": "multipart/form-data; boundary=x"})
    )
    assert received.form == {"note": "hi", "file": "1,2"}


def test_routes_answer_in_order_and_the_last_reply_repeats() -> None:
    replies = {
        "POST /payments/*": [Reply(503, {"error": "busy"}), Reply(201, {"id": 7})],
        "* /text": Reply(text="plain", headers={"X-Kind": "odd"}),
        "DELETE /gone": Reply(204),
    }

    def play(one: http.client.HTTPConnection) -> list[tuple[int, bytes]]:
        calls = (("POST", "/payments/1"),) * 3
        return [
            asked(one, *call)
            for call in (*calls, ("GET", "/payments/1"), ("GET", "/text"), ("DELETE", "/gone"))
        ]

    answers, received = played(play, http=replies)
    assert answers == [
        (503, b'{"error": "busy"}'), (201, b'{"id": 7}'), (201, b'{"id": 7}'),
        (200, b"{}"), (200, b"plain"), (204, b""),
    ]  # fmt: skip
    assert [one.status for one in received] == [503, 201, 201, 200, 200, 204]


def test_a_late_reply_comes_late_and_the_request_counts() -> None:
    started = time.monotonic()
    answer, received = played(lambda one: asked(one, "GET", "/"), http={"* /*": Reply(200, [], delay=0.2)})
    assert answer == (200, b"[]")
    assert time.monotonic() - started >= 0.2
    assert len(received) == 1


def test_a_cut_connection_gives_no_answer_and_the_request_counts() -> None:
    def play(one: http.client.HTTPConnection) -> str:
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            asked(one, "POST", "/charge", "{}")
        return "cut"

    answer, (received,) = played(play, http={"POST /charge": Reply(disconnect=True)})
    assert (answer, received.path, received.status) == ("cut", "/charge", None)


def test_a_head_request_gets_no_body() -> None:
    answer, _ = played(lambda one: asked(one, "HEAD", "/"), http={"* /*": Reply(200, {"long": "x" * 100})})
    assert answer == (200, b"")


def test_what_is_no_http_is_refused_and_does_not_count() -> None:
    def play(one: http.client.HTTPConnection) -> bytes:
        with socket.create_connection((one.host, one.port), timeout=10) as raw:
            raw.sendall(b"HELO there\r\n\r\n")
            return raw.recv(1000)

    answer, received = played(play)
    assert answer.startswith(b"HTTP/1.1 400")
    assert received == []


def test_a_half_sent_request_does_not_count() -> None:
    def play(one: http.client.HTTPConnection) -> None:
        with socket.create_connection((one.host, one.port), timeout=10) as raw:
            raw.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        asked(one, "GET", "/whole")

    _, received = played(play)
    assert [one.path for one in received] == ["/whole"]


def test_a_closed_sink_takes_nothing_more_on_an_open_connection() -> None:
    async def go() -> tuple[int, bytes]:
        async with open_http_sink({}) as sink:
            reader, writer = await asyncio.open_connection(sink.host, sink.port)
            writer.write(b"GET /first HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readuntil(b"{}")
        writer.write(b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            rest = await reader.read()
        except ConnectionError:
            rest = b""
        writer.close()
        return len(sink.received), rest

    assert asyncio.run(go()) == (1, b"")


def test_wrong_replies_and_routes_are_refused() -> None:
    with pytest.raises(TypeError, match="must be a method and a path"):
        routes_of("Environment", {"POST payments": Reply()})
    with pytest.raises(TypeError, match="status=99 must be a status from 200 to 599"):
        Reply(99)
    with pytest.raises(TypeError, match="json or text, not both"):
        Reply(200, {}, text="x")
    with pytest.raises(TypeError, match=r"http=\[\] must be True, or replies by route"):
        routes_of("Environment", [])


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("http://other.example/hooks?a=1", "/hooks", {"a": "1"}),
        ("//hooks", "//hooks", {}),
        ("http://[", "/", {}),
        ("/a%FFb?%FF=%FF", "/a\ufffdb", {"\ufffd": "\ufffd"}),
        ("*", "*", {}),
    ],
)
def test_odd_targets_arrive_too(target: str, path: str, query: dict[str, str]) -> None:
    async def go() -> list[ReceivedRequest]:
        async with open_http_sink({}) as sink:
            reader, writer = await asyncio.open_connection(sink.host, sink.port)
            writer.write(f"OPTIONS {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            writer.close()
        return sink.received

    [received] = asyncio.run(go())
    assert (received.path, received.query) == (path, query)


def test_a_character_set_that_is_none_takes_no_time() -> None:
    request = ReceivedRequest(
        method="POST",
        path="/",
        headers={"content-type": "text/plain; charset=punycode"},
        data=b"a" * 2_000_000,
    )
    started = time.monotonic()
    assert request.text == "a" * 2_000_000
    assert time.monotonic() - started < 2
