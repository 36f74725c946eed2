"""Whole runs of pytest whose database server breaks: attempts are invalid, never failed, and the campaign goes on."""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from sqlalchemy import make_url, text

from pytest_thinkingbox.backends import local_server
from pytest_thinkingbox.backends.mysql import MySQLBackend
from pytest_thinkingbox.backends.mysql import rebuild as mysql_rebuild
from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.backends.postgres import rebuild as postgres_rebuild
from pytest_thinkingbox.backends.server.plan import ServerPlan
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.state.model import RowChange, StateDiff
from tests.backends.postgres.worlds import environment_of
from tests.conftest import Outcome, Run
from tests.support.servers import MARIADB_IMAGE, POSTGRES_IMAGE, need_image, started

pytestmark = pytest.mark.slow

IMAGES = {"postgres": POSTGRES_IMAGE, "mariadb": MARIADB_IMAGE}
VARIABLES = {"postgres": "THINKINGBOX_POSTGRES_IMAGE", "mariadb": "THINKINGBOX_MARIADB_IMAGE"}

SUITE = """
    import subprocess
    from pathlib import Path

    def break_it():
        first = not Path("broken").exists()
        Path("broken").touch()
        if first:
            campaign = max(Path(".thinkingbox").glob("2*")).name
            for command in COMMANDS:
                listed = ["docker", "ps", f"--filter=name=thinkingbox-{campaign}", "--format={{.Names}}"]
                (name,) = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
                subprocess.run(command.format(name=name), shell=True, check=True)

    async def agent(task):
        break_it()
        await task.call_tool("set_status", {"order_id": 1, "status": "closed"})
        return "done"

    @pytest.mark.parametrize("task", [1, 2])
    @shop.task("Close order 1.", limits=Limits(tool_seconds=3))
    def test_close(changes, task):
        assert changes == [Updated("orders", 1, status="closed")]
"""

BACKENDS: dict[str, type[PostgresBackend] | type[MySQLBackend]] = {
    "postgres": PostgresBackend, "mariadb": MySQLBackend
}  # fmt: skip
ORDERS = (
    "CREATE TABLE orders (id int PRIMARY KEY, status varchar(20) NOT NULL)",
    "INSERT INTO orders VALUES (1, 'open')",
)

STARTED_AGAIN = "the database server broke down and was started again; what ran on it was played again"


@pytest.fixture(params=["postgres", "mariadb"])
def kind(request: pytest.FixtureRequest) -> str:
    need_image(IMAGES[request.param], VARIABLES[request.param])
    return str(request.param)


def of_agent(*arguments: str) -> tuple[str, ...]:
    return (*arguments, "--tb-agent=python:test_shop:agent", "--tb-concurrency=2")


@pytest.mark.parametrize(
    "command",
    ["docker kill {name}", "docker pause {name}", "docker network disconnect bridge {name}"],
    ids=["kill", "pause", "network"],
)
def test_a_container_that_breaks_is_replaced_once_and_nothing_is_lost(
    kind: str, command: str, suite: Callable[..., Path], run: Run
) -> None:
    suite(f"COMMANDS = [{command + ' >/dev/null'!r}]\n" + SUITE.replace("\n    ", "\n"))
    outcome = run(
        *of_agent("-p", "no:xdist", f"--tb-backend={IMAGES[kind]}", "--tb-attempts=2"),
        agent=None,
        subprocess=True,
    )
    assert outcome.counts == {"passed": 4}, outcome.text
    campaign = next(Path(".thinkingbox").glob("2*")).name
    assert STARTED_AGAIN in outcome.text
    check(outcome)
    left = subprocess.run(["docker", "ps", "-a", "--format", "{{.Names}}"], capture_output=True, text=True)
    assert campaign not in left.stdout


def check(outcome: Outcome, *, attempts: int = 4) -> None:
    """Every attempt passed in the end, what was invalid is an outage, and the summary counts it."""
    records = outcome.records()
    assert {(one["outcome"], one["cause"]) for one in records if not one["final"]} == {
        ("invalid", "infrastructure")
    }
    assert outcome.outcomes() == ["passed"] * attempts
    assert f", {len(records) - attempts} tries played again" in " ".join(outcome.text.split())


def test_two_workers_replace_it_once(kind: str, suite: Callable[..., Path], run: Run) -> None:
    suite("COMMANDS = ['docker kill {name} >/dev/null']\n" + SUITE.replace("\n    ", "\n"))
    outcome = run(
        *of_agent("-n2", f"--tb-backend={IMAGES[kind]}", "--tb-attempts=3"), agent=None, subprocess=True
    )
    assert outcome.counts == {"passed": 6}, outcome.text
    assert STARTED_AGAIN in outcome.text
    check(outcome, attempts=6)


