"""Limits of what a campaign may spend: it stops cleanly, and goes on where it stopped."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.stub_endpoint import StubEndpoint, by_turn, says

IDLE = """
@shop.task("Do nothing.", solution=CLOSE_1, no_change=True)
def test_idle(changes):
    assert changes == []
"""
PRICES = "[models.stub]\ninput = 1.0\noutput = 1.0\n"


@pytest.fixture
def stub():
    """An endpoint whose every answer costs ten cents."""
    usage = {"prompt_tokens": 90_000, "completion_tokens": 10_000, "total_tokens": 100_000}
    with StubEndpoint(by_turn([says("Done.", usage=usage)])) as endpoint:
        yield endpoint


def model_options(stub):
    return ["--tb-model=stub", f"--tb-base-url={stub.url}", "--tb-concurrency=1", "--tb-attempts=8"]


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ("--tb-max-cost=0.25", "--tb-max-cost=0.25: $0.30 spent"),
        ("--tb-max-tokens=250000", "--tb-max-tokens=250000: 300,000 tokens spent"),
    ],
)
def test_nothing_starts_once_the_limit_is_reached_and_resume_goes_on(suite, run, pytester, stub, limit, why):
    suite(IDLE)
    pytester.path.joinpath("prices.toml").write_text(PRICES)
    priced = [*model_options(stub), "--tb-prices=prices.toml"]
    outcome = run(*priced, limit, agent=None)
    assert len(outcome.records()) == 3
    assert outcome.status == pytest.ExitCode.INTERRUPTED
    assert why in outcome.text
    assert "partial" in outcome.text
    (folder,) = pytester.path.glob(".thinkingbox/*/campaign.json")
    assert why in json.loads(folder.read_text())["partial"]
    resumed = run(*priced, f"--tb-resume={folder.parent}", agent=None)
    assert resumed.outcomes() == ["passed"] * 8
    assert resumed.status == 0
    assert "agent: $0.800 (model stub)" in resumed.text


def test_a_limit_that_is_not_reached_changes_nothing(suite, run, pytester, stub):
    suite(IDLE)
    outcome = run(*model_options(stub), "--tb-max-tokens=900000", agent=None)
    assert (outcome.status, len(outcome.records())) == (0, 8)


@pytest.mark.slow
def test_workers_share_one_limit(suite, run, pytester, stub):
    suite(IDLE)
    outcome = run(*model_options(stub), "--tb-max-tokens=250000", "-n2", agent=None)
    assert outcome.status == pytest.ExitCode.INTERRUPTED
    assert 3 <= len(outcome.records()) <= 4  # one more may have been under way
    assert "tokens spent" in outcome.text


def test_a_cost_limit_without_a_price_is_a_usage_error(suite, run, stub):
    suite(IDLE)
    outcome = run(*model_options(stub), "--tb-max-cost=1", agent=None)
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "--tb-max-cost needs the price of 'stub'" in outcome.text
    assert stub.received == []


def test_an_agent_that_does_not_say_what_it_used_is_stopped_and_not_free(suite, run, pytester):
    pytester.makepyfile(quiet="async def agent(task):\n    return 'done'\n")
    suite(IDLE)
    outcome = run("--tb-attempts=4", "--tb-max-tokens=1000", "--tb-concurrency=1", agent="python:quiet:agent")
    assert len(outcome.records()) == 1
    assert outcome.status == pytest.ExitCode.INTERRUPTED
    assert "what an attempt spent is not known" in outcome.text


def test_who_asks_no_model_spends_nothing(suite, run):
    suite(IDLE)
    assert run("--tb-attempts=3", "--tb-max-tokens=1", agent="none").status == 0


def test_what_the_judge_is_asked_counts_too(suite, run):
    suite("""
    @shop.task("Do nothing.", solution=CLOSE_1)
    def test_idle(attempt, changes, judge):
        assert changes == [Updated("orders", 1, status="closed")]
        assert judge.yes(f"Is this attempt {attempt.number}?", about="Yes.")
    """)
    usage = {"prompt_tokens": 90_000, "completion_tokens": 10_000, "total_tokens": 100_000}
    with StubEndpoint(by_turn([says('{"reason": "So.", "answer": "yes"}', usage=usage)])) as endpoint:
        judge = ["--tb-judge-model=j", f"--tb-judge-base-url={endpoint.url}"]
        outcome = run(*judge, "--tb-attempts=60", "--tb-concurrency=1", "--tb-max-tokens=250000")
    assert outcome.status == pytest.ExitCode.INTERRUPTED
    spent = re.search(r"--tb-max-tokens=250000: ([\d,]+) tokens spent", outcome.text)
    assert spent is not None
    assert int(spent[1].replace(",", "")) >= 300_000
    assert 3 <= len(outcome.records()) < 60


def test_an_estimate_plays_nothing_and_says_what_the_run_would_use(suite, run, pytester, stub):
    suite(IDLE)
    pytester.path.joinpath("prices.toml").write_text(PRICES)
    priced = ["--tb-model=stub", f"--tb-base-url={stub.url}", "--tb-prices=prices.toml"]
    assert run(*priced, agent=None).status == 0
    asked = len(stub.received)
    outcome = run(*priced, "--tb-attempts=20", "--tb-estimate=.thinkingbox", agent=None)
    assert outcome.status == 0
    assert "20 attempts of 1 task, judged by 1 attempt of 1 of them" in outcome.text
    assert "agent: 1,800,000 in, 200,000 out, $2.00" in outcome.text
    assert len(stub.received) == asked
    assert len(list(pytester.path.glob(".thinkingbox/*/campaign.json"))) == 1


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            ["-k", "idle", "--tb-estimate=nowhere"],
            "--tb-estimate: * neither a campaign nor a folder of campaigns",
        ),
        (["--tb-estimate=.thinkingbox", "-n2"], "leave out -n"),
        (["--tb-estimate=.thinkingbox", "-k", "other"], "has no attempt of the tasks that were collected"),
        (["--tb-estimate=.thinkingbox", "--tb-resume=.thinkingbox"], "does not know what --tb-resume leaves"),
    ],
)
def test_what_cannot_be_estimated_is_a_usage_error(suite, run, more, why):
    suite(IDLE + IDLE.replace("test_idle", "test_other"))
    assert run("-k", "idle", "--tb-agent=none").status == 0
    outcome = run(*more)
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    outcome.result.stderr.fnmatch_lines([f"*{why}*"])
