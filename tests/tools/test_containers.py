"""Tool servers that are images: reached over HTTP, told where things are, gone at the end."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pytest_thinkingbox.declare import Server
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.tools.containers import Containers
from pytest_thinkingbox.tools.relay import open_relay
from pytest_thinkingbox.tools.session import Toolbox
from tests.conftest import Run
from tests.support.images import tool_image
from tests.support.servers import mariadb_server, postgres_server
from tests.tools.world import World

T = TypeVar("T")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def image() -> str:
    return tool_image()


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture(scope="module")
def mariadb() -> Iterator[str]:
    with mariadb_server() as url:
        yield url


def listed(claim: str) -> list[str]:
    """Containers that carry a claim, whatever state they are in."""
    found = subprocess.run(
        ["docker", "ps", "-aq", "--filter", f"label=pytest-thinkingbox.claim={claim}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return found.stdout.split()


def played(
    world: World, use: Callable[[Toolbox], Coroutine[Any, Any, T]], *servers: Server, **options: Any
) -> T:
    """Nothing is left of the containers, however it ended."""
    containers = Containers()
    try:
        return world.run(use, *servers, containers=containers, **options)
    finally:
        assert listed(containers.claim) == []
        containers.close()


async def nothing(toolbox: Toolbox) -> None:
    """Only open and close."""


def test_an_attempt_has_a_container_of_its_own_that_is_gone_at_the_end(image: str, world: World) -> None:
    containers = Containers()

    async def who(toolbox: Toolbox) -> str:
        assert len(listed(containers.claim)) == 1
        return (await toolbox.call("who", {})).text.split()[0]

    server = Server.container(image, wait="/health", env={"READY_AFTER": "0.3"})
    first, second = (world.run(who, server, containers=containers) for _ in range(2))
    assert first != second
    assert listed(containers.claim) == []
    containers.close()


def test_values_of_the_attempt_are_in_its_variables_and_headers(image: str, world: World) -> None:
    async def ask(toolbox: Toolbox) -> tuple[str, str]:
        return (
            (await toolbox.call("variable", {"name": "CLOCK"})).text,
            (await toolbox.call("who", {})).text.split()[1],
        )

    server = Server.container(
        image, env={"CLOCK": "{attempt_id} ${HOME}"}, headers={"X-Attempt": "{attempt_id}"}
    )
    attempt = "test_shop.py::test_order[try3]"
    assert played(world, ask, server) == (f"{attempt} ${{HOME}}", attempt)


def test_a_container_is_ready_when_its_log_says_so(image: str, world: World) -> None:
    async def who(toolbox: Toolbox) -> str:
        return (await toolbox.call("variable", {"name": "LISTEN_AFTER"})).text

    server = Server.container(image, wait="^listen.ng$", env={"LISTEN_AFTER": "0.5"})
    with pytest.raises(InfrastructureDown, match="did not start"):  # it says so before it does so
        played(world, who, Server.container(image, wait="^", env={"LISTEN_AFTER": "2"}))
    assert played(world, who, server) == "0.5"


def test_one_that_ends_at_once_is_the_authors_to_change_and_later_an_outage(image: str, world: World) -> None:
    containers = Containers()
    refusing = Server.container(image, env={"REFUSE": "yes"})
    with pytest.raises(
        ConfigurationError, match="its container ended before it was ready: cannot start: no licence"
    ):
        world.run(nothing, refusing, containers=containers)
    world.run(nothing, Server.container(image), containers=containers)
    with pytest.raises(InfrastructureDown, match="its container ended before it was ready"):
        world.run(nothing, refusing, containers=containers)
    assert listed(containers.claim) == []
    containers.close()


def test_one_that_dies_is_an_outage(image: str, world: World) -> None:
    async def die(toolbox: Toolbox) -> None:
        await toolbox.call("die", {})

    with pytest.raises(InfrastructureDown):
        played(world, die, Server.container(image))


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (
            Server.container("IMAGE", env={"DB": "{database_url}"}),
            r"files of the sqlite backend; use a server",
        ),
        (Server.container("IMAGE", env={"DIR": "{workdir}"}), r"does not see the files of this machine"),
        (
            Server.container("IMAGE", scope="campaign", env={"WHO": "{attempt_id}"}),
            r'with scope="campaign" only path and headers can tell of an attempt',
        ),
        (Server.container("IMAGE", command=["/no/such/program"]), r"does not start"),
        (Server.container("localhost:1/no/such:image"), r"does not start|cannot be pulled"),
    ],
    ids=["sqlite", "workdir", "campaign", "program", "image"],
)
def test_what_cannot_be_is_a_configuration_error(
    image: str, world: World, server: Server, message: str
) -> None:
    if server.image == "IMAGE":
        server = dataclasses.replace(server, image=image)
    with pytest.raises(ConfigurationError, match=message):
        played(world, nothing, server)


def test_one_for_all_is_the_same_for_two_attempts_and_is_begun_again_when_it_died(
    image: str, world: World
) -> None:
    containers = Containers()
    server = Server.container(image, scope="campaign", headers={"X-Attempt": "{attempt_id}"})

    async def who(toolbox: Toolbox) -> list[str]:
        return (await toolbox.call("who", {})).text.split()

    first = world.run(who, server, containers=containers, attempt_id="one")
    second = world.run(who, server, containers=containers, attempt_id="two")
    assert (first[0], first[1], second[1]) == (second[0], "one", "two")
    subprocess.run(["docker", "kill", *listed(containers.claim)], check=True, capture_output=True)
    third = world.run(who, server, containers=containers, attempt_id="three")
    assert third[0] != first[0]
    assert len(listed(containers.claim)) == 1
    containers.close()
    assert listed(containers.claim) == []


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_an_attempt_on_a_server_writes_through_its_container_and_to_its_sinks(
    image: str, kind: str, request: pytest.FixtureRequest, suite: Callable[..., Path], run: Run
) -> None:
    url = request.getfixturevalue(kind)
    suite(f"""
        from pytest_thinkingbox import Mail, Tools, Webhook

        image = {image!r}
        told = {{"DATABASE_URL": "{{database_url}}", "MAIL_HOST": "{{mail_host}}", "MAIL_PORT": "{{mail_port}}",
                "HTTP_URL": "{{http_url}}"}}
        box = Environment(name="box", database=shop.database, http=True, servers=[
            Server.container(image, env=told, tools=Tools(only=["execute", "send_mail", "post"])),
            Server.container(image, scope="campaign", headers={{"X-Database": "{{database_url}}"}},
                             tools=Tools(only=["execute"], rename={{"execute": "execute_too"}})),
        ])

        @box.task("Do it.", solution=[
            call("execute", statement="UPDATE orders SET status = 'closed' WHERE id = 1"),
            call("execute_too", statement="INSERT INTO notes (id, text) VALUES (7, 'hello')"),
            call("send_mail", to="me@example.com"), call("post")])
        def test_it(changes, outbox):
            assert changes == [Updated("orders", 1, status="closed"), Inserted("notes", id=7, text="hello")]
            assert outbox.mail == [Mail(to="me@example.com")]
            assert outbox.http == [Webhook(method="POST", path="/hook")]

        @box.task("Ask wrongly.", solution=[call.failing("execute", statement="SELECT nonsense")])
        def test_error(attempt, changes):
            assert changes == []
            [one] = attempt.tool_calls
            assert one.error and "nonsense" in one.result
            assert "@" not in one.result and "tb_" not in one.result, one.result
    """)
    before = subprocess.run(["docker", "network", "ls", "-q"], capture_output=True).stdout
    outcome = run("-n2", f"--tb-backend={url}", "--tb-concurrency=2")
    assert outcome.counts == {"passed": 2}, outcome.text
    campaign = next(Path(".thinkingbox").iterdir()).name
    left = subprocess.run(["docker", "ps", "-a", "--format", "{{.Names}}"], capture_output=True, text=True)
    assert campaign not in left.stdout
    assert subprocess.run(["docker", "network", "ls", "-q"], capture_output=True).stdout == before  # T31


def test_a_relay_passes_on_both_ways_and_cuts_when_it_closes() -> None:
    async def play() -> tuple[bytes, bytes]:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(1000):
                writer.write(data.upper())
            writer.write(b"bye")
            writer.close()

        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            target = server.sockets[0].getsockname()[1]
            async with open_relay("127.0.0.1", host="127.0.0.1", port=target) as port:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                other, other_writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"hello")
                first = await reader.readexactly(5)
                writer.write_eof()
                first += await reader.read()
                other_writer.write(b"more")
                await other.readexactly(4)
            cut = await other.read()
            for one in (writer, other_writer):
                one.close()
        return first, cut

    assert asyncio.run(play()) == (b"HELLObye", b"")
