"""Whole runs of an agent that is a model, through each API, and with a provider that is slow."""

from __future__ import annotations

import json

import pytest

from tests.agents.shapes import reply
from tests.support.model_apis import DIALECTS
from tests.support.stub_endpoint import StubEndpoint, says

CLOSES = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(attempt, changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""
OTHER_THAN_CHAT = [pytest.param(one, id=one.name) for one in DIALECTS[1:]]
KEY = "sk-very-secret-0123456789"


def options(stub, dialect):
    return [*dialect.agent, "--tb-model=m", f"--tb-base-url={stub.url}", "--tb-retry-invalid=0"]


@pytest.mark.parametrize("dialect", OTHER_THAN_CHAT)
def test_t19_wrong_calls_are_text_and_the_attempt_goes_on_to_pass(suite, run, dialect):
    suite(CLOSES)
    steps = [
        ("set_stats", {"order_id": 1}),
        ("set_status", {"order": 1, "status": "closed"}),
        ("set_status", {"order_id": 1, "status": "closed"}),
    ]

    def script(received):
        done = len(dialect.read(received).results)
        return dialect.calls(f"call_{done}", *steps[done]) if done < len(steps) else dialect.says("Done.")

    with StubEndpoint(script) as stub:
        outcome = run(*options(stub, dialect), agent=None)
    assert outcome.counts == {"passed": 1}
    (record,) = outcome.records()
    assert [one["error"] for one in record["tool_calls"]] == [True, True, False]
    assert record["tool_calls"][0]["result"].startswith("There is no tool named 'set_stats'.")
    assert record["response"] == "Done."
    assert record["usage"]["agent"]["requests"] == 4
    assert {one.path for one in stub.received} == {dialect.path}


@pytest.mark.parametrize(
    ("dialect", "case"),
    [(DIALECTS[1], "responses/openai_overflow"), (DIALECTS[2], "anthropic/overflow")],
    ids=["responses", "messages"],
)
def test_t18_a_context_that_overflows_is_the_agents_failure_and_not_retried(suite, run, dialect, case):
    suite(CLOSES)
    with StubEndpoint(lambda _: reply(case)) as stub:
        outcome = run(*options(stub, dialect), agent=None)
    (record,) = outcome.records()
    assert (record["outcome"], record["stop_reason"]) == ("failed", "context_overflow")
    assert len(stub.received) == 1


@pytest.mark.parametrize(
    ("dialect", "case", "variable"),
    [
        (DIALECTS[1], "responses/openai_bad_key", "OPENAI_API_KEY"),
        (DIALECTS[2], "anthropic/bad_key", "ANTHROPIC_API_KEY"),
    ],
    ids=["responses", "messages"],
)
def test_t20_a_refused_key_stops_the_run_and_names_the_variable(
    suite, run, monkeypatch, dialect, case, variable
):
    monkeypatch.setenv(variable, KEY)
    suite(CLOSES)
    with StubEndpoint(lambda _: reply(case)) as stub:
        outcome = run(*options(stub, dialect), "--tb-attempts=20", "--tb-concurrency=2", agent=None)
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert f"Check {variable}: the endpoint does not accept this key" in outcome.text
    assert KEY not in outcome.text
    assert 1 <= len(stub.received) <= 2
    assert all(KEY in json.dumps(dict(one.headers)) for one in stub.received)


def test_the_key_of_anthropic_is_in_no_record(suite, run, monkeypatch, pytester):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    suite(CLOSES)
    dialect = DIALECTS[2]
    with StubEndpoint(lambda _: dialect.says(f"My key is {KEY}.")) as stub:
        run(*options(stub, dialect), agent=None)
    [path] = pytester.path.glob(".thinkingbox/*/attempts.jsonl")
    assert "My key is" in path.read_text()
    assert KEY not in path.read_text()


def test_the_url_of_anthropic_comes_from_its_own_variable(suite, run, monkeypatch):
    suite(CLOSES)
    with StubEndpoint(lambda _: DIALECTS[2].says("Hm.")) as stub:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url.removesuffix("/v1"))
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
        outcome = run("--tb-agent=anthropic", "--tb-model=m", agent=None)
    assert outcome.outcomes() == ["failed"]
    assert [one.path for one in stub.received] == ["/v1/messages"]


def test_a_provider_ten_times_slower_than_the_limit_makes_the_attempt_invalid(suite, run):
    suite(CLOSES)
    with StubEndpoint(lambda _: says("Done.", latency=3)) as stub:
        outcome = run(*options(stub, DIALECTS[0]), "--tb-timeout=0.3", agent=None)
    assert outcome.outcomes() == ["provider"]
    (record,) = outcome.records()
    assert "is slow: the attempt's time was up, and a control request for one word" in record["detail"]
    assert outcome.status == 8


def test_an_agent_that_is_slower_than_the_limit_has_failed(suite, run):
    suite(CLOSES)

    def script(received):
        return says("OK") if b"the word OK" in received.body else says("Done.", latency=1.4)

    with StubEndpoint(script) as stub:
        outcome = run(*options(stub, DIALECTS[0]), "--tb-timeout=0.9", agent=None)
    assert outcome.outcomes() == ["failed"]
    (record,) = outcome.records()
    assert record["stop_reason"] == "time_limit"
    assert record["usage"]["control"]["requests"] == 1
    assert outcome.status == 1
