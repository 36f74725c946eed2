"""What an attempt's end means: for pytest, for the record, for the exit status."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

CLOSES = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""

WRONG = """
@shop.task("Close order 1.", solution=[call("set_status", order_id=2, status="closed")])
def test_wrong_row(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""

BROKEN = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_broken_checker(changes):
    {}["no such key"]
"""


def test_a_checker_that_accounts_for_all_changes_passes(suite, run):
    suite(CLOSES)
    outcome = run("--tb-attempts=3")
    assert outcome.status == 0
    assert outcome.counts == {"passed": 3}
    assert outcome.outcomes() == ["passed"] * 3


def test_a_wrong_row_fails_with_row_and_column_in_the_text(suite, run):
    suite(WRONG)
    outcome = run()
    assert outcome.status == 1
    assert outcome.outcomes() == ["failed"]
    assert "status" in outcome.text
    assert "orders" in outcome.text


def test_t7_every_attempt_starts_from_the_seed(suite, run):
    suite("""
    @shop.task("Note.", solution=[call("add_note", words="hello")])
    def test_note(attempt, changes):
        assert changes == [Inserted("notes", text="hello")]
        assert len(attempt.rows("notes")) == 1
    """)
    assert run("--tb-attempts=4").counts == {"passed": 4}


def test_t9_one_row_of_an_unrelated_table_fails_and_is_named(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=[*CLOSE_1, call("add_note", words="by the way")])
    def test_close(attempt):
        assert attempt.row("orders", id=1)["status"] == "closed"
        assert attempt.changes.take(Updated("orders", 1, status="closed"))
    """)
    outcome = run()
    assert outcome.status == 1
    assert outcome.outcomes() == ["failed"]
    assert "notes" in outcome.text
    assert "by the way" in outcome.text


def test_t14_a_checker_that_raises_is_invalid_and_not_failed(suite, run):
    suite(BROKEN)
    outcome = run("--tb-attempts=2")
    assert outcome.status == 8
    assert outcome.counts == {"errors": 2}
    assert outcome.outcomes() == ["checker", "checker"]
    assert [one["reward"] for one in outcome.records()] == [None, None]


def test_t14_unless_the_agent_changed_the_schema(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=[call("run_sql", statement="DROP TABLE notes")])
    def test_close(attempt):
        attempt.rows("notes")
    """)
    outcome = run()
    assert outcome.status == 1
    assert outcome.counts == {"failed": 1}
    assert outcome.outcomes() == ["failed"]
    assert "notes" in outcome.records()[0]["detail"]


def test_t8_a_dropped_table_fails_and_the_next_attempt_is_clean(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=[call("run_sql", statement="DROP TABLE notes")])
    def test_close():
        pass

    @shop.task("Note.", solution=[call("add_note", words="x")])
    def test_note(changes):
        assert changes == [Inserted("notes", text="x")]
    """)
    outcome = run()
    assert outcome.outcomes() == ["failed", "passed"]


def test_pytest_skip_in_a_checker_is_invalid(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close():
        pytest.skip("I would rather not look")
    """)
    outcome = run()
    assert outcome.counts == {"errors": 1}
    assert outcome.outcomes() == ["checker"]


def test_pytest_fail_in_a_checker_is_a_failure(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close():
        pytest.fail("no")
    """)
    outcome = run()
    assert outcome.counts == {"failed": 1}
    assert outcome.outcomes() == ["failed"]


def test_a_failing_fixture_is_invalid(suite, run):
    suite("""
    @pytest.fixture
    def broken():
        raise RuntimeError("no")

    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(broken):
        pass
    """)
    outcome = run()
    assert outcome.counts == {"errors": 1}
    assert outcome.outcomes() == ["checker"]


def test_a_failing_teardown_makes_the_attempt_invalid(suite, run):
    suite("""
    @pytest.fixture
    def broken():
        yield
        raise RuntimeError("no")

    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(changes, broken):
        assert changes == [Updated("orders", 1, status="closed")]
    """)
    outcome = run()
    assert outcome.outcomes() == ["checker"]


def test_a_write_from_a_checker_is_invalid(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(attempt):
        attempt.db.execute(orders.delete())
    """)
    outcome = run()
    assert outcome.outcomes() == ["checker"]
    assert "ReadOnlyState" in outcome.text


def test_a_failed_subtest_fails_the_attempt(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(changes, subtests):
        with subtests.test("first"):
            assert False
        with subtests.test("second"):
            assert changes == [Updated("orders", 1, status="closed")]
    """)
    outcome = run()
    assert outcome.status == 1
    assert outcome.outcomes() == ["failed"]


def test_a_subtest_that_raises_makes_the_attempt_invalid(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(changes, subtests):
        with subtests.test("first"):
            raise KeyError("no")
    """)
    assert run().outcomes() == ["checker"]


def test_t6_an_async_checker_without_a_plugin_is_invalid_and_says_so(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1)
    async def test_close(changes):
        assert changes == [Updated("orders", 1, status="closed")]
    """)
    outcome = run("-p", "no:asyncio", "-p", "no:anyio")
    assert outcome.counts == {"errors": 1}
    assert outcome.outcomes() == ["checker"]
    assert "async def functions are not natively supported" in outcome.text


