"""Grading again: the checkers of today on what was played then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CLOSE = """
@shop.task("Close order 1.", solution=[*CLOSE_1, call.say("Closed.")])
def test_close(changes, attempt):
    assert changes == [Updated("orders", 1, status="closed")]
"""
EVERYTHING = """
from sqlalchemy import text

@shop.task("Close order 1.", solution=[*CLOSE_1, call("add_note", words="n"), call.say("Closed.")])
def test_close(changes, attempt, outbox):
    assert changes == [Updated("orders", 1, status=("open", "closed")), Inserted("notes", text="n")]
    assert attempt.row("orders", id=1)["status"] == "closed"
    assert attempt.rows("notes", text="n")[0]["id"] == 1
    assert attempt.db.execute(text("SELECT count(*) FROM orders WHERE status = 'closed'")).scalar() == 1
    assert attempt.before.execute(text("SELECT count(*) FROM notes")).scalar() == 0
    assert attempt.response == "Closed."
    assert [call.name for call in attempt.tool_calls] == ["set_status", "add_note"]
    assert attempt.messages[0] == {"role": "user", "content": "Close order 1."}
    assert attempt.stop_reason == "done"
"""
REGRADE = "--tb-regrade=.thinkingbox"


def info(pytester):
    (path,) = pytester.path.glob(".thinkingbox/*/campaign.json")
    return json.loads(path.read_text())


def verdicts(outcome):
    """Of each attempt, by its lines in the order of writing."""
    found = {}
    for one in outcome.records():
        found.setdefault(one["attempt"], []).append(one["cause"] or one["outcome"])
    return found


def test_t24_all_that_a_checker_sees_comes_from_the_record(suite, run):
    suite(EVERYTHING)
    run("--tb-attempts=2")
    outcome = run(REGRADE, agent=None)
    assert outcome.status == 0
    assert verdicts(outcome) == {1: ["passed", "passed"], 2: ["passed", "passed"]}
    assert "resumed   0 played, 2 graded again, 0 as they were" in outcome.text


def test_the_checker_of_today_decides_and_usage_is_not_counted_twice(suite, run, pytester):
    suite(CLOSE)
    first = run("--tb-attempts=2", "--tb-min-pass-rate=0.5")
    suite(CLOSE.replace('"closed"', '"shut"'))
    outcome = run(REGRADE, agent=None)
    assert verdicts(outcome) == {1: ["passed", "failed"], 2: ["passed", "failed"]}
    assert outcome.status == 1
    assert "pass rate >= 0.5: fails" in outcome.text
    assert "0/2" in outcome.text
    assert info(pytester)["finished"] is not None
    line = next(line for line in outcome.text.splitlines() if line.startswith("time "))
    assert "in 2 attempts" in line
    assert first.records()[0]["messages"] == outcome.records()[1]["messages"]


@pytest.mark.parametrize(
    ("seed", "then", "now", "verdict"),
    [
        ("volatile", "", 'volatile=["orders.status"], ', "failed"),
        ("bookkeeping", "", 'bookkeeping=["orders"]', "failed"),
    ],
)
def test_other_rules_of_the_environment_are_exact(suite, run, pytester, seed, then, now, verdict):
    suite(CLOSE)
    run()
    shop = pytester.path / "shop.py"
    shop.write_text(shop.read_text().replace('bookkeeping=["log"]', now))
    outcome = run(REGRADE, agent=None)
    assert verdicts(outcome) == {1: ["passed", verdict]}  # what the checker expects can no longer be seen
    shop.write_text(shop.read_text().replace(now, 'bookkeeping=["log"]'))
    assert verdicts(run(REGRADE, agent=None)) == {1: ["passed", verdict, "passed"]}


def test_a_task_that_is_no_longer_strict_passes_with_the_same_changes(suite, run):
    suite(CLOSE.replace("*CLOSE_1,", '*CLOSE_1, call("add_note", words="n"),').replace("== [", "!= ["))
    run()
    suite(
        CLOSE.replace("*CLOSE_1,", '*CLOSE_1, call("add_note", words="n"),')
        .replace("== [", "!= [")
        .replace("solution=", "strict=False, solution=")
    )
    assert verdicts(run(REGRADE, agent=None)) == {1: ["failed", "passed"]}


def test_t25_what_was_invalid_stays_invalid(suite, run, pytester):
    suite(CLOSE)
    run("--tb-attempts=2")
    (path,) = pytester.path.glob(".thinkingbox/*/attempts.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1] |= {"outcome": "invalid", "cause": "infrastructure", "reward": None}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    outcome = run(REGRADE, agent=None)
    assert verdicts(outcome) == {1: ["passed", "passed"], 2: ["infrastructure"]}
    assert outcome.status == 8


def test_a_checker_that_was_broken_is_graded_when_it_is_mended(suite, run):
    suite(CLOSE.replace("assert", "attempt.nothing\n    assert"))
    run()
    suite(CLOSE)
    outcome = run(REGRADE, agent=None)
    assert verdicts(outcome) == {1: ["checker", "passed"]}
    assert outcome.status == 0


def test_another_seed_is_refused_and_nothing_is_touched(suite, run, pytester):
    suite(CLOSE)
    run()
    before = {path: path.read_bytes() for path in pytester.path.glob(".thinkingbox/*/*.json*")}
    shop = pytester.path / "shop.py"
    shop.write_text(shop.read_text().replace('"total": 10 * n', '"total": 110 * n'))
    outcome = run(REGRADE, agent=None)
    assert outcome.status == 4
    assert "1 task with another seed than then: test_shop.py::test_close" in outcome.text
    assert {path: path.read_bytes() for path in pytester.path.glob(".thinkingbox/*/*.json*")} == before


DDL = """
@shop.task("Make a table.", solution=[call("run_sql", statement="CREATE TABLE more (x)"), *CLOSE_1])
def test_ddl(changes, attempt):
    assert changes == [SchemaChange("created", "table", "more"), Updated("orders", 1, status="closed")]
