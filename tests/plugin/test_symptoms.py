"""What users of comparable tools complained about, through a whole run of pytest."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from textwrap import dedent

import pytest

import pytest_thinkingbox.cli
import pytest_thinkingbox.plugin.start
import pytest_thinkingbox.report.reading
import pytest_thinkingbox.report.terminal
from pytest_thinkingbox.agents.endpoint import Endpoint
from tests.support.stub_endpoint import StubEndpoint, by_turn, calls, fails, says

CLOSES = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""

IDLE = """
@shop.task("Close order 1.", solution=CLOSE_1, no_change=True)
def test_idle(changes):
    assert changes == []
"""

DOWN = """
    from pytest_thinkingbox.errors import InfrastructureDown

    async def agent(task):
        number = int(task.attempt_id.rpartition("[try")[2].rstrip("]"))
        if "close" in task.attempt_id and number > {valid}:
            raise InfrastructureDown("the tool server died")
        await task.call_tool("set_status", {{"order_id": 1, "status": "closed"}})
        return "done"
"""
"""An agent in whose attempts after the first few the infrastructure dies."""


@pytest.fixture
def quick_backoff(monkeypatch):
    """Requests are repeated after milliseconds."""
    defaults = {**Endpoint.__init__.__kwdefaults__, "backoff": 0.001}
    monkeypatch.setattr(Endpoint.__init__, "__kwdefaults__", defaults)


def model_options(stub):
    return ["--tb-model=stub", f"--tb-base-url={stub.url}"]


def test_t1_one_pass_and_three_broken_attempts_are_not_enough_for_a_gate(suite, run_everywhere, pytester):
    pytester.makepyfile(down=DOWN.format(valid=1))
    suite(CLOSES)
    outcome = run_everywhere(
        "--tb-attempts=4", "--tb-retry-invalid=0", "--tb-min-pass-rate=0.5", agent="python:down:agent"
    )
    assert outcome.outcomes() == ["passed", "infrastructure", "infrastructure", "infrastructure"]
    assert "pass@1    100.0 % (mean over 1 of 1 task)" in outcome.text
    assert "1/1 passed, 1 of 4 valid, 3 invalid" in outcome.text
    assert "pass rate >= 0.5: not enough valid attempts: 1/1 passed, 1 of 4 valid" in outcome.text
    assert outcome.status == 8


def test_t3_a_k_larger_than_the_valid_attempts_is_not_available_for_that_task_only(suite, run, pytester):
    pytester.makepyfile(down=DOWN.format(valid=1))
    suite(CLOSES + CLOSES.replace("test_close", "test_other"))
    outcome = run("--tb-attempts=2", "--tb-retry-invalid=0", agent="python:down:agent")
    assert "n/a: k=2 for 1 task, with fewer than k valid attempts" in outcome.text
    lines = {line.split(" ")[0]: line.split() for line in outcome.text.splitlines() if line}
    assert lines["pass@k"] == ["pass@k", "100.0", "%", "100.0", "%"]
    assert lines["of"] == ["of", "tasks", "2/2", "1/2"]


def test_t51_three_valid_passes_of_twenty_are_unsettled_and_not_reliable(suite, run, pytester):
    pytester.makepyfile(down=DOWN.format(valid=3))
    suite(CLOSES)
    outcome = run("--tb-attempts=20", "--tb-retry-invalid=0", agent="python:down:agent")
    assert "20/20     0-1 of 1 task passed every attempt, 1 unsettled" in outcome.text
    assert "(3 of 20 valid)" in outcome.text
    assert outcome.status == 8


def test_t10_what_the_database_means_to_be_equal_compares_equal(suite, run):
    suite("""
    import json
    from datetime import datetime, timedelta, timezone
    from decimal import Decimal
    from sqlalchemy import JSON, DateTime, Float

    values = MetaData()
    facts = Table(
        "facts", values,
        Column("id", Integer, primary_key=True),
        Column("price", Numeric(12, 4)), Column("score", Float), Column("about", JSON),
        Column("at", DateTime(timezone=True)), Column("remark", String(10)),
    )

    def write(connection: Connection) -> str:
        connection.execute(facts.insert(), [
            {"id": 2, "price": Decimal("25.0000"), "score": 25, "about": {"b": [1, 2.0], "a": None},
             "at": datetime(2026, 3, 1, 12, tzinfo=timezone.utc), "remark": None},
            {"id": 1, "price": Decimal("0.1"), "score": 0.5, "about": None, "at": None, "remark": None},
        ])
        return "done"

    world = Environment(name="facts", database=Database(schema=values), servers=[Server.functions([write])], mail=False)

    @world.task("Write.", solution=[call("write")])
    def test_equal(attempt, changes):
        assert changes == [
            Inserted("facts", id=1, price=Decimal("0.10"), score=0.5, about=None, at=None, remark=None),
            Inserted("facts", id=2, price=25, score=25.0, about=json.loads('{"a": null, "b": [1.0, 2]}'), remark=None),
        ]
        assert attempt.row("facts", price=Decimal("25"))["id"] == 2

    @world.task("Write.", solution=[call("write")])
    def test_different(changes):
        assert changes == [
            Inserted("facts", id=1, price=Decimal("0.10")), Inserted("facts", id=2, price=25, remark=""),
        ]
    """)
    outcome = run()
    assert [(one["task"].rpartition("::")[2], one["outcome"]) for one in outcome.records()] == [
        ("test_different", "failed"),
        ("test_equal", "passed"),
    ], outcome.text
    assert "remark" in outcome.records()[0]["detail"]


LOGGED = """
def look(connection: Connection) -> str:
    connection.execute(insert(log).values(line="looked"))
    return "5 orders"