def test_an_async_checker_with_a_plugin_is_judged(suite, run, pytester):
    suite("""
    @pytest.mark.asyncio
    @shop.task("Close order 1.", solution=CLOSE_1)
    async def test_good(changes):
        assert changes == [Updated("orders", 1, status="closed")]

    @pytest.mark.asyncio
    @shop.task("Close order 1.", solution=CLOSE_1)
    async def test_bad(changes):
        pytest.fail("no")
    """)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    assert run().outcomes() == ["failed", "passed"]


def test_methods_of_a_class_are_tasks(suite, run):
    suite("""
    class TestOrders:
        @shop.task("Close order 1.", solution=CLOSE_1)
        def test_close(self, changes):
            assert changes == [Updated("orders", 1, status="closed")]
    """)
    outcome = run("--tb-attempts=2")
    assert outcome.counts == {"passed": 2}
    assert outcome.records()[0]["task"] == "test_shop.py::TestOrders::test_close"


def test_xfail_changes_only_the_report(suite, run):
    suite("""
    @pytest.mark.xfail(reason="known")
    @shop.task("Close order 1.", solution=[call("set_status", order_id=2, status="closed")])
    def test_known(changes):
        assert changes == [Updated("orders", 1, status="closed")]
    """)
    outcome = run("--tb-attempts=2")
    assert outcome.status == 0
    assert outcome.counts == {"xfailed": 2}
    assert outcome.outcomes() == ["failed", "failed"]


def test_t53_xfail_never_covers_invalid(suite, run):
    suite("@pytest.mark.xfail(reason='known')" + BROKEN)
    outcome = run()
    assert outcome.counts == {"errors": 1}
    assert outcome.outcomes() == ["checker"]


def test_a_strict_xfail_is_judged_over_all_attempts_of_the_task(suite, run):
    suite("@pytest.mark.xfail(reason='known', strict=True)" + CLOSES)
    outcome = run("--tb-attempts=2")
    assert outcome.counts == {"xpassed": 2}
    assert outcome.status == 1
    assert "strict xfail" in outcome.text


def test_a_skipped_task_plays_no_episode(suite, run):
    suite("@pytest.mark.skip(reason='later')" + CLOSES)
    outcome = run("--tb-attempts=2")
    assert outcome.counts == {"skipped": 2}
    assert outcome.records() == []
    assert outcome.status == 0


def test_a_no_change_task_fails_when_the_agent_was_cut_off(suite, run, pytester):
    pytester.makepyfile(slow="import time\ndef agent(task):\n    time.sleep(3)\n    return 'late'\n")
    suite("""
    @shop.task("Do nothing.", no_change=True, limits=Limits(seconds=0.2))
    def test_nothing(changes):
        assert changes == []

    @shop.task("Do nothing.", no_change=True, allow_truncated=True, limits=Limits(seconds=0.2))
    def test_allowed(changes):
        assert changes == []
    """)
    outcome = run(agent="python:slow:agent")
    assert [(one["task"], one["outcome"]) for one in outcome.records()] == [
        ("test_shop.py::test_allowed", "passed"),
        ("test_shop.py::test_nothing", "failed"),
    ]


def test_credit_is_the_reward_of_a_failed_attempt(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(attempt, changes):
        attempt.credit(0.25)
        attempt.credit(0.5)
        attempt.credit(0.1)
        assert changes == [Updated("orders", 1, status="closed")]
        assert False
    """)
    assert [(one["outcome"], one["reward"]) for one in run().records()] == [("failed", 0.5)]


def test_an_unaccounted_change_makes_credit_0(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(attempt):
        attempt.credit(0.5)
        assert False
    """)
    assert [(one["outcome"], one["reward"]) for one in run().records()] == [("failed", 0.0)]


def test_an_outage_that_a_checker_meets_shows_nothing_that_a_driver_was_given(suite, run):
    suite("""
    from pytest_thinkingbox.errors import InfrastructureDown

    def connect(password):
        raise OSError("gone")

    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(changes):
        try:
            connect("hunter" + "2")
        except OSError as error:
            raise InfrastructureDown("the server is gone") from error
    """)
    outcome = run("--junitxml=junit.xml")
    assert outcome.counts == {"errors": 1}
    assert outcome.outcomes() == ["infrastructure"]
    assert "the server is gone" in outcome.text
    assert "hunter2" not in outcome.text + Path("junit.xml").read_text()


def test_not_strict_allows_changes_that_nobody_named(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1, strict=False)
    def test_close(attempt):
        assert attempt.row("orders", id=1)["status"] == "closed"
    """)
    assert run().outcomes() == ["passed"]


@pytest.mark.parametrize("how", ["plain", "n0", "n2"])
def test_t4_the_same_verdicts_and_counts_in_every_runner(suite, run, pytester, how):
    suite(CLOSES + WRONG + BROKEN + "\ndef test_ordinary():\n    pass\n")
    extra = {"plain": ["-p", "no:xdist"], "n0": ["-n0"], "n2": ["-n2"]}[how]
    outcome = run("--tb-attempts=4", "--junitxml=junit.xml", *extra)
    assert outcome.status == 1
    assert outcome.counts == {"passed": 5, "failed": 4, "errors": 4}
    assert outcome.outcomes() == ["checker"] * 4 + ["passed"] * 4 + ["failed"] * 4
    suites = ElementTree.parse(pytester.path / "junit.xml").getroot()[0].attrib
    assert {key: suites[key] for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "13", "failures": "4", "errors": "4", "skipped": "0",
    }  # fmt: skip
    assert "4/4" in outcome.text
    assert "0/4" in outcome.text
    assert "INVALID" in outcome.text
