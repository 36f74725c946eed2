"""One model endpoint: its connections, its queue, its retries. Knows HTTP, but not what is asked."""

from __future__ import annotations

import asyncio
import re
import time
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random
from typing import TypeVar

import httpx

from pytest_thinkingbox.agents.completions import CHAT
from pytest_thinkingbox.agents.provider_errors import ErrorReply, read_error
from pytest_thinkingbox.agents.transport import Connections, Reply
from pytest_thinkingbox.agents.wire import Api, NoReply
from pytest_thinkingbox.errors import ConfigurationError, ProviderDown

T = TypeVar("T")

RETRIES = 6
LONGEST_BACKOFF = 60.0  # seconds
LONGEST_RETRY_AFTER = 120.0  # seconds; an endpoint that asks for more gets this, and then counts as down
CONNECT_SECONDS = 10.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Rejected(Exception):
    """The endpoint answered with an error that the same request would meet again."""

    def __init__(self, reply: ErrorReply, location: str = "") -> None:
        super().__init__(str(reply))
        self.reply = reply
        self.location = location


@dataclass(frozen=True, slots=True)
class Watch:
    """When a request that was sent is not answered after `seconds`, `late` is called beside it.

    What it raises ends the request; what it returns does not.
    """

    seconds: float
    late: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The options and variables that an endpoint is set with, for errors that name the way out."""

    url: str
    key: str


class Endpoint:
    """Where models are asked, at most `concurrency` at once; further requests queue.

    `base_url` is what a client of this API takes, without `/chat/completions` and the like; a query stays behind it.
    `seconds` is how long one request may take, `retries` how often it is sent again, `backoff` the longest wait
    before the first repetition (the next ones double). The key is in no text that leaves this object.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api: Api = CHAT,
        api_key: str | None = None,
        concurrency: int = 8,
        seconds: float = 600.0,
        retries: int = RETRIES,
        backoff: float = 1.0,
        names: Names | None = None,
    ) -> None:
        self.api = api
        self.names = names or Names(url=f"--tb-base-url or {api.url_variable}", key=api.key_variable)
        self._key = _checked_key(api_key, self.names)
        self._address = _checked_url(base_url, api, self.names)
        self.url = str(self._address)
        self.concurrency = concurrency
        self.answered: set[str] = set()
        """The models that have answered here; what fails later is no mistake of the configuration."""
        self._seconds = seconds
        self._retries = retries
        self._backoff = backoff
        self._places = asyncio.Semaphore(concurrency)
        self._client: Connections | _Proxied | None = None
        self._random = Random()

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"

    @property
    def has_key(self) -> bool:
        return bool(self._key)

    def redact(self, text: str) -> str:
        """`text` without the key."""
        return text.replace(self._key, "[hidden]") if len(self._key) >= 4 else text

    async def ask(
        self, body: bytes, read: Callable[[bytes, str], T], *, watch: Watch | None = None
    ) -> tuple[T, float]:
        """What `read(body, content type)` makes of the answer, and how many seconds the answer took.

        Waiting, failed requests and backoff are not in these seconds. `read` raises NoReply for a body that is no
        reply. Raises Rejected for errors that repeating does not mend, ProviderDown when all retries are used up.
        """
        failure = ""
        for sent in range(self._retries + 1):
            async with self._places:
                started = time.monotonic()
                try:
                    response = await self._watched(body, watch)
                    if response.success:
                        return read(response.body, response.headers.get("content-type", "")), (
                            time.monotonic() - started
                        )
                except TimeoutError:
                    failure, wait = f"no answer within {self._seconds:g} s", None
                except httpx.RequestError as error:
                    failure, wait = f"{type(error).__name__}: {error}", None
                except NoReply as problem:
                    failure, wait = str(problem), None
                    if problem.error is not None and not problem.error.retriable:
                        raise Rejected(problem.error) from None
                else:
                    reply = self._error(response)
                    if not reply.retriable:
                        raise Rejected(reply, response.headers.get("location", ""))
                    failure, wait = f"status {reply}", retry_after(response.headers, datetime.now(UTC))
            if sent < self._retries:
                await asyncio.sleep(delay(sent, wait, backoff=self._backoff, random=self._random))
        raise ProviderDown(
            self.redact(f"{self.url} failed {self._retries + 1} times; the last time: {failure}")
        )

    def _error(self, response: Reply) -> ErrorReply:
        return read_error(response.status, self.redact(response.text).encode("utf-8", "replace"))

    async def _watched(self, body: bytes, watch: Watch | None) -> Reply:
        if watch is None:
            async with asyncio.timeout(self._seconds):
                return await self._post(body)
        loop = asyncio.get_running_loop()
        begun, seconds, late = loop.time(), max(0.0, watch.seconds), watch.late
        checking: asyncio.Future[None] | None = None
        limit = asyncio.timeout(None)
        over = False

        def check() -> None:
            nonlocal checking
            limit.reschedule(begun + self._seconds)
            if seconds < self._seconds:
                checking = asyncio.ensure_future(late())
                checking.add_done_callback(end)

        def end(checked: asyncio.Future[None]) -> None:
            failed = not checked.cancelled() and checked.exception() is not None
            if failed and not over and not limit.expired():
                limit.reschedule(loop.time())

        # One timer and no task beside the request: nearly all are answered in time.
        timer = loop.call_at(begun + min(seconds, self._seconds), check)
        try:
            async with limit:
                return await self._post(body)
        except TimeoutError:
            if checking is not None and checking.done():
                await checking
            raise
        finally:
            over = True
            timer.cancel()
            if checking is not None and not checking.done():
                checking.cancel()
                await asyncio.wait({checking})

    async def _post(self, body: bytes) -> Reply:
        client = self._client
        if client is None:
            client = self._client = self._new_client()
        return await client.send(body)

    def _new_client(self) -> Connections | _Proxied:
        headers = {"content-type": "application/json", "user-agent": "pytest-thinkingbox"}
        headers |= self.api.headers(self._key, self._address.host)
        if _needs_proxy(self._address):
            return _Proxied(
                self._address, method=self.api.method, headers=headers, concurrency=self.concurrency
            )
        secure = self._address.scheme == "https"
        return Connections(
            self._address,
            method=self.api.method,
            headers=httpx.Request(
                self.api.method,
                self._address,
                headers={"accept": "*/*", "accept-encoding": "gzip, deflate", **headers},
            ).headers.raw,
            ssl_context=httpx.create_ssl_context() if secure else None,
            connect_seconds=CONNECT_SECONDS,
        )

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


