from __future__ import annotations

import asyncio
import gzip
import json
import shutil
import ssl
import subprocess
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_thinkingbox.agents.endpoint import Endpoint, Rejected, Watch, delay, retry_after
from pytest_thinkingbox.agents.wire import NoReply
from pytest_thinkingbox.errors import ConfigurationError, ProviderDown
from tests.agents.shapes import reply
from tests.support.stub_endpoint import Reply, StubEndpoint, fails, says

KEY = "sk-very-secret-0123"


def parse(body: bytes, content_type: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        raise NoReply("its answer is no JSON") from None


def at(url: str, **options: Any) -> Endpoint:
    return Endpoint(url, **{"api_key": KEY, "backoff": 0.001, "retries": 3, **options})


def using(endpoint: Endpoint, play: Callable[[Endpoint], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        try:
            return await play(endpoint)
        finally:
            await endpoint.aclose()

    return asyncio.run(run())


def ask(endpoint: Endpoint, body: bytes = b"{}") -> Any:
    """The parsed answer to one request."""

    async def play(endpoint: Endpoint) -> Any:
        return (await endpoint.ask(body, parse))[0]

    return using(endpoint, play)


# --- the request ---


def test_the_request_is_as_an_openai_client_sends_it() -> None:
    with StubEndpoint([says("hello")]) as stub:
        assert ask(at(stub.url), b'{"model":"m"}')["choices"][0]["message"]["content"] == "hello"
    received = stub.received[0]
    assert (received.method, received.path) == ("POST", "/v1/chat/completions")
    assert received.json == {"model": "m"}
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert received.headers["content-type"] == "application/json"


def test_without_a_key_no_key_is_sent() -> None:
    with StubEndpoint([says("hello")]) as stub:
        ask(at(stub.url, api_key=None))
    assert "authorization" not in stub.received[0].headers


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1/chat/completions"),
        ("http://localhost:11434", "http://localhost:11434/chat/completions"),
        ("http://localhost:1/v1/chat/completions", "http://localhost:1/v1/chat/completions"),
        (
            "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
    ],
)
def test_the_url_that_is_asked(base: str, url: str) -> None:
    assert Endpoint(base).url == url


@pytest.mark.parametrize(
    "base", ["localhost:8000/v1", "ftp://host/v1", "http://", "http://host:none/v1", "/v1"]
)
def test_a_base_url_that_is_none_names_the_option(base: str) -> None:
    with pytest.raises(ConfigurationError, match="--tb-base-url"):
        Endpoint(base)


# --- retries ---


@pytest.mark.parametrize(
    "failure",
    [
        *(fails(status) for status in (408, 409, 425, 429, 500, 502, 503, 504, 529)),
        Reply(ending="reset"),
        Reply(raw=b"", ending="close"),
        Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{", ending="close"),
        Reply(raw=b"nothing like HTTP\r\n\r\n", ending="close"),
        Reply(raw=b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: tls\r\n\r\n"),
        Reply(body=b"{ cut"),
        Reply(body=b"no gzip", headers={"Content-Encoding": "gzip"}),
    ],
    ids=lambda failure: f"{failure.status}-{failure.ending}-{(failure.raw or failure.body)[:12]!r}",
)
def test_what_may_pass_is_tried_again(failure: Reply) -> None:
    with StubEndpoint([failure, failure, says("there")]) as stub:
        assert ask(at(stub.url))["choices"][0]["message"]["content"] == "there"
    assert len(stub.received) == 3


def test_after_the_last_retry_the_provider_is_down() -> None:
    with StubEndpoint(lambda _: fails(503, "overloaded")) as stub, pytest.raises(ProviderDown) as caught:
        ask(at(stub.url, retries=2))
    assert len(stub.received) == 3
    assert str(caught.value) == (
        f"{stub.url}/chat/completions failed 3 times; the last time: status 503: overloaded"
    )


def test_where_nobody_listens_the_provider_is_down() -> None:
    with StubEndpoint([]) as stub:
        pass
    with pytest.raises(ProviderDown, match="failed 2 times; the last time: ConnectError"):
        ask(at(stub.url, retries=1))


def test_a_hanging_endpoint_is_left_after_the_seconds_that_a_request_may_take() -> None:
    with StubEndpoint(lambda _: Reply(ending="hang")) as stub:
        started = time.monotonic()
        with pytest.raises(ProviderDown, match=r"no answer within 0\.1 s"):
            ask(at(stub.url, seconds=0.1, retries=1))
        assert 0.2 <= time.monotonic() - started < 2
    assert stub.connections == 2  # what hangs is not used again


def test_a_hanging_endpoint_is_left_also_while_something_is_looked_at_beside_it() -> None:
    looked = []

    async def late() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            looked.append("ended")

    async def play(endpoint: Endpoint) -> None:
        await endpoint.ask(b"{}", parse, watch=Watch(0.01, late))

    with (
        StubEndpoint(lambda _: Reply(ending="hang")) as stub,
        pytest.raises(ProviderDown, match=r"no answer within 0\.3 s"),
    ):
        using(at(stub.url, seconds=0.3, retries=0), play)
    assert looked == ["ended"]


def test_an_endpoint_that_trickles_for_ever_is_left_too() -> None:
    trickle = Reply(chunks=[b" "] * 1000, gap=0.02)
    with (
        StubEndpoint(lambda _: trickle) as stub,
        pytest.raises(ProviderDown, match=r"no answer within 0\.1 s"),
    ):
        ask(at(stub.url, seconds=0.1, retries=0))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 422])
def test_what_repeating_does_not_mend_is_not_repeated(status: int) -> None:
    with (
        StubEndpoint([fails(status, "no, never", code="some_code")]) as stub,
        pytest.raises(Rejected) as caught,
    ):
        ask(at(stub.url))
    assert (caught.value.reply.status, caught.value.reply.code) == (status, "some_code")
    assert len(stub.received) == 1


def test_a_redirect_says_where_to() -> None:
    moved = Reply(status=308, headers={"Location": "https://elsewhere/v1"})
    with StubEndpoint([moved]) as stub, pytest.raises(Rejected) as caught:
        ask(at(stub.url))
    assert caught.value.location == "https://elsewhere/v1"


def test_retry_after_is_honoured() -> None:
    busy = fails(429, headers={"Retry-After": "1"})
    with StubEndpoint([busy, says("now")]) as stub:
        ask(at(stub.url))
    assert 1.0 <= stub.received[1].at - stub.received[0].at < 2.0


def test_retry_after_of_a_documented_answer_in_milliseconds() -> None:
    with StubEndpoint([reply("openai/rate_limit"), says("now")]) as stub:
        ask(at(stub.url))
    assert 0.3 <= stub.received[1].at - stub.received[0].at < 1.0


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sun, 01 Mar 2026 11:59:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def test_the_wait_is_jittered_in_full_under_a_bound_that_doubles() -> None:
    for repetition, bound in [(0, 1.0), (1, 2.0), (4, 16.0), (9, 60.0)]:
        waits = [delay(repetition, None, backoff=1.0, random=Random(seed)) for seed in range(200)]
        assert 0 <= min(waits) < 0.1 * bound
        assert 0.9 * bound < max(waits) <= bound


def test_an_endpoint_that_asks_for_an_hour_gets_two_minutes() -> None:
    assert 120 <= delay(0, 3600.0, backoff=1.0, random=Random(1)) <= 121


# --- connections ---


def test_one_after_the_other_use_one_connection() -> None:
    async def play(endpoint: Endpoint) -> None:
        for _ in range(5):
            await endpoint.ask(b"{}", parse)

    with StubEndpoint(lambda _: says("x")) as stub:
        using(at(stub.url), play)
    assert len(stub.received) == 5
    assert stub.connections == 1


def test_no_more_are_under_way_than_allowed_and_all_are_answered() -> None:
    async def play(endpoint: Endpoint) -> None:
        await asyncio.gather(*(endpoint.ask(b"{}", parse) for _ in range(20)))

    with StubEndpoint(lambda _: says("x", latency=0.02)) as stub:
        using(at(stub.url, concurrency=3), play)
    assert len(stub.received) == 20
    assert stub.most_in_flight == 3
    assert stub.connections == 3


def test_who_backs_off_leaves_the_place_to_others() -> None:
    replies = {b"1": [fails(429, headers={"Retry-After": "0.3"}), says("late")], b"2": [says("early")]}

    async def play(endpoint: Endpoint) -> list[bytes]:
        done: list[bytes] = []

        async def one(body: bytes) -> None:
            await endpoint.ask(body, parse)
            done.append(body)

        await asyncio.gather(one(b"1"), one(b"2"))
        return done

    with StubEndpoint(lambda received: replies[received.body].pop(0)) as stub:
        assert using(at(stub.url, concurrency=1), play) == [b"2", b"1"]


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    async def play(endpoint: Endpoint) -> None:
        await endpoint.ask(b"{}", parse)
        await asyncio.sleep(0.05)
        await endpoint.ask(b"{}", parse)

    silent, said = Reply(body=b"1", ending="close"), Reply(body=b"2")
    with StubEndpoint([silent, said]) as stub:
        using(at(stub.url, retries=0), play)
    assert stub.connections == 2


def test_a_server_that_announces_to_close_is_believed() -> None:
    async def play(endpoint: Endpoint) -> None:
        await endpoint.ask(b"{}", parse)
        await endpoint.ask(b"{}", parse)

    with StubEndpoint(lambda _: Reply(body=b"1", headers={"Connection": "close"})) as stub:
        using(at(stub.url, retries=0), play)
    assert stub.connections == 2


@pytest.mark.parametrize(
    "unasked",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n9", b"and more"],
    ids=["answer", "garbage"],
)
def test_what_a_server_says_unasked_answers_no_request(unasked: bytes) -> None:
    async def play(endpoint: Endpoint) -> list[Any]:
        return [(await endpoint.ask(b"{}", parse))[0] for _ in range(2)]

    first = Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1" + unasked)
    with StubEndpoint([first, Reply(body=b"2")]) as stub:
        assert using(at(stub.url, retries=0), play) == [1, 2]
    assert stub.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        Reply(chunks=[b'{"a"', b": ", b"1}"], gap=0.01),
        Reply(chunks=[b"\n", b" \n", b'{"a": 1}'], gap=0.01),
        Reply(body=gzip.compress(b'{"a": 1}'), headers={"Content-Encoding": "gzip"}),
        Reply(raw=b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"a": 1}', ending="close"),
        Reply(raw=b'HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}', ending="close"),
        Reply(raw=b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}'),
        Reply(raw=b'HTTP/1.1 200 OK\nContent-Length: 8 \n\n{"a": 1}'),
        Reply(
            raw=b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
            b'8\r\n{"a": 1}\r\n0\r\nContent-Encoding: gzip\r\n\r\n'
        ),
    ],
    ids=["chunked", "padded", "gzip", "until-close", "http-1.0", "continue", "lf", "chunked-and-length"],
)
def test_every_way_in_which_http_delimits_a_body(answer: Reply) -> None:
    with StubEndpoint(lambda _: answer) as stub:
        assert ask(at(stub.url, retries=0)) == {"a": 1}