def watched(bookkeeping):
    return Environment(
        name="watched", database=Database(schema=metadata, seed=seed, bookkeeping=bookkeeping),
        servers=[Server.functions([look, set_status])], mail=False,
    )

LOOK_AND_CLOSE = [call("look"), *CLOSE_1]
"""


def test_t11_a_log_that_read_tools_write_is_ignorable_by_name(suite, run):
    suite(
        LOGGED
        + dedent("""
    @watched(["log"]).task("Close order 1.", solution=LOOK_AND_CLOSE)
    def test_bookkeeping(changes):
        assert changes == [Updated("orders", 1, status="closed")]

    @watched([]).task("Close order 1.", solution=LOOK_AND_CLOSE)
    def test_ignored(changes):
        changes.ignore("log")
        assert changes == [Updated("orders", 1, status="closed")]

    @watched([]).task("Close order 1.", solution=LOOK_AND_CLOSE)
    def test_not_ignored(attempt, changes):
        assert changes.take(Updated("orders", 1, status="closed"))

    @watched([]).task("Close order 1.", solution=LOOK_AND_CLOSE)
    def test_unknown(changes):
        changes.ignore("logs")
    """)
    )
    outcome = run()
    found = {one["task"].rpartition("::")[2]: one for one in outcome.records()}
    assert {name: one["cause"] or one["outcome"] for name, one in found.items()} == {
        "test_bookkeeping": "passed",
        "test_ignored": "passed",
        "test_not_ignored": "failed",
        "test_unknown": "checker",
    }
    assert "log" in found["test_not_ignored"]["detail"]
    assert "'logs'" in found["test_unknown"]["detail"]
    # Raw, so that the attempt can be graded again under other rules.
    assert "looked" in json.dumps(found["test_bookkeeping"]["changes"])


def test_t11_bookkeeping_that_names_no_table_is_an_error_before_anything_runs(suite, run):
    suite(
        LOGGED
        + dedent("""
    @watched(["logs"]).task("Close order 1.", solution=LOOK_AND_CLOSE)
    def test_close(changes):
        assert changes == [Updated("orders", 1, status="closed")]
    """)
    )
    outcome = run("--tb-attempts=3")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "'logs'" in outcome.text
    assert outcome.records() == []


@pytest.mark.parametrize(
    ("solution", "why"),
    [
        ("lambda: 1 / 0", "the solution raised ZeroDivisionError"),
        ("lambda: []", "the solution has no step"),
        (
            "[call('close_order', order_id=1)]",
            "solution step 1, close_order(order_id=1), came back as an error",
        ),
        ("[call('run_sql', statement='DELETE FROM nowhere')]", "came back as an error"),
    ],
    ids=["raises", "nothing", "no such tool", "tool error"],
)
def test_t12_a_broken_solution_is_the_tasks_fault_and_is_never_played_again(suite, run, solution, why):
    suite(f"""
    @shop.task("Close order 1.", solution={solution})
    def test_close(changes):
        assert changes == [Updated("orders", 1, status="closed")]
    """)
    outcome = run()
    assert outcome.status == 8
    assert outcome.outcomes() == ["checker"]
    assert why in outcome.records()[0]["detail"]
    assert why in outcome.text
    assert len(outcome.records()) == 1


def test_t12_a_solution_that_changes_nothing_fails_its_task(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=[call.say("It is closed.")])
    def test_close(changes):
        assert changes == [Updated("orders", 1, status="closed")]
    """)
    outcome = run()
    assert outcome.status == 1
    assert outcome.outcomes() == ["failed"]


