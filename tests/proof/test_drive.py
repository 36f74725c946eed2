"""`pytest --tb-prove` and `thinkingbox prove` from the outside: what they find and how they end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.cli import main

pytestmark = pytest.mark.slow  # two processes for each

HONEST = """
@shop.task("Close order 1.", solution=[*CLOSE_1, call.say("Closed.")])
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]

@pytest.mark.parametrize("order", [2, 3])
@shop.task(
    lambda order: f"Note on order {order}.",
    solution=lambda order: [call("add_note", words=f"order {order}"), call("set_status", order_id=order, status="x")],
)
def test_note(changes, order):
    assert changes == [Inserted("notes", text=f"order {order}"), Updated("orders", order, status="x")]
"""


class Proof:
    """What a proof printed and wrote."""

    def __init__(self, status: int, text: str, root: Path) -> None:
        self.status = status
        self.text = text
        [path] = root.glob(".thinkingbox/prove/*/proof.json")
        self.data: dict[str, Any] = json.loads(path.read_text())

    def task(self, name: str) -> dict[str, Any]:
        [task] = [one for one in self.data["tasks"] if one["task"].endswith(f"::{name}")]
        return task

    def words(self, name: str, fate: str = "survived") -> list[str]:
        return [one["words"] for one in self.task(name)["mutants"] if one["fate"] == fate]

    def unseen(self, name: str, start: str) -> list[str]:
        [found] = [one["unseen"] for one in self.task(name)["mutants"] if one["words"].startswith(start)]
        return found


@pytest.fixture
def prove(pytester: pytest.Pytester, suite: Any, capfd: pytest.CaptureFixture[str]) -> Any:
    def go(body: str, *arguments: str) -> Proof:
        suite(body)
        capfd.readouterr()
        status = main(["prove", "-p", "no:xdist", *arguments])
        return Proof(status, capfd.readouterr().out, pytester.path)

    return go


def test_honest_checkers_kill_every_mutant(prove: Any) -> None:
    proof = prove(HONEST)
    assert proof.status == 0, proof.text
    assert proof.data["score"] == 1.0
    assert proof.data["holds"] is True
    assert [one["task"].partition("::")[2] for one in proof.data["tasks"]] == [
        "test_close",
        "test_note[2]",
        "test_note[3]",
    ]
    assert proof.words("test_note[2]", "survived") == []
    assert proof.words("test_note[2]", "equivalent") == [
        'made twice: call 2, set_status(order_id=2, status="x")',
        'made last: call 1, add_note(words="order 2")',
        'made first: call 2, set_status(order_id=2, status="x")',
        'in each other\'s place: call 1, add_note(words="order 2") and call 2, set_status(order_id=2, status="x")',
    ]
    assert "verdict   the checkers can be trusted" in proof.text


def test_what_a_checker_does_not_see_survives_and_is_named_with_the_change(prove: Any) -> None:
    proof = prove(
        """
        @shop.task("Close order 1.", solution=[*CLOSE_1, call("add_note", words="closed")], strict=False)
        def test_close(attempt):
            assert attempt.row("orders", id=1)["status"] == "closed"
        """
    )
    assert proof.status == 1
    assert 'left out: call 2, add_note(words="closed")' in proof.words("test_close")
    assert proof.unseen("test_close", "left out: call 2") == [
        'missing: Inserted("notes", id=1, text="closed")'
    ]
    assert 'left out: call 1, set_status(order_id=1, status="closed")' in proof.words("test_close", "killed")
    assert "one row of orders changed that the solution does not touch" in proof.words("test_close")
    assert 'missing: Inserted("notes", id=1, text="closed")' in proof.text
    assert "nobody checked that it left behind" in proof.text


def test_min_score_decides_what_is_enough(prove: Any) -> None:
    body = """
    @shop.task("Close order 1.", solution=[*CLOSE_1, call("add_note", words="closed")], strict=False)
    def test_close(attempt):
        assert attempt.row("orders", id=1)["status"] == "closed"
    """
    assert prove(body, "--min-score=0.1").status == 0


def test_t13_a_task_that_an_idle_agent_passes_is_refused(prove: Any) -> None:
    proof = prove(
        """
        @shop.task("Close order 1.", solution=CLOSE_1, strict=False)
        def test_close():
            pass
        """,
        "--min-score=0",
    )
    assert proof.status == 1
    assert "an agent that does nothing passes" in proof.task("test_close")["problems"]
    assert "REFUSED" in proof.text


def test_a_task_that_a_claim_passes_is_refused(prove: Any) -> None:
    proof = prove(
        """
        @shop.task("Close order 1.", solution=[*CLOSE_1, call.say("Closed.")], strict=False)
        def test_close(attempt):
            assert attempt.response == "Closed."
        """,
        "--min-score=0",
    )
    assert proof.status == 1
    assert proof.task("test_close")["problems"] == ["an agent that only claims success passes"]


def test_t12_a_solution_that_raises_does_nothing_or_is_missing_is_refused(prove: Any) -> None:
    proof = prove(
        """
        def broken():
            raise KeyError("no")
            yield

        @shop.task("Raise.", solution=broken)
        def test_raises(changes):
            pass

        @shop.task("Nothing.", solution=[])
        def test_empty(changes):
            pass

        @shop.task("Missing.")
        def test_missing(changes):
            pass

        @shop.task("Read.", solution=[call("set_status", order_id=1, status="open")])
        def test_no_trace(changes):
            assert changes == []

        @shop.task("Wrong.", solution=[call("set_status", order_id=2, status="closed")])
        def test_wrong(changes):
            assert changes == [Updated("orders", 1, status="closed")]
        """
    )
    assert proof.status == 1
    assert "KeyError" in proof.task("test_raises")["problems"][0]
    assert "no step" in proof.task("test_empty")["problems"][0]
    assert "the task has no solution" in proof.task("test_missing")["problems"][0]
    assert any("leaves no trace" in one for one in proof.task("test_no_trace")["problems"])
    assert "the solution does not pass" in proof.task("test_wrong")["problems"][0]


def test_a_solution_that_does_something_else_each_time_is_refused(prove: Any) -> None:
    proof = prove(
        """
        import secrets

        @shop.task("Note.", solution=lambda: [call("add_note", words=secrets.token_hex(8))])
        def test_note(changes):
            assert [one.table for one in changes] == ["notes"]
            changes.ignore("notes")
        """
    )
    assert proof.status == 1
    assert proof.task("test_note")["problems"][0].startswith("the solution did not do the same")


def test_t14_a_checker_that_trips_over_a_mutant_is_reported(prove: Any) -> None:
    proof = prove(
        """
        @shop.task("Note.", solution=[call("add_note", words="hello")])
        def test_note(attempt, changes):
            assert attempt.rows("notes")[0]["text"] == "hello"
            assert changes == [Inserted("notes", text="hello")]
        """
    )
    assert proof.status == 1
    assert any("IndexError" in one for one in proof.task("test_note")["problems"])


def test_a_task_without_change_is_tried_with_the_writes_of_the_others(prove: Any) -> None:
    proof = prove(
        HONEST
        + """