def test_five_megabytes_each_way() -> None:
    with StubEndpoint(lambda received: Reply(body=received.body)) as stub:
        body = json.dumps({"a": "x" * 5_000_000}).encode()
        assert ask(at(stub.url, retries=0), body) == {"a": "x" * 5_000_000}


def test_a_cancelled_request_gives_its_place_back() -> None:
    async def play(endpoint: Endpoint) -> Any:
        hanging = asyncio.create_task(endpoint.ask(b"hang", parse))
        while not stub.received:
            await asyncio.sleep(0.01)
        hanging.cancel()
        await asyncio.wait({hanging})
        assert hanging.cancelled()
        return (await endpoint.ask(b"go", parse))[0]

    def script(received: Any) -> Reply:
        return Reply(ending="hang") if received.body == b"hang" else Reply(body=b"7")

    with StubEndpoint(script) as stub:
        assert using(at(stub.url, concurrency=1), play) == 7


def test_the_seconds_of_an_answer_are_its_own_alone() -> None:
    replies = [fails(500, headers={"Retry-After": "1.5"}), Reply(body=b"1", latency=0.2)]

    async def play(endpoint: Endpoint) -> float:
        return (await endpoint.ask(b"{}", parse))[1]

    with StubEndpoint(replies) as stub:
        seconds = using(at(stub.url), play)
    assert 0.2 <= seconds < 1.5


