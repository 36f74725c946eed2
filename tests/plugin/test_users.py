"""Tasks with a user: who plays it, and what it sees."""

from __future__ import annotations

import json

import pytest

from tests.support.stub_endpoint import StubEndpoint, calls, says

TASK = """
@shop.task("Close my order, please.", user="Your order is number 1. You are in a hurry.")
def test_close(attempt, changes):
    assert changes == [Updated("orders", 1, status="closed")]
    assert attempt.response == "Order 1 is closed."
"""


def script(received):
    """The agent asks for the number, closes the order, reports; the user answers and is content."""
    messages = received.messages
    if "You play a person" in json.dumps(messages[0]):
        return says("Number 1." if "number" in messages[-1]["content"] else "[[END]]")
    if messages[-1]["content"] == "Close my order, please.":
        return says("What is the number of your order?")
    if messages[-1]["role"] == "tool":
        return says("Order 1 is closed.")
    return calls(("set_status", {"order_id": 1, "status": "closed"}))


@pytest.mark.parametrize("extra", [[], ["--tb-user-model=person"]])
def test_a_model_plays_the_user_at_the_agents_endpoint(suite, run, extra):
    suite(TASK)
    with StubEndpoint(script) as stub:
        outcome = run("--tb-model=acting", f"--tb-base-url={stub.url}", "--tb-attempts=2", *extra, agent=None)
    assert outcome.counts == {"passed": 2}
    record = outcome.records()[0]
    assert [one["content"] for one in record["messages"] if one["role"] == "user"] == [
        "Close my order, please.",
        "Number 1.",
    ]
    assert record["usage"]["user"]["requests"] == 2
    assert record["usage"]["agent"]["requests"] == 3
    models = {one.json["model"] for one in stub.received}
    assert models == ({"acting", "person"} if extra else {"acting"})


def test_the_agent_never_sees_the_private_context(suite, run):
    suite(TASK)
    with StubEndpoint(script) as stub:
        run("--tb-model=acting", f"--tb-base-url={stub.url}", agent=None)
    asked = [one for one in stub.received if "You play a person" not in json.dumps(one.messages[0])]
    assert asked
    assert all(b"in a hurry" not in one.body for one in asked)


def test_a_user_that_falls_silent_makes_the_attempt_invalid_and_it_is_played_again(suite, run):
    suite(TASK)

    def silent(received):
        return says("") if "You play a person" in json.dumps(received.messages[0]) else script(received)

    with StubEndpoint(silent) as stub:
        outcome = run("--tb-model=acting", f"--tb-base-url={stub.url}", "--tb-retry-invalid=1", agent=None)
    assert outcome.outcomes() == ["user"]
    assert len(outcome.records()) == 2
    assert "empty reply twice" in outcome.records()[0]["detail"]
    assert outcome.counts == {"errors": 1}


def test_the_solution_needs_nobody_to_talk_to(suite, run):
    suite(TASK.replace('in a hurry."', 'in a hurry.", solution=[*CLOSE_1, call.say("Order 1 is closed.")]'))
    assert run().outcomes() == ["passed"]
