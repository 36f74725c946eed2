"""Whole runs of the agent by token ids. `tests/trainer/test_evaluated.py` has the same with a real model."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from pytest_thinkingbox.tokens.chat import Chat
from tests.agents.test_served import models, serving, written
from tests.support.stub_endpoint import StubEndpoint, fails
from tests.tokens.tokenizer import DROPS_REASONING, END, KEEPS, THINKS_AT_ONCE, ByteTokenizer

CLOSES = """
@shop.task("Close order 1.")
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""
CALL = (
    "<tool_call><function=set_status><parameter=order_id>1</parameter><parameter=status>closed</parameter></function>"
    f"</tool_call>{END}"
)
HASH = Chat(ByteTokenizer()).hash


@pytest.fixture
def tokenizers(monkeypatch):
    """Names of tokenizers, in place of those that the transformers library would load."""
    known = {"keeps": ByteTokenizer(KEEPS), "thinks": ByteTokenizer(THINKS_AT_ONCE)}
    monkeypatch.setattr("pytest_thinkingbox.tokens.loading.load_tokenizer", known.__getitem__)


def options(stub, *more, tokenizer="keeps"):
    return [
        "--tb-agent=tokens",
        "--tb-model=m",
        f"--tb-base-url={stub.url}",
        f"--tb-tokenizer={tokenizer}",
        *more,
    ]


def closing():
    """Every conversation closes the order and says so."""

    def script(received):
        if received.method == "GET":
            return models("m")
        said = ByteTokenizer().decode(received.json["prompt"])
        return written(f"Closed.{END}" if "<tool_response>\ndone" in said else CALL)

    return script


def test_a_campaign_passes_and_its_records_name_the_interpretation(suite, run, pytester, tokenizers):
    suite(CLOSES)
    with StubEndpoint(closing()) as stub:
        outcome = run(*options(stub, "--tb-attempts=3", "--tb-temperature=0.5"), agent=None)
    assert outcome.counts == {"passed": 3}
    assert [one["chat"] for one in outcome.records()] == [HASH] * 3
    assert [one["usage"]["agent"]["requests"] for one in outcome.records()] == [2] * 3
    assert {one.json["temperature"] for one in stub.received if one.method == "POST"} == {0.5}
    assert len({one.json["seed"] for one in stub.received if one.method == "POST"}) == 6
    [campaign] = pytester.path.glob(".thinkingbox/*/campaign.json")
    described = json.loads(campaign.read_text())["options"]
    assert (described["chat"], described["tokenizer"]) == (HASH, "keeps")


def test_an_endpoint_that_goes_down_makes_no_attempt_fail(suite, run, tokenizers):
    suite(CLOSES)
    script = serving(written(CALL), fails(400, "no such thing"))
    with StubEndpoint(script) as stub:
        outcome = run(
            *options(stub, "--tb-attempts=2", "--tb-retry-invalid=0", "--tb-concurrency=1"), agent=None
        )
    assert outcome.outcomes() == ["provider", "provider"]


def test_a_campaign_does_not_go_on_with_another_interpretation(suite, run, tokenizers):
    suite(CLOSES)
    with StubEndpoint(closing()) as stub:
        run(*options(stub), agent=None)
        more = ("--tb-resume=.thinkingbox", "--tb-attempts=2")
        refused = run(*options(stub, *more, tokenizer="thinks"), agent=None)
        assert refused.status == 4
        assert f"the interpretation of token ids (--tb-tokenizer): it was {HASH!r}, now it is" in refused.text
        assert run(*options(stub, *more), agent=None).outcomes() == ["passed", "passed"]


def test_a_campaign_is_graded_again_without_its_tokenizer(suite, run, tokenizers):
    suite(CLOSES)
    with StubEndpoint(closing()) as stub:
        run(*options(stub), agent=None)
    again = run("--tb-regrade=.thinkingbox", agent=None)
    assert again.counts == {"passed": 1}
    assert [one["chat"] for one in again.records()] == [HASH] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tb-agent=tokens"], "--tb-agent=tokens needs a model: name it with --tb-model"),
        (["--tb-agent=tokens", "--tb-model=m"], "needs the tokenizer of 'm', which is no folder here"),
        (["--tb-agent=solution", "--tb-tokenizer=t"], "--tb-tokenizer is for --tb-agent=tokens"),
    ],
)
def test_what_does_not_fit_together_is_a_usage_error(suite, run, arguments, said):
    suite(CLOSES)
    outcome = run(*arguments, agent=None)
    assert (outcome.status, said in outcome.text) == (4, True)


@pytest.mark.skipif(find_spec("transformers") is not None, reason="transformers is installed")
def test_without_transformers_the_extra_is_named(suite, run):
    suite(CLOSES)
    outcome = run("--tb-agent=tokens", "--tb-model=m", "--tb-tokenizer=t", agent=None)
    assert outcome.status == 4
    assert "pip install 'pytest-thinkingbox[tokens]'" in outcome.text


def test_a_template_that_cannot_be_continued_is_refused_before_anything_is_played(suite, run, monkeypatch):
    suite(CLOSES)
    broken = {"drops": ByteTokenizer(DROPS_REASONING)}
    monkeypatch.setattr("pytest_thinkingbox.tokens.loading.load_tokenizer", broken.__getitem__)
    with StubEndpoint(closing()) as stub:
        outcome = run(*options(stub, tokenizer="drops"), agent=None)
    assert outcome.status == 4
    assert "the chat template changes earlier messages when later ones come" in outcome.text
    assert stub.received == []


def test_who_plays_the_user_must_be_named(suite, run, tokenizers):
    suite(
        '@shop.task("Close it.", user="It is order 1.")\ndef test_asks(changes):\n    assert changes == []\n'
    )
    with StubEndpoint(closing()) as stub:
        outcome = run(*options(stub), agent=None)
    assert outcome.status == 4
    assert "has a user that a model plays, and there is none: name one with --tb-user-model" in outcome.text