def test_a_server_that_was_there_is_waited_for_while_it_restarts(
    kind: str, suite: Callable[..., Path], run: Run
) -> None:
    with started(IMAGES[kind]) as url:
        listed = ["docker", "ps", f"--filter=publish={make_url(url).port}", "--format={{.Names}}"]
        (name,) = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
        body = SUITE.replace("\n    ", "\n").replace("campaign = max", "max")
        body = body.replace('f"--filter=name=thinkingbox-{campaign}"', f'"--filter=name={name}"')
        suite("COMMANDS = ['docker restart -t 1 {name} >/dev/null']\n" + body)
        outcome = run(
            *of_agent("-p", "no:xdist", f"--tb-backend={url}", "--tb-attempts=4", "--tb-retry-invalid=1"),
            agent=None,
            subprocess=True,
        )
    assert outcome.counts == {"passed": 8}, outcome.text
    check(outcome, attempts=8)


def test_whoever_looks_at_the_state_when_the_server_dies_meets_an_outage(kind: str) -> None:
    with started(IMAGES[kind]) as url:
        backend = BACKENDS[kind](url, label=f"looks-{secrets.token_hex(4)}")
        shop = environment_of(*ORDERS)
        begun = backend.acquire(shop, None, attempt_id="a")
        judged = backend.acquire(shop, None, attempt_id="b")
        judged.cut()
        reading = judged.connect_after()
        assert reading.scalar(text("SELECT status FROM orders")) == "open"
        assert judged.rows("orders", {}) == [{"id": 1, "status": "open"}]

        kill_at(url)
        change = RowChange(
            "update", "orders", (1,), {"id": 1, "status": "open"}, {"id": 1, "status": "closed"}
        )
        for look in (
            lambda: reading.scalar(text("SELECT status FROM orders")),
            judged.connect_after,
            judged.connect_before,
            lambda: judged.rows("orders", {}),
            lambda: judged.read_changes(audit=False),
            lambda: begun.rebuild(StateDiff(rows=(change,))),
            begun.cut,
        ):
            with pytest.raises(InfrastructureDown):
                look()
        if kind == "postgres":  # which is asked for its settings before the first attempt has a connection
            with pytest.raises(InfrastructureDown):
                begun.engine  # noqa: B018
        for lease in (begun, judged):
            lease.release()
        backend.close()