def test_a_closed_endpoint_opens_again() -> None:
    endpoint: Endpoint
    with StubEndpoint(lambda _: Reply(body=b"1")) as stub:
        endpoint = at(stub.url)
        assert ask(endpoint) == 1
        assert ask(endpoint) == 1
    assert stub.connections == 2


# --- TLS and proxies ---


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the program openssl")
    file = tmp_path / "tls.pem"
    key = tmp_path / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=stub"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(file.read_text() + key.read_text())
    return file


def test_https(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with StubEndpoint([Reply(body=b"1")], tls=context) as stub:
        assert stub.url.startswith("https://")
        assert ask(at(stub.url, retries=0)) == 1


def test_https_with_a_certificate_that_nobody_vouches_for(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with (
        StubEndpoint([], tls=context) as stub,
        pytest.raises(ProviderDown, match="certificate verify failed"),
    ):
        ask(at(stub.url, retries=0))


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.usefixtures("no_proxies")
def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubEndpoint([Reply(body=b"1")]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        assert ask(at("http://models.example/v1")) == 1
    assert proxy.received[0].path == "http://models.example/v1/chat/completions"


@pytest.mark.usefixtures("no_proxies")
def test_loopback_is_never_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubEndpoint([Reply(body=b"1")]) as stub:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        assert ask(at(stub.url, retries=0)) == 1


@pytest.mark.usefixtures("no_proxies")
def test_azure_gets_its_key_in_a_header_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubEndpoint([Reply(body=b"1")]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        ask(at("http://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21"))
    assert proxy.received[0].headers["api-key"] == KEY
    assert "authorization" not in proxy.received[0].headers


# --- secrets ---


def test_the_key_is_in_no_text() -> None:
    endpoint = Endpoint("http://127.0.0.1:1/v1", api_key=KEY)
    assert repr(endpoint) == "Endpoint('http://127.0.0.1:1/v1/chat/completions')"
    with StubEndpoint([fails(401, f"the key {KEY} is wrong")]) as stub, pytest.raises(Rejected) as rejected:
        ask(at(stub.url))
    assert rejected.value.reply.message == "the key [hidden] is wrong"
    with (
        StubEndpoint(lambda _: fails(500, f"crashed on {KEY}")) as stub,
        pytest.raises(ProviderDown) as down,
    ):
        ask(at(stub.url))
    assert KEY not in str(down.value)
    assert "crashed on [hidden]" in str(down.value)


@pytest.mark.parametrize("key", ["sk-secret\nx", "sk secret", "sk-sécret"])
def test_a_key_that_is_none_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY") as caught:
        Endpoint("http://127.0.0.1:1/v1", api_key=key)
    assert key not in str(caught.value)


def test_a_password_in_the_url_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY") as caught:
        Endpoint("https://me:hunter22@models.example/v1")
    assert "hunter22" not in str(caught.value)


def test_the_key_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    with StubEndpoint([fails(500), says("x")]) as stub:
        ask(at(stub.url))
    assert KEY not in caplog.text
