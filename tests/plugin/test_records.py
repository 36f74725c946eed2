"""What a run leaves in its campaign's folder."""

from __future__ import annotations

import json
import re

import pytest

from pytest_thinkingbox.cli import main

ONE = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""


def campaign(pytester):
    (path,) = pytester.path.glob(".thinkingbox/*/campaign.json")
    return json.loads(path.read_text())


def test_campaign_json_is_true_after_a_complete_run(suite, run_everywhere, pytester):
    suite(ONE)
    outcome = run_everywhere("--tb-attempts=2", "--tb-seed=3", "--tb-purpose=probe")
    info = campaign(pytester)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", info["finished"])
    assert info["partial"] is None
    assert (info["seed"], info["purpose"], info["tasks"]) == (3, "probe", {"test_shop.py::test_close": 2})
    (hashes,) = info["task_hashes"].values()
    assert all(hashes[name] for name in ("prompt", "environment", "checker"))
    assert info["environments"]["shop"]["environment"] == hashes["environment"]
    assert {one["hashes"]["seed"] for one in outcome.records()} == {info["environments"]["shop"]["seed"]}
    assert {"python", "pytest", "pytest-thinkingbox", "mcp", "sqlalchemy"} <= info["versions"].keys()


def test_a_campaign_that_did_not_end_is_not_finished(suite, run, pytester):
    suite(ONE.replace("closed", "open", 1))
    run("-x", "--tb-attempts=2")
    info = campaign(pytester)
    assert info["finished"] is None
    assert info["partial"].startswith("1 attempts are missing")


@pytest.mark.parametrize("purpose", ["", "training"])
def test_a_purpose_that_is_none_is_a_usage_error(suite, run, purpose):
    suite(ONE)
    outcome = run(f"--tb-purpose={purpose}")
    assert outcome.status == 4
    assert f"--tb-purpose: {purpose!r} must be probe, validation or evaluation" in outcome.text


def test_t42_a_figure_that_raises_at_the_end_takes_no_record_with_it(
    suite, run, pytester, monkeypatch, capsys
):
    suite(ONE)

    def broken(**_: object) -> None:
        raise ZeroDivisionError("no figure")

    with monkeypatch.context() as patched:
        patched.setattr("pytest_thinkingbox.report.reading.verdict_of", broken)
        outcome = run("--tb-attempts=2")
    assert "ZeroDivisionError: no figure" in outcome.text
    assert outcome.status != 0
    assert [one["outcome"] for one in outcome.records()] == ["passed", "passed"]
    capsys.readouterr()
    assert main(["report", ".thinkingbox"]) == 0
    assert "2/2" in capsys.readouterr().out