DIES_ONCE = """
from pytest_thinkingbox import ServerContext
import pathlib, sqlite3

def close_order(context: ServerContext) -> str:
    '''Close order 1.'''
    with context.engine.begin() as connection:
        connection.execute(orders.update().where(orders.c.id == 1).values(status="closed"))
        if not pathlib.Path("died").exists():
            pathlib.Path("died").touch()
            gone = context.engine.dialect.dbapi.connect("file:/nowhere/at/all.db?mode=ro", uri=True)
    return "closed"

fragile = Environment(
    name="fragile", database=Database(schema=metadata, seed=seed),
        servers=[Server.functions([close_order])], mail=False,
)

@fragile.task("Close order 1.")
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""


def test_t16_a_database_that_dies_in_a_call_is_retried_and_never_shown_to_the_model(suite, run):
    suite(DIES_ONCE)
    with StubEndpoint(by_turn([calls(("close_order", {})), says("done")])) as stub:
        outcome = run(*model_options(stub), agent=None)
    first, second = outcome.records()
    assert (first["outcome"], first["cause"], first["final"]) == ("invalid", "infrastructure", False)
    assert "unable to open database file" in first["detail"]
    assert first["changes"] is None
    assert (second["outcome"], second["try_number"], second["final"]) == ("passed", 2, True)
    assert outcome.counts == {"passed": 1}
    assert outcome.status == 0
    seen = b"".join(one.body for one in stub.received)
    assert b"unable to open" not in seen
    # First try: one request, which has no successor. Second try: two.
    assert [len(one.messages) for one in stub.received] == [1, 1, 3]


@pytest.mark.parametrize(
    "ending",
    ["pass", "raise Stop('turn_limit')"],
    ids=["tries until its time is up", "gives up with a reason of its own"],
)
def test_t16_an_agent_that_takes_no_notice_of_it_has_not_failed(suite, run, pytester, ending):
    pytester.makepyfile(
        stubborn=f"""
        import asyncio
        from pytest_thinkingbox.agents.base import Stop

        async def agent(task):
            while True:
                try:
                    return (await task.call_tool("close_order", {{}})).text
                except Exception:
                    {ending}
                await asyncio.sleep(0.05)
        """
    )
    suite(DIES_ONCE)
    outcome = run("--tb-timeout=1", agent="python:stubborn:agent")
    first, second = outcome.records()
    assert (first["outcome"], first["cause"], first["final"]) == ("invalid", "infrastructure", False)
    assert "unable to open database file" in first["detail"]
    assert (second["outcome"], second["final"]) == ("passed", True)


def test_t18_a_context_that_overflows_is_the_agents_failure_and_not_retried(suite, run):
    overflow = fails(
        400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded"
    )
    suite(CLOSES + IDLE)
    with StubEndpoint(by_turn([calls(("add_note", {"words": "a"})), overflow])) as stub:
        outcome = run(*model_options(stub), agent=None)
    assert outcome.status == 1
    assert outcome.counts == {"failed": 2}
    for record in outcome.records():
        assert (record["outcome"], record["stop_reason"]) == ("failed", "context_overflow")
    assert len(outcome.records()) == 2
    assert len(stub.received) == 4


def test_t18_also_in_the_first_request(suite, run):
    overflow = fails(
        400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded"
    )
    suite(CLOSES)
    with StubEndpoint(lambda _: overflow) as stub:
        outcome = run(*model_options(stub), agent=None)
    assert [(one["outcome"], one["stop_reason"]) for one in outcome.records()] == [
        ("failed", "context_overflow")
    ]
    assert len(stub.received) == 1


def test_t19_a_tool_that_does_not_exist_and_wrong_arguments_are_text_for_the_agent(suite, run):
    suite(CLOSES)
    script = by_turn(
        [
            calls(("set_stats", {"order_id": 1})),
            calls(("set_status", {"order": 1, "status": "closed"})),
            calls(("set_status", {"order_id": "first", "status": "closed"})),
            calls(("set_status", '{"order_id": 1,')),
            calls(("set_status", {"order_id": 1, "status": "closed"})),
            says("done"),
        ]
    )
    with StubEndpoint(script) as stub:
        outcome = run(*model_options(stub), agent=None)
    assert outcome.counts == {"passed": 1}
    (record,) = outcome.records()
    assert [one["error"] for one in record["tool_calls"]] == [True, True, True, True, False]
    results = [one["content"] for one in stub.received[-1].messages if one["role"] == "tool"]
    assert results[0].startswith("There is no tool named 'set_stats'. Did you mean set_status?")
    assert "it has no argument 'order'; its arguments are: order_id, status" in results[1]
    assert "order_id" in results[2]
    assert "not valid JSON" in results[3]
    assert results[4] == "done"


@pytest.mark.parametrize(
    ("status", "xdist"),
    [
        *((status, ["-p", "no:xdist"]) for status in (400, 401, 403, 404)),
        pytest.param(401, ["-n2"], marks=pytest.mark.slow),
    ],
    ids=["400", "401", "403", "404", "401-n2"],
)
def test_t20_a_refusal_before_the_first_success_stops_the_campaign_at_once(suite, run, status, xdist):
    suite(CLOSES + "\n@pytest.mark.thinkingbox(attempts=20)" + CLOSES.replace("test_close", "test_again"))
    with StubEndpoint(lambda _: fails(status, "I do not know you")) as stub:
        outcome = run(
            *model_options(stub),
            "--tb-attempts=20",
            "--tb-concurrency=4",
            "--tb-min-pass-rate=0",
            *xdist,
            agent=None,
        )
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "I do not know you" in outcome.text
    assert str(status) in outcome.text
    assert (
        "OPENAI_API_KEY" in outcome.text
        or "--tb-base-url" in outcome.text
        or "accepts the request" in outcome.text
    )
    assert 1 <= len(stub.received) <= 4  # those that were under way at once
    assert outcome.records() == []


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_t20_the_same_after_a_success_is_an_invalid_attempt(suite, run, status):
    suite(CLOSES)
    good = [calls(("set_status", {"order_id": 1, "status": "closed"})), says("done")]
    refused = fails(status, "gone")

    def script(received):
        return by_turn(good)(received) if received.number < 2 else refused

    with StubEndpoint(script) as stub:
        outcome = run(
            *model_options(stub), "--tb-attempts=3", "--tb-concurrency=1", "--tb-retry-invalid=1", agent=None
        )
    assert outcome.outcomes() == ["passed", "provider", "provider"]
    assert outcome.counts == {"passed": 1, "errors": 2}
    assert outcome.status == 8
    assert len(stub.received) == 2 + 4  # two attempts, two tries each


def test_an_outage_within_the_time_limit_of_the_agent_is_no_failure(suite, run):
    suite(CLOSES)
    good = by_turn([calls(("set_status", {"order_id": 1, "status": "closed"})), says("done")])

    def script(received):
        return fails(503, "busy", headers={"retry-after": "1"}) if received.number == 1 else good(received)

    with StubEndpoint(script) as stub:
        outcome = run(*model_options(stub), "--tb-timeout=0.9", agent=None)
    assert [(one["outcome"], one["stop_reason"]) for one in outcome.records()] == [("passed", "done")]
    assert len(stub.received) == 3


def test_an_endpoint_that_stays_down_is_invalid_whatever_the_time_limit(suite, run, quick_backoff):
    suite(CLOSES)
    with StubEndpoint(lambda _: fails(503, "busy", headers={"retry-after-ms": "150"})) as stub:
        outcome = run(*model_options(stub), "--tb-timeout=0.2", "--tb-retry-invalid=1", agent=None)
    assert outcome.outcomes() == ["provider"]
    assert outcome.status == 8
    assert len(stub.received) == 14


NASTY = "emoji \U0001f600, surrogate \ud800, nul \0, escape \x1b[31m, </script>, ]]>, \u2028"


@pytest.mark.parametrize(
    "xdist",
    [["-p", "no:xdist"], pytest.param(["-n2"], marks=pytest.mark.slow)],
    ids=["plain", "n2"],
)
def test_t26_any_character_leaves_records_junit_and_terminal_valid(suite, run, pytester, capsys, xdist):
    pytester.makepyfile(
        nasty=f"""
        NASTY = {NASTY!r}

        async def agent(task):
            for words in (NASTY, NASTY.replace("\\ud800", "")):
                await task.call_tool("add_note", {{"words": words}})
            await task.call_tool("shout", {{}})
            return NASTY
        """
    )
    suite("""
    from nasty import NASTY

    def shout() -> str:
        return NASTY.replace("\\ud800", "") + "x" * 5_000_000

    loud = Environment(
        name="loud", database=Database(schema=metadata, seed=seed),
        servers=[Server.functions([add_note, shout])], mail=False,
    )

    @loud.task("Write " + NASTY)
    def test_passes(attempt, changes):
        assert changes == [Inserted("notes", text=NASTY.replace("\\ud800", ""))]
        assert attempt.response == NASTY

    @loud.task("Write.")
    def test_fails(attempt, changes):
        print(NASTY)
        assert attempt.response == "something else", NASTY

    @loud.task("Write.")
    def test_fails_by_rows(changes):
        assert changes == []

    @loud.task("Write.")
    def test_unaccounted():
        pass

    @loud.task("Write.")
    def test_raises():
        raise KeyError(NASTY)
    """)
    outcome = run("--junitxml=junit.xml", *xdist, agent="python:nasty:agent")
    found = {one["task"].rpartition("::")[2]: one for one in outcome.records()}
    assert {name: one["cause"] or one["outcome"] for name, one in found.items()} == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_fails_by_rows": "failed",
        "test_unaccounted": "failed",
        "test_raises": "checker",
    }, outcome.text
    assert found["test_passes"]["response"] == NASTY
    assert [one["error"] for one in found["test_passes"]["tool_calls"]] == [True, False, False]
    assert len(found["test_passes"]["tool_calls"][2]["result"]) > 5_000_000
    suites = ElementTree.parse(pytester.path / "junit.xml").getroot()[0].attrib
    assert {key: suites[key] for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "3", "errors": "1", "skipped": "0",
    }  # fmt: skip
    assert outcome.status == 1
    assert "\x1b[31m" not in outcome.text
    assert "\0" not in outcome.text
    assert max(len(line) for line in outcome.text.splitlines()) < 5000
    capsys.readouterr()
    folder = str(pytester.path / ".thinkingbox")
    for command in (["report", folder], *(["show", folder, name] for name in found)):
        assert pytest_thinkingbox.cli.main(command) == 0
        shown = capsys.readouterr().out
        assert shown
        assert "\x1b" not in shown
        assert "\0" not in shown
    page = pytester.path / "report.html"
    assert pytest_thinkingbox.cli.main(["report", folder, "--format=html", "-o", str(page)]) == 0
    text = page.read_text("utf-8")
    assert len(text) < 200_000
    assert {"\x1b", "\0", "\u2028", "\ufffd"} & set(text) == set()
    assert text.count("</script>") == 3 + len(
        found
    )  # the start, what tasks share, each task, and the script itself


def test_t33_servers_over_pipes_are_opened_and_closed_without_a_word(suite, run):
    from tests.tools import plain_server

    suite(f"""
    import sys
    piped = Environment(
        name="piped", database=Database(schema=metadata, seed=seed),
        servers=[Server.stdio([sys.executable, "-S", {plain_server.__file__!r}])], mail=False,
    )

    @piped.task("Say hello.", solution=[call("echo", text="hello")], no_change=True)
    def test_echo(attempt, changes):
        assert changes == []
        assert [one.result for one in attempt.tool_calls] == ["hello"]
    """)
    outcome = run("--tb-attempts=3")
    assert outcome.counts == {"passed": 3}
    assert "cancel scope" not in outcome.text
    assert "Traceback" not in outcome.text
    assert "warning" not in outcome.text.lower()


def test_t34_a_call_that_commits_and_times_out_and_is_made_again_is_seen_twice(suite, run, pytester):
    pytester.makepyfile(
        again="""
        async def agent(task):
            output = await task.call_tool("slow_note", {"words": "pay"})
            if output.error:
                output = await task.call_tool("add_note", {"words": "pay"})
            return output.text
        """
    )
    suite("""
    import time
    from pytest_thinkingbox import ServerContext

    def slow_note(context: ServerContext, words: str) -> str:
        with context.engine.begin() as connection:
            connection.execute(insert(notes).values(text=words))
        time.sleep(1)
        return "done"

    slow = Environment(
        name="slow", database=Database(schema=metadata, seed=seed), servers=[Server.functions([slow_note, add_note])],
        mail=False, limits=Limits(tool_seconds=0.6),
    )

    @slow.task("Pay once.")
    def test_once(changes):
        assert changes == [Inserted("notes", text="pay")]

    @slow.task("Pay once.")
    def test_twice(changes):
        assert changes == [Inserted("notes", text="pay"), Inserted("notes", text="pay")]
    """)
    outcome = run(agent="python:again:agent")
    once, twice = outcome.records()
    assert (once["outcome"], twice["outcome"]) == ("failed", "passed")
    assert [one["error"] for one in twice["tool_calls"]] == [True, False]
    assert "unexpected" in once["detail"]
    assert "pay" in once["detail"]


@pytest.mark.parametrize("broken", ["summary_lines", "decide"])
def test_t42_a_figure_that_raises_at_the_end_loses_nothing(suite, run, pytester, monkeypatch, capsys, broken):
    module = {
        "summary_lines": pytest_thinkingbox.report.terminal,
        "decide": pytest_thinkingbox.report.reading,
    }[broken]

    def raises(**_: object) -> None:
        raise ZeroDivisionError("no attempts to divide by")

    suite(CLOSES)
    with monkeypatch.context() as patch:
        patch.setattr(module, broken, raises)
        outcome = run("--tb-attempts=2")
    assert outcome.status != 0
    assert "no attempts to divide by" in outcome.text
    assert outcome.outcomes() == ["passed", "passed"]
    capsys.readouterr()
    assert pytest_thinkingbox.cli.main(["report", str(pytester.path / ".thinkingbox")]) == 0
    assert "2/2 passed, 2 of 2 valid" in capsys.readouterr().out


def test_t46_no_dsn_password_path_or_stack_reaches_the_model(suite, run, tmp_path):
    suite(f"""
    import os
    from pytest_thinkingbox import ServerContext

    def leak(context: ServerContext, how: int) -> str:
        if how == 0:
            raise ValueError("cannot connect to postgresql://app:s3cret-word@db.internal/shop")
        if how == 1:
            raise ValueError(f"cannot open {{context.database_url}}")
        if how == 2:
            raise ValueError("no such file: {tmp_path}/secrets/key.pem")
        if how == 3:
            import traceback
            try:
                1 / 0
            except ZeroDivisionError:
                raise ValueError(traceback.format_exc())
        if how == 4:
            raise RuntimeError(f"no detail of this: {{context.database_url}}")
        if how == 5:
            with context.engine.begin() as connection:
                connection.exec_driver_sql("SELECT * FROM nowhere")
        return f"the database is {{context.database_url}}"

    leaky = Environment(
        name="leaky", database=Database(schema=metadata, seed=seed), servers=[Server.functions([leak])], mail=False
    )

    @leaky.task("Leak.", no_change=True)
    def test_leak(changes):
        assert changes == []
    """)
    script = by_turn([*(calls(("leak", {"how": how})) for how in range(7)), says("done")])
    with StubEndpoint(script) as stub:
        outcome = run(*model_options(stub), agent=None)
    assert outcome.counts == {"passed": 1}
    (record,) = outcome.records()
    assert [one["error"] for one in record["tool_calls"]] == [True] * 6 + [False]
    seen = [one["content"] for one in stub.received[-1].messages if one["role"] == "tool"]
    assert seen[4] == "Error executing tool leak"
    assert "no such table: nowhere" in seen[5]
    for text in seen:
        for secret in (
            "s3cret-word",
            "db.internal",
            "sqlite:",
            str(tmp_path),
            "key.pem",
            "Traceback",
            ".py",
            "SELECT",
            ".db",
        ):
            assert secret not in text, text


def test_t47_played_in_one_thread_used_in_a_second_and_graded_in_a_third(suite, run):
    suite("""
    import threading
    from sqlalchemy import select

    THREADS = set()

    def close_order(connection: Connection) -> str:
        THREADS.add(threading.current_thread().name)
        connection.execute(orders.update().where(orders.c.id == 1).values(status="closed"))
        return "done"

    threads = Environment(
        name="threads", database=Database(schema=metadata, seed=seed),
        servers=[Server.functions([close_order])], mail=False,
    )

    @threads.task("Close order 1.", solution=[call("close_order")])
    def test_close(attempt, changes):
        assert attempt.db.execute(select(orders.c.status).where(orders.c.id == 1)).scalar_one() == "closed"
        seen = []

        def grade():
            seen.append(attempt.row("orders", id=1)["status"])
            seen.append(attempt.db.execute(select(orders.c.status).where(orders.c.id == 1)).scalar_one())
            seen.append(attempt.before.execute(select(orders.c.status).where(orders.c.id == 1)).scalar_one())

        grader = threading.Thread(target=grade)
        grader.start()
        grader.join()
        assert seen == ["closed", "closed", "open"]
        assert changes == [Updated("orders", 1, status="closed")]
        assert THREADS and threading.current_thread().name not in THREADS
    """)
    assert run("--tb-attempts=2").counts == {"passed": 2}


@pytest.mark.slow
def test_t52_a_tool_that_writes_after_the_cut_reaches_neither_this_verdict_nor_the_next_attempt(
    suite, run, pytester
):
    pytester.makepyfile(
        leaves="""
        async def agent(task):
            return (await task.call_tool("late", {})).text
        """
    )
    suite("""
    import pathlib, sqlite3, time
    from pytest_thinkingbox import ServerContext

    HERE = pathlib.Path.cwd()

    def late(context: ServerContext) -> str:
        '''Writes through a connection of its own, long after everybody has gone.'''
        time.sleep(1.0)
        connection = sqlite3.connect(context.engine.url.database)
        try:
            connection.execute("INSERT INTO notes (text) VALUES ('late')")
            connection.commit()
        except sqlite3.Error:
            (HERE / "refused").touch()
        else:
            (HERE / "written").touch()
        finally:
            connection.close()
        return "done"

    lazy = Environment(
        name="lazy", database=Database(schema=metadata, seed=seed), servers=[Server.functions([late])], mail=False,
        limits=Limits(tool_seconds=0.1),
    )

    @pytest.mark.thinkingbox(attempts=2)
    @lazy.task("Do nothing.", no_change=True)
    def test_a(changes):
        time.sleep(0.7)
        assert changes == []

    @lazy.task("Do nothing.", no_change=True)
    def test_b(attempt, changes):
        time.sleep(1.0)
        assert attempt.rows("notes") == []
        assert changes == []
    """)
    outcome = run("--tb-attempts=2", "--tb-concurrency=1", agent="python:leaves:agent")
    assert outcome.counts == {"passed": 4}, outcome.text
    assert (pytester.path / "refused").exists() or (pytester.path / "written").exists()


def test_an_attempt_that_was_invalid_twice_and_then_passed_counts_once(suite, run, pytester):
    pytester.makepyfile(
        third="""
        from pytest_thinkingbox.errors import ProviderDown

        TRIES = []

        async def agent(task):
            TRIES.append(task.seed)
            await task.call_tool("add_note", {"words": f"try {len(TRIES)}"})
            if len(TRIES) < 3:
                raise ProviderDown("overloaded")
            return "done"
        """
    )
    suite("""
    @shop.task("Note.")
    def test_note(changes):
        assert changes == [Inserted("notes", text="try 3")]
    """)
    outcome = run("--tb-retry-invalid=2", "--tb-min-pass-rate=1", agent="python:third:agent")
    assert outcome.status == 0
    assert outcome.counts == {"passed": 1}
    assert [(one["try_number"], one["final"], one["outcome"], one["cause"]) for one in outcome.records()] == [
        (1, False, "invalid", "provider"),
        (2, False, "invalid", "provider"),
        (3, True, "passed", None),
    ]
    assert "1/1 passed, 1 of 1 valid" in outcome.text
    assert "2 tries played again" in outcome.text


def test_two_tasks_with_the_same_prompt_are_two_tasks(suite, run, pytester):
    pytester.makepyfile(seeds="async def agent(task):\n    return f'{task.attempt_id} {task.seed}'\n")
    suite(IDLE + IDLE.replace("test_idle", "test_other"))
    outcome = run("--tb-attempts=2", agent="python:seeds:agent")
    assert outcome.counts == {"passed": 4}
    assert [(one["task"], one["attempt"]) for one in outcome.records()] == [
        ("test_shop.py::test_idle", 1),
        ("test_shop.py::test_idle", 2),
        ("test_shop.py::test_other", 1),
        ("test_shop.py::test_other", 2),
    ]
    assert len({one["response"].split()[-1] for one in outcome.records()}) == 4
    assert len({one["hashes"]["prompt"] for one in outcome.records()}) == 1


@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("raw", [False, True], ids=["escaped", "raw"])
def test_a_task_id_with_control_characters_is_one_task(suite, run, pytester, raw, attempts):
    pytester.makeini(
        "[pytest]\naddopts = -p no:asyncio\n"
        + "disable_test_id_escaping_and_forfeit_all_rights_to_community_support = true\n" * raw
    )
    suite("""
    @pytest.mark.parametrize("case", [1, 2, 3, 4], ids=["a\\x1b[31m", "b[", "c]-try1", "d\\ttab\\u202e"])
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(changes, case):
        assert changes == [Updated("orders", 1, status="closed")]
    """)
    outcome = run(f"--tb-attempts={attempts}", "--junitxml=junit.xml")
    assert outcome.status == 0, outcome.text
    assert outcome.counts == {"passed": 4 * attempts}
    assert [one["attempt"] for one in outcome.records()] == list(range(1, attempts + 1)) * 4
    assert len({one["task"] for one in outcome.records()}) == 4
    assert "partial" not in outcome.text
    assert f"{4 * attempts}/{4 * attempts} passed, {4 * attempts} of {4 * attempts} valid" in outcome.text
    summary = outcome.text.partition("thinkingbox ====")[2]
    assert "\x1b" not in summary
    ElementTree.parse(pytester.path / "junit.xml")


@pytest.mark.parametrize(
    "xdist",
    [["-p", "no:xdist"], pytest.param(["-n2"], marks=pytest.mark.slow)],
    ids=["plain", "n2"],
)
def test_invalid_attempts_are_errors_in_junit_and_counted_once(suite, run, pytester, xdist):
    pytester.makepyfile(down=DOWN.format(valid=1))
    suite(CLOSES)
    run("--tb-attempts=3", "--tb-retry-invalid=1", "--junitxml=junit.xml", *xdist, agent="python:down:agent")
    tests = ElementTree.parse(pytester.path / "junit.xml").getroot()[0]
    assert {key: tests.attrib[key] for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3", "failures": "0", "errors": "2", "skipped": "0",
    }  # fmt: skip
    by_name = {case.attrib["name"]: case for case in tests.iter("testcase")}
    assert sorted(by_name) == ["test_close[try1]", "test_close[try2]", "test_close[try3]"]
    assert by_name["test_close[try1]"].find("error") is None
    for name in ("test_close[try2]", "test_close[try3]"):
        (error,) = by_name[name].findall("error")
        assert "invalid: infrastructure: the tool server died" in error.attrib["message"] + (error.text or "")


def test_without_the_terminal_plugin_everything_else_holds(suite, run):
    suite(CLOSES + "\ndef test_ordinary():\n    pass\n")
    outcome = run("-p", "no:terminal", "--tb-attempts=2")
    assert outcome.status == 0
    assert outcome.outcomes() == ["passed", "passed"]


def test_a_folder_without_tasks_is_what_pytest_makes_of_it(suite, run, pytester):
    outcome = run("--tb-attempts=3")
    assert outcome.status == pytest.ExitCode.NO_TESTS_COLLECTED
    pytester.makepyfile(test_plain="def test_plain():\n    pass\n")
    outcome = run("--tb-attempts=3", "--tb-min-pass-rate=0.5")
    assert outcome.counts == {"passed": 1}
    assert not (pytester.path / ".thinkingbox").exists()


def test_a_fixture_that_fails_before_an_attempt_of_its_own_process_is_invalid_and_not_missing(suite, run):
    suite("""
    @pytest.fixture
    def broken():
        raise RuntimeError("no")

    @shop.task("Close order 1.", solution=CLOSE_1, ahead=False)
    def test_close(broken, changes):
        assert changes == [Updated("orders", 1, status="closed")]

    @pytest.mark.skip(reason="later")
    @shop.task("Close order 1.", solution=CLOSE_1, ahead=False)
    def test_skipped(broken, changes):
        pass
    """)
    outcome = run("--tb-attempts=2")
    assert outcome.counts == {"errors": 2, "skipped": 2}
    assert outcome.outcomes() == ["checker", "checker"]
    assert "a fixture failed: RuntimeError: no" in outcome.records()[0]["detail"]
    assert outcome.records()[0]["tool_calls"] == []
    assert outcome.status == 8
    assert "partial" not in outcome.text


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), SystemExit(3)], ids=["full", "exit"]
)
def test_a_campaign_that_cannot_start_says_so_and_runs_nothing(suite, run, monkeypatch, error):
    def raises(*_: object, **__: object) -> None:
        raise error

    suite(CLOSES)
    monkeypatch.setattr(pytest_thinkingbox.plugin.start, "open_backend", raises)
    outcome = run("--tb-attempts=3")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert f"the campaign cannot start: {type(error).__name__}: {error}" in outcome.text
    assert outcome.records() == []


def test_a_checker_that_exits_is_invalid_and_ends_nothing(suite, run):
    suite("""
    import sys

    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close():
        sys.exit(0)
    """)
    outcome = run("--tb-attempts=2")
    assert outcome.outcomes() == ["checker", "checker"]
    assert outcome.counts == {"errors": 2}


def test_each_case_of_a_task_shows_why_it_failed(suite, run):
    suite("""
    @pytest.mark.parametrize("case", ["one", "two"])
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(case):
        print(f"this is {case}")
        assert False
    """)
    text = run("--tb-attempts=3").text
    assert text.count("this is one") == 1
    assert text.count("this is two") == 1


def _people(agent, user):
    """One endpoint for both: a request with tools is the agent's."""

    def script(received):
        return agent if received.json.get("tools") else user(received)

    return script


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "gave an empty reply twice"),
        ("Thanks, goodbye!", "says goodbye and does not end"),
        ("How can I help you today?", "speaks as the agent"),
    ],
    ids=["empty", "goodbye", "agent"],
)
def test_t17_a_user_out_of_its_role_is_invalid_and_played_again(suite, run, reply, why):
    suite("""
    @shop.task("Close order 1.", user="You are Dana. Your code is 7731.", solution=CLOSE_1)
    def test_close(changes):
        assert changes == [Updated("orders", 1, status="closed")]
    """)
    with StubEndpoint(_people(says("All is done."), lambda _: says(reply))) as stub:
        outcome = run(*model_options(stub), "--tb-retry-invalid=1", agent=None)
    assert [(one["outcome"], one["cause"], one["final"]) for one in outcome.records()] == [
        ("invalid", "user", False),
        ("invalid", "user", True),
    ]
    assert why in outcome.records()[0]["detail"]
    assert outcome.counts == {"errors": 1}
    assert outcome.status == 8
    assert not any(b"7731" in one.body for one in stub.received if one.json.get("tools"))


def test_t17_the_agents_time_stands_still_while_the_user_thinks_and_tokens_are_told_apart(suite, run):
    suite("""
    @shop.task("Hello.", user="You are Dana.", no_change=True)
    def test_talk(attempt, changes):
        assert changes == []
        assert attempt.response == "All is done."
        assert [one["content"] for one in attempt.messages if one["role"] == "user"] == ["Hello.", "Please go on."]
    """)

    def user(received):
        ended = sum(one["role"] == "assistant" for one in received.messages) > 1
        return says("[[END]]" if ended else "Please go on.", latency=0.6)

    with StubEndpoint(_people(says("All is done."), user)) as stub:
        outcome = run(*model_options(stub), "--tb-timeout=1", agent=None)
    assert outcome.counts == {"passed": 1}, outcome.text
    (record,) = outcome.records()
    assert record["stop_reason"] == "done"
    assert {role: one["requests"] for role, one in record["usage"].items()} == {"agent": 2, "user": 2}