@shop.task("Do nothing.", solution=[call.say("No.")], no_change=True)
def test_refuse(changes):
    assert changes == []

@shop.task("Do nothing.", solution=[call.say("No.")], no_change=True)
def test_blind(changes):
    changes.ignore("notes")
    assert changes == []
"""
    )
    assert proof.status == 1
    assert 'one call more: add_note(words="order 2")' in proof.words("test_refuse", "killed")
    assert 'one call more: add_note(words="order 2")' in proof.words("test_blind")
    assert proof.task("test_refuse")["remarks"] == [
        "run_sql: no solution of the suite says with what arguments"
    ]
    assert proof.task("test_refuse")["problems"] == []


def test_tools_that_read_do_not_swell_the_figures(prove: Any) -> None:
    proof = prove(
        """
        @shop.task("Close order 1.", solution=[call("run_sql", statement="SELECT 1"), *CLOSE_1])
        def test_close(changes):
            assert changes == [Updated("orders", 1, status="closed")]
        """
    )
    assert proof.status == 0, proof.text
    assert [one for one in proof.task("test_close")["mutants"] if "call 1, run_sql" in one["words"]] == []


def test_a_skipped_task_is_named_and_a_suite_that_cannot_run_is_an_error(
    prove: Any, suite: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    proof = prove(
        HONEST
        + """
@pytest.fixture
def absent():
    pytest.skip("not here")

@shop.task("Close order 1.", solution=CLOSE_1)
def test_skipped(changes, absent):
    pass
"""
    )
    assert proof.data["skipped"] == ["test_shop.py::test_skipped"]
    suite("raise RuntimeError('broken module')", name="test_broken")
    assert main(["prove", "-p", "no:xdist"]) == 2
    assert "broken module" in capfd.readouterr().err


def test_an_ini_file_that_keeps_workers_out_or_asks_for_proofs_is_no_obstacle(
    pytester: pytest.Pytester, suite: Any, run: Any
) -> None:
    suite(HONEST)
    pytester.makeini("[pytest]\naddopts = -p no:xdist -p no:asyncio --tb-prove\n")
    outcome = run(agent=None, subprocess=True)
    assert outcome.status == 0, outcome.text
    assert "verdict   the checkers can be trusted" in outcome.text


def test_pytest_does_the_same_with_an_option_and_on_several_cores(suite: Any, run: Any) -> None:
    suite(HONEST)
    outcome = run("--tb-prove", "--tb-min-score", "0.9", "-n2", agent=None, subprocess=True)
    assert outcome.status == 0, outcome.text
    assert re.search(r"score +100 %: \d+ of \d+ mutants killed", outcome.text)
