from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.rewards import FinalState, load_suite
from pytest_thinkingbox.rewards.parity import Parity
from tests.rewards.suites import write_suite

ROOT = Path(__file__).parents[2]


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def campaign(tmp_path_factory) -> Path:
    """A suite with a campaign in which nobody did anything: some tasks pass, some fail, some are invalid."""
    folder = write_suite(tmp_path_factory.mktemp("suite"))
    done = run("pytest", "--tb-agent=none", "-k", "not exit", "-p", "no:cacheprovider", cwd=folder)
    assert "passed" in done.stdout, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_stored_attempts_have_the_same_verdict_as_rewards(campaign):
    done = run("pytest_thinkingbox.cli", "prove", "--parity", ".thinkingbox", ".", cwd=campaign)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "parity 17/17 stored attempts: the same verdict and reward"


@pytest.mark.slow
def test_a_verdict_that_differs_is_named(campaign):
    [lines] = campaign.glob(".thinkingbox/*/attempts.jsonl")
    whole = lines.read_text("utf-8")
    records = [json.loads(line) for line in whole.splitlines()]
    wrong = next(one for one in records if one["task"].endswith("test_close"))
    wrong |= {"outcome": "passed", "reward": 1.0}
    lines.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    try:
        done = run("pytest_thinkingbox.cli", "prove", "--parity", ".thinkingbox", ".", cwd=campaign)
    finally:
        lines.write_text(whole, encoding="utf-8")
    assert done.returncode == 1
    assert "test_shop.py::test_close, try 1: stored passed 1, as a reward failed 0" in done.stdout
    assert "parity 16/17" in done.stdout


def test_nothing_compared_is_no_parity():
    assert not Parity().holds


@pytest.mark.slow
def test_t39_three_hundred_stored_attempts_of_the_hotel_have_the_same_verdict_as_rewards(tmp_path):
    suite = "example_suites/hotel"
    options = ["--tb-agent=mutant:0.5", "--tb-attempts=15", f"--tb-dir={tmp_path}", "-p", "no:cacheprovider"]
    run("pytest", suite, *options, "-q", "--tb=no", cwd=ROOT)
    done = run("pytest_thinkingbox.cli", "prove", "--parity", str(tmp_path), suite, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    same, compared = map(int, re.search(r"parity (\d+)/(\d+) stored attempts", done.stdout).groups())
    assert same == compared >= 300


@pytest.mark.slow
def test_a_failure_is_told_in_the_words_of_the_campaign(campaign):
    [folder] = campaign.glob(".thinkingbox/*/")
    failed = [one for one in CampaignFolder.open(folder).read_records() if one.outcome == "failed"]
    with load_suite(cwd=campaign) as suite:
        told = {one.key: suite.grade(FinalState.of_record(one)).detail for one in failed}
    assert len(told) > 5
    assert told == {one.key: one.detail for one in failed}


@pytest.mark.slow
def test_t40_a_task_that_all_attempts_pass_or_all_fail_is_kept_in_evaluation(tmp_path):
    options = [
        "--tb-agent=none",
        "--tb-attempts=4",
        "-k",
        "test_close or test_hangs",
        "-p",
        "no:cacheprovider",
    ]
    done = run("pytest", *options, cwd=write_suite(tmp_path))
    rows = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("  test_")]
    assert rows == [["test_close", "0/4"], ["test_hangs", "4/4"]]
    assert "4/8 passed, 8 of 8 valid" in done.stdout