def kill_at(url: str) -> None:
    """The container that answers there; nothing when it was killed already."""
    found = subprocess.run(
        ["docker", "ps", "--quiet", "--filter", f"publish={make_url(url).port}"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    if found.stdout.strip():
        subprocess.run(["docker", "kill", found.stdout.strip()], check=True, capture_output=True)


@pytest.mark.parametrize("method", ["delete", "insert"])
def test_a_server_that_dies_while_a_state_is_made_again_says_nothing_about_the_record(
    kind: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started(IMAGES[kind]) as url:
        backend = BACKENDS[kind](url, label=f"again-{secrets.token_hex(4)}")
        lease = backend.acquire(environment_of(*ORDERS), None, attempt_id="a")
        place = postgres_rebuild._Writer if kind == "postgres" else mysql_rebuild
        name = method if kind == "postgres" else "_write"
        written = getattr(place, name)

        def dying(*arguments: Any) -> None:
            kill_at(url)
            written(*arguments)

        monkeypatch.setattr(place, name, dying)
        row = {"id": 1, "status": "open"}
        with pytest.raises(InfrastructureDown):
            lease.rebuild(StateDiff(rows=(RowChange("update", "orders", (1,), row, row | {"status": "x"}),)))
        lease.release()
        backend.close()


def test_a_server_that_dies_after_the_last_look_of_a_checker_costs_no_verdict(
    kind: str, suite: Callable[..., Path], run: Run
) -> None:
    suite("""
        import subprocess
        from pathlib import Path

        @shop.task("Close order 1.", solution=CLOSE_1)
        def test_close(attempt, changes):
            assert attempt.db.execute(text("SELECT status FROM orders WHERE id = 1")).scalar() == "closed"
            campaign = max(Path(".thinkingbox").glob("2*")).name
            listed = ["docker", "ps", "-q", f"--filter=name=thinkingbox-{campaign}"]
            [name] = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
            subprocess.run(["docker", "kill", name], check=True, capture_output=True)
            assert changes == [Updated("orders", 1, status="closed")]
    """)
    outcome = run(
        "-p", "no:xdist", f"--tb-backend={IMAGES[kind]}", "--tb-attempts=1",
        agent="solution", subprocess=True,
    )  # fmt: skip
    assert outcome.counts == {"passed": 1}, outcome.text
    assert outcome.outcomes() == ["passed"]


@contextmanager
def small(kind: str, size: str) -> Iterator[tuple[str, str]]:
    """The name and the URL of a server whose files lie in a small memory file system."""
    plan = ServerPlan.make(IMAGES[kind], campaign=f"small-{secrets.token_hex(4)}")
    own = local_server(plan)
    product = own._product  # type: ignore[attr-defined]
    try:
        subprocess.run(
            [
                "docker", "run", "-d", "--name", plan.name, "-p", f"127.0.0.1:{plan.port}:{product.port}",
                "--tmpfs", f"{product.data}:rw,size={size}",
                *(f"-e{name}={value}" for name, value in product.environment(plan.password).items()),
                IMAGES[kind], *product.command({}),
            ],
            check=True, capture_output=True,
        )  # fmt: skip
        yield plan.name, own.ensure(image=None, options={}, say=print)
    finally:
        subprocess.run(["docker", "rm", "-fv", plan.name], capture_output=True)
        own.stop()


def test_a_full_disk_is_an_outage_until_there_is_room_again(
    kind: str, suite: Callable[..., Path], run: Run
) -> None:
    with small(kind, "400m" if kind == "postgres" else "300m") as (name, url):
        data = "/var/lib/postgresql/data" if kind == "postgres" else "/var/lib/mysql"
        fill = f"docker exec {name} sh -c 'cat /dev/zero > {data}/ballast 2>/dev/null; true'"
        suite(f"""
            import subprocess
            from pathlib import Path

            def run_it(connection: Connection) -> str:
                "Write much."
                if not Path("filled").exists():
                    Path("filled").touch()
                    subprocess.run({fill!r}, shell=True, check=True)
                for number in range(10, 3000):
                    connection.execute(insert(log).values(id=number, line="x" * 200))
                return "done"

            def note(connection: Connection) -> str:
                "Write a note."
                connection.execute(insert(notes).values(id=1, text="hello"))
                return "done"

            wide = Environment(name="wide", database=shop.database, servers=[Server.functions([run_it, note])])

            async def agent(task):
                try:
                    await task.call_tool("run_it", {{}})
                    await task.call_tool("note", {{}})
                finally:
                    subprocess.run("docker exec {name} rm -f {data}/ballast", shell=True, check=True)
                return "done"

            @wide.task("Write.")
            def test_write(changes):
                assert changes == [Inserted("notes", text="hello")]
        """)
        outcome = run(
            *of_agent("-p", "no:xdist", f"--tb-backend={url}", "--tb-attempts=1"), agent=None, subprocess=True
        )
        assert outcome.counts == {"passed": 1}, outcome.text
        check(outcome, attempts=1)


def test_exhausted_connections_are_an_outage_until_some_are_free(
    kind: str, suite: Callable[..., Path], run: Run
) -> None:
    suite("""
        from pathlib import Path
        import tests.backends.test_server_faults as faults

        async def agent(task):
            held = []
            if not Path("held").exists():
                Path("held").touch()
                held = faults.hold_all({URL!r})
            try:
                await task.call_tool("set_status", {{"order_id": 1, "status": "closed"}})
            finally:
                for one in held:
                    one.close()
            return "done"

        @shop.task("Close order 1.")
        def test_close(changes):
            assert changes == [Updated("orders", 1, status="closed")]
    """)
    with started(IMAGES[kind]) as url:
        path = Path("test_shop.py")
        path.write_text(path.read_text().replace("{URL!r}", repr(url)).replace("{{", "{").replace("}}", "}"))
        outcome = run(*of_agent("-p", "no:xdist", f"--tb-backend={url}", "--tb-attempts=2"), agent=None)
        assert outcome.counts == {"passed": 2}, outcome.text
        check(outcome, attempts=2)


def hold_all(url: str) -> list[psycopg.Connection] | list[pymysql.Connection]:  # type: ignore[type-arg]
    """Connections until the server has none left."""
    found = make_url(url)
    held: list = []  # type: ignore[type-arg]
    address = found.set(drivername="postgresql").render_as_string(hide_password=False)
    while True:
        try:
            held.append(
                psycopg.connect(address)
                if found.drivername.startswith("postgresql")
                else pymysql.connect(
                    host=found.host, port=found.port, user=found.username, password=found.password
                )
            )
        except (psycopg.OperationalError, pymysql.OperationalError):
            time.sleep(0.1)
            return held