class _Proxied:
    """The same through the proxy that the environment names."""

    def __init__(self, url: httpx.URL, *, method: str, headers: Mapping[str, str], concurrency: int) -> None:
        self._url = url
        self._method = method
        self._client = httpx.AsyncClient(
            headers=headers,
            # How long a request may take in all is limited in `ask`.
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency),
        )

    async def send(self, body: bytes) -> Reply:
        response = await self._client.request(self._method, self._url, content=body)
        return Reply(response.status_code, response.headers, response.content)

    async def aclose(self) -> None:
        await self._client.aclose()


def delay(repetition: int, asked: float | None, *, backoff: float, random: Random) -> float:
    """Seconds before a repetition (0 is the first): full jitter under a bound that doubles.

    What the endpoint asked for is waited for instead, and a random part of `backoff` more, so that not everybody
    comes back at once.
    """
    if asked is not None:
        return min(asked, LONGEST_RETRY_AFTER) + random.uniform(0, backoff)
    return random.uniform(0, min(LONGEST_BACKOFF, backoff * 2**repetition))


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait as the endpoint asks for, None when it does not: milliseconds, seconds or an HTTP date."""
    milliseconds = headers.get("retry-after-ms", "")
    if re.fullmatch(r"\d+(\.\d+)?", milliseconds):
        return float(milliseconds) / 1000
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


def _checked_url(base_url: str, api: Api, names: Names) -> httpx.URL:
    way_out = f"give {names.url} as in http://127.0.0.1:8000/v1"
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"{base_url!r} is no URL ({error}): {way_out}") from None
    if url.userinfo:
        raise ConfigurationError(
            f"the URL of the endpoint at {url.host} holds a user name or password: put the key in {names.key}"
        )
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigurationError(f"{base_url!r} is no http:// or https:// URL: {way_out}")
    return url.copy_with(path=api.path(url.path.rstrip("/")))


def _checked_key(api_key: str | None, names: Names) -> str:
    key = (api_key or "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(
            "the API key holds characters that no key has (a space, a line break, a letter beyond ASCII): "
            f"check {names.key}"
        )
    return key


def _needs_proxy(url: httpx.URL) -> bool:
    """Whether the environment names a proxy for this URL; loopback addresses are never reached through one."""
    if url.host in _LOOPBACK:
        return False
    proxies = urllib.request.getproxies()
    return bool(proxies.get(url.scheme) or proxies.get("all")) and not urllib.request.proxy_bypass(url.host)