"""


def test_changes_of_a_state_that_the_record_does_not_hold_are_judged_all_the_same(suite, run):
    suite(DDL)
    run()
    assert verdicts(run(REGRADE, agent=None)) == {1: ["passed", "passed"]}
    suite(DDL.replace('SchemaChange("created", "table", "more"), ', ""))
    assert verdicts(run(REGRADE, agent=None)) == {1: ["passed", "passed", "failed"]}


def test_a_checker_that_asks_for_such_a_state_gives_no_verdict_and_the_campaign_says_so(suite, run, pytester):
    suite(DDL)
    run()
    # The claims come last, so that the table is still unaccounted for when its rows are asked for.
    suite(DDL.replace("    assert changes", '    assert attempt.rows("more") == []\n    assert changes'))
    outcome = run(REGRADE, "--tb-min-pass-rate=0.5", agent=None)
    assert verdicts(outcome) == {1: ["passed"]}
    assert outcome.status == 8
    assert "table more was created: a record has not the rows and columns that came with it" in outcome.text
    assert info(pytester)["partial"].startswith("1 attempts could not be graded again")


@pytest.mark.parametrize("gate", [[], ["--tb-min-pass-rate=0.5"]])
def test_verdicts_of_two_checkers_are_no_campaign_until_all_is_graded_again(suite, run, pytester, gate):
    suite(CLOSE)
    run("--tb-attempts=2", *gate)
    suite(CLOSE + "    assert attempt.response\n")
    part = run(REGRADE, "-k", "try1", *gate, agent=None)
    assert part.status == 8
    assert "1 attempts were not selected and keep the verdict" in part.text
    whole = run(REGRADE, *gate, agent=None)
    assert info(pytester)["partial"] is None
    assert whole.status == 0


def test_what_was_played_with_is_told_as_it_was_whatever_it_is_graded_with(suite, run, pytester):
    suite(
        """
        @pytest.mark.thinkingbox(attempts=3)
        @shop.task("Close order 1.", solution=CLOSE_1)
        def test_close(changes):
            assert changes == [Updated("orders", 1, status="closed")]

        @shop.task("Close order 1, too.", solution=CLOSE_1)
        def test_once(changes):
            assert changes == [Updated("orders", 1, status="closed")]
        """
    )
    pytester.makefile(".toml", prices="[models.m]\ninput = 1.0\noutput = 2.0\n")
    pytester.makepyfile(
        closing="""
        async def agent(task):
            await task.call_tool("set_status", {"order_id": 1, "status": "closed"})
            return "done"
        """
    )
    run(
        "--tb-prices=prices.toml",
        "--tb-model=m",
        "--tb-faults=add_note:before=error",
        "--tb-min-reliable=0.9",
        agent="python:closing:agent",
    )
    before = info(pytester)
    assert before["tasks"] == {"test_shop.py::test_close": 3, "test_shop.py::test_once": 1}
    suite(
        (pytester.path / "test_shop.py")
        .read_text()
        .partition("import *\n")[2]
        .replace("1, too.", "1, please.")
    )
    outcome = run(REGRADE, agent=None)
    after = info(pytester)
    assert [after[name] for name in ("tasks", "options", "environments", "partial")] == [
        before[name] for name in ("tasks", "options", "environments", "partial")
    ]
    assert [one["prompt"] for one in after["task_hashes"].values()] == [
        one["prompt"] for one in before["task_hashes"].values()
    ]
    assert outcome.status == 0
    assert "reliably solved tasks >= 0.9: holds: 2 of 2" in outcome.text
    assert {(one["task"][-5:], one["requested"]) for one in outcome.records()} == {("close", 3), ("_once", 1)}


def test_ahead_false_and_fixtures_are_graded_again_too(suite, run):
    suite(
        """
        @pytest.fixture
        def word():
            return "closed"

        @shop.task("Close order 1.", solution=CLOSE_1, ahead=False)
        def test_close(word, changes):
            assert changes == [Updated("orders", 1, status=word)]
        """
    )
    run()
    outcome = run(REGRADE, agent=None)
    assert verdicts(outcome) == {1: ["passed", "passed"]}


@pytest.mark.slow
def test_the_command_grades_again_from_the_folder_that_pytest_ran_in(suite, run, pytester, tmp_path):
    suite(CLOSE)
    run("--tb-attempts=2")
    suite(CLOSE.replace('"closed"', '"shut"'))
    (pytester.path / "test_ordinary.py").write_text("def test_one():\n    assert False\n")

    def regrade(cwd: Path, *more: str):
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest_thinkingbox.cli",
                "regrade",
                str(pytester.path / ".thinkingbox"),
                "-p",
                "no:asyncio",
                *more,
            ],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=120,
        )

    done = regrade(pytester.path, "-k", "try2")
    assert (done.returncode, done.stderr) == (1, "")
    assert "resumed   0 played, 1 graded again, 1 as they were" in done.stdout
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    lost = regrade(elsewhere)
    assert lost.returncode == 2
    assert "test_shop.py of the campaign is not there: go to the folder that pytest ran in" in lost.stderr


@pytest.mark.slow
def test_a_worker_that_dies_while_grading_again_takes_no_record_with_it(suite, run, pytester):
    suite(CLOSE)
    run()
    suite(CLOSE + "    import os\n    os._exit(3)\n")
    outcome = run(REGRADE, "-n1", agent=None)
    assert outcome.status == 8
    assert verdicts(outcome) == {1: ["passed"]}
    assert info(pytester)["partial"].startswith("1 attempts could not be graded again")
    suite(CLOSE)
    assert run(REGRADE, agent=None).status == 0
    assert info(pytester)["partial"] is None
