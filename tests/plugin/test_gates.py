"""Gates over a whole campaign: reliable tasks, and another campaign as the baseline."""

from __future__ import annotations

import json
import re

import pytest

CLOSES = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""


def flat(outcome):
    """The output with its lines joined: gates are wrapped."""
    return re.sub(r"\s+", " ", outcome.text)


def test_a_share_of_reliable_tasks_is_a_gate(suite, run):
    suite(CLOSES + CLOSES.replace("test_close", "test_other").replace('"closed")', '"gone")'))
    held = run("--tb-attempts=3", "--tb-min-reliable=0.5")
    assert "reliably solved tasks >= 0.5: holds: 1 of 2 passed every attempt" in held.text
    assert held.status == 0
    assert run("--tb-attempts=3", "--tb-min-reliable=0.6").status == 1


def test_an_agent_that_dropped_against_its_baseline_fails(suite, run):
    suite(CLOSES)
    assert run("--tb-attempts=20", "--tb-dir=before").status == 0
    outcome = run("--tb-attempts=20", "--tb-baseline=before", agent="none")
    assert "<= 5 points: fails: -100.0 points" in flat(outcome)
    assert outcome.status == 1


def test_too_few_attempts_for_a_baseline_cannot_tell(suite, run):
    suite(CLOSES)
    run("--tb-attempts=4", "--tb-dir=before")
    outcome = run("--tb-attempts=4", "--tb-baseline=before", "--tb-max-drop=0.1")
    assert "cannot tell: +0.0 points" in flat(outcome)
    assert "more attempts per task" in flat(outcome)
    assert outcome.status == 8


def test_a_baseline_that_asked_something_else_stops_before_anything_is_played(suite, run, run_everywhere):
    suite(CLOSES)
    run("--tb-attempts=2", "--tb-dir=before")
    outcome = run_everywhere("--tb-attempts=3", "--tb-baseline=before", "--tb-dir=after")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "not comparable: attempts: 1 of 1 tasks, 2 / 3 of test_shop.py::test_close" in flat(outcome)
    assert "passed" not in outcome.counts


def test_another_seed_is_seen_at_the_end(suite, run, pytester):
    suite(CLOSES)
    run("--tb-attempts=2", "--tb-dir=before")
    shop = pytester.path / "shop.py"
    shop.write_text(shop.read_text().replace("range(1, 6)", "range(1, 16)"))
    outcome = run("--tb-attempts=2", "--tb-baseline=before")
    assert "cannot tell: not comparable: seeds: schema, seed or start" in flat(outcome)
    assert outcome.status == 8


def test_a_probe_is_no_baseline(suite, run):
    suite(CLOSES)
    run("--tb-attempts=2", "--tb-dir=before", "--tb-purpose=probe")
    outcome = run("--tb-attempts=2", "--tb-baseline=before")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "a probe" in flat(outcome)


@pytest.mark.parametrize("arguments", [("--tb-baseline=nowhere",), ("--tb-baseline=broken",)])
def test_a_baseline_that_cannot_be_read_is_a_usage_error(suite, run, pytester, arguments):
    suite(CLOSES)
    pytester.mkdir("broken").joinpath("campaign.json").write_text("{}")
    outcome = run(*arguments)
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "--tb-baseline: " in flat(outcome)


def test_a_report_answers_the_gates_again(suite, run, pytester, capsys):
    from pytest_thinkingbox.cli import main

    suite(CLOSES)
    run("--tb-attempts=4", "--tb-dir=before")
    run("--tb-attempts=4", "--tb-baseline=before", "--tb-min-reliable=1")
    (path,) = pytester.path.glob(".thinkingbox/*/campaign.json")
    assert json.loads(path.read_text())["options"]["baseline"].endswith(
        next(pytester.path.glob("before/*/")).name
    )
    capsys.readouterr()
    assert main(["report", str(path.parent)]) == 0
    text = capsys.readouterr().out
    assert "reliably solved tasks >= 1: holds: 1 of 1 passed every attempt" in text
    assert "drop of pass@1 against" in text
