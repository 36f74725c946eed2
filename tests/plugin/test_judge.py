"""Checkers that ask a judge."""

from __future__ import annotations

import json

import pytest

from pytest_thinkingbox.agents.endpoint import Endpoint
from tests.support.stub_endpoint import Reply, StubEndpoint, calls, fails, says

ASKS = """
@shop.task("Close order 1.", solution=[*CLOSE_1, call.say("It is closed.")])
def test_close(attempt, changes, judge):
    '''Nobody but the author reads this secret line.'''
    assert changes == [Updated("orders", 1, status="closed")]
    assert judge.yes("Does it say that the order is closed?", about=attempt.response)
"""
YES = says('{"reason": "It says so.", "answer": "yes"}')
NO = says('{"reason": "It does not.", "answer": "no"}')


def judged(stub, *more):
    return ["--tb-judge-model=j", f"--tb-judge-base-url={stub.url}", *more]


def test_a_judge_that_says_yes_lets_pass_and_the_record_says_why(suite, run):
    suite(ASKS)
    with StubEndpoint([YES]) as stub:
        outcome = run(*judged(stub))
    assert outcome.counts == {"passed": 1}, outcome.text
    (record,) = outcome.records()
    (ruling,) = record["rulings"]
    assert len(ruling.pop("about")) == 64
    assert ruling == {
        "question": "Does it say that the order is closed?",
        "answer": "yes",
        "reason": "It says so.",
        "model": "j",
        "cached": False,
    }
    assert record["usage"]["judge"]["requests"] == 1
    assert record["usage"]["judge"]["input_tokens"] == 100
    assert record["seconds"]["judge"] > 0


def test_a_judge_that_says_no_fails_the_attempt_and_says_why(suite, run):
    suite(ASKS)
    with StubEndpoint([NO]) as stub:
        outcome = run(*judged(stub))
    assert outcome.counts == {"failed": 1}
    (record,) = outcome.records()
    assert record["detail"].splitlines()[:2] == [
        "the judge answered no to 'Does it say that the order is closed?'",
        "It does not.",
    ]
    assert "no to 'Does it say that the order is closed?': It does not." in outcome.text


def test_the_judge_never_sees_the_checker_the_rows_or_the_prompt(suite, run):
    suite(ASKS)
    with StubEndpoint([YES]) as stub:
        run(*judged(stub))
    (received,) = stub.received
    assert b"It is closed." in received.body
    for word in (b"secret line", b"orders", b"Close order 1", b"assert", b"test_close", b"set_status"):
        assert word not in received.body


def test_one_question_about_one_text_is_asked_once_in_a_campaign(suite, run):
    suite(ASKS)
    with StubEndpoint([YES]) as stub:
        outcome = run(*judged(stub, "--tb-attempts=6"))
    assert outcome.counts == {"passed": 6}, outcome.text
    assert [one["rulings"][0]["cached"] for one in outcome.records()] == [False, *[True] * 5]
    requests = [one["usage"]["judge"]["requests"] for one in outcome.records()]
    assert requests == [1, 0, 0, 0, 0, 0]


@pytest.mark.slow
def test_workers_share_what_the_judge_answered(suite, run_everywhere):
    suite(ASKS)
    with StubEndpoint(lambda _: says('{"reason": "x", "answer": "yes"}')) as stub:
        outcome = run_everywhere(*judged(stub, "--tb-attempts=6"))
    assert outcome.counts == {"passed": 6}, outcome.text
    assert 1 <= len(stub.received) <= 2  # two workers may ask at the same time
    rulings = [one["rulings"][0] for one in outcome.records()]
    assert sum(not one["cached"] for one in rulings) <= len(stub.received)
    assert {one["answer"] for one in rulings} == {"yes"}
    requests = [one["usage"].get("judge", {"requests": 0})["requests"] for one in outcome.records()]
    assert sum(requests) == len(stub.received)


def test_async_checkers_ask_too(suite, run, pytester):
    suite("""
    import asyncio

    @pytest.mark.anyio
    @shop.task("Hello.", solution=[call.say("Hello.")], no_change=True)
    async def test_hello(attempt, changes, anyio_backend):
        assert changes == []
        await asyncio.sleep(0)
        assert attempt.judge.yes("Is it a greeting?", about=attempt.response)
        assert not attempt.judge.yes("Is it rude?", about=attempt.response)
        assert await asyncio.to_thread(attempt.judge.yes, "Is it short?", about=attempt.response)

    @pytest.fixture
    def anyio_backend():
        return "asyncio"
    """)
    with StubEndpoint([YES, NO, YES]) as stub:
        outcome = run(*judged(stub))
    assert outcome.counts == {"passed": 1}, outcome.text
    assert [one["answer"] for one in outcome.records()[0]["rulings"]] == ["yes", "no", "yes"]


def test_the_judge_answers_while_episodes_run_and_when_one_runs_alone(suite, run):
    suite("""
    @pytest.mark.parametrize("number", range(3))
    @shop.task("Hello.", solution=[call.say("Hello.")], no_change=True)
    def test_ahead(attempt, changes, judge, number):
        assert changes == []
        assert judge.yes(f"Is it greeting {number}?", about=attempt.response)

    @shop.task("Hello.", solution=[call.say("Hello.")], no_change=True, ahead=False)
    def test_alone(attempt, changes, judge):
        assert changes == []
        assert judge.yes("Is it alone?", about=attempt.response)
    """)
    with StubEndpoint(lambda _: YES) as stub:
        assert run(*judged(stub, "--tb-concurrency=1")).counts == {"passed": 4}
    assert len(stub.received) == 4


@pytest.mark.parametrize(
    "body",
    [
        'assert judge.yes("Is it?", about=attempt.response)',
        'assert not judge.yes("Is it?", about=attempt.response)',
        """
        try:
            assert judge.yes("Is it?", about=attempt.response)
        except Exception:
            pass
        """,
    ],
    ids=["yes", "not", "caught"],
)
@pytest.mark.parametrize(
    ("bad", "why"), [(says(""), "its answer is empty"), (fails(400, "no"), "the judge is down")], ids=["empty", "down"]
)  # fmt: skip
def test_no_answer_is_invalid_judge_whatever_the_checker_makes_of_it(suite, run, body, bad, why):
    body = body.replace("\n        ", "\n    ")
    suite(f"""
@shop.task("Hello.", solution=[call.say("Hello.")], no_change=True)
def test_hello(attempt, changes, judge):
    assert changes == []
    assert judge.yes("Is it at first?", about=attempt.response)
    {body}
""")
    with StubEndpoint([YES, bad, bad, bad]) as stub:
        outcome = run(*judged(stub))
    assert outcome.counts == {"errors": 1}, outcome.text
    (record,) = outcome.records()
    assert (record["outcome"], record["cause"], record["reward"]) == ("invalid", "judge", None)
    assert why in record["detail"]
    assert outcome.status == 8


def test_the_question_only_is_asked_again_and_not_the_agent(suite, run):
    suite("""
    @shop.task("Close order 1.")
    def test_close(attempt, changes, judge):
        assert changes == []
        assert judge.yes("Is it polite?", about=attempt.response)
    """)
    with StubEndpoint([says("Hello.")]) as agents, StubEndpoint([says(""), says("?"), YES]) as stub:
        outcome = run(*judged(stub), "--tb-model=m", f"--tb-base-url={agents.url}", agent=None)
    assert outcome.counts == {"passed": 1}, outcome.text
    assert len(agents.received) == 1
    (record,) = outcome.records()
    assert {role: one["requests"] for role, one in record["usage"].items()} == {"agent": 1, "judge": 3}


def test_without_a_judge_nothing_is_spent_and_the_option_is_named(suite, run):
    suite(ASKS)
    with StubEndpoint([]) as agents:
        outcome = run("--tb-model=m", f"--tb-base-url={agents.url}", "--tb-attempts=3", agent=None)
    assert outcome.status == 4
    assert (
        "test_close[try1] asks a judge, and there is none: name a model with --tb-judge-model" in outcome.text
    )
    assert agents.received == []


def test_an_attempt_that_asks_without_a_judge_is_invalid_and_never_a_no(suite, run):
    suite("""
    @shop.task("Hello.", solution=[call.say("Hello.")], no_change=True)
    def test_hello(attempt, changes):
        assert changes == []
        assert not attempt.judge.yes("Is it rude?", about=attempt.response)
    """)
    outcome = run()
    assert outcome.outcomes() == ["judge"]
    assert "name a model with --tb-judge-model" in outcome.records()[0]["detail"]


@pytest.mark.slow
def test_t20_a_judge_that_was_never_there_stops_every_worker(suite, run_everywhere):
    suite(ASKS)
    with StubEndpoint(lambda _: fails(401)) as stub:
        outcome = run_everywhere(*judged(stub, "--tb-attempts=8"))
    assert outcome.status == 4
    assert len(stub.received) <= 2
    assert "THINKINGBOX_JUDGE_API_KEY" in outcome.text
    assert outcome.outcomes() == []


def test_t20_a_judge_that_was_never_there_stops_the_campaign(suite, run):
    suite(ASKS)
    with StubEndpoint([fails(404)]) as stub:
        outcome = run(*judged(stub, "--tb-attempts=8"))
    assert outcome.status == 4
    assert outcome.outcomes() == []


def test_t20_a_judge_that_was_never_there_stops_the_campaign_also_where_the_checker_hides_it(suite, run):
    suite("""
    @shop.task("Hello.", solution=[call.say("Hello.")], no_change=True)
    def test_hello(attempt, changes, judge):
        assert changes == []
        try:
            assert not judge.yes("Is it rude?", about=attempt.response)
        except Exception:
            pass
    """)
    with StubEndpoint([fails(404)]) as stub:
        outcome = run(*judged(stub, "--tb-attempts=8"))
    assert outcome.status == 4
    assert outcome.outcomes() == ["judge"]


def test_a_wrong_question_is_the_checkers_mistake(suite, run):
    suite("""
    @shop.task("Hello.", solution=[call.say("Hello.")], no_change=True)
    def test_hello(attempt, changes, judge):
        assert changes == []
        judge.yes("Is it rude?", about=attempt.messages)
    """)
    with StubEndpoint([]) as stub:
        outcome = run(*judged(stub))
    assert outcome.outcomes() == ["checker"]
    assert "judge.yes: about=" in outcome.records()[0]["detail"]


def test_key_endpoint_and_model_are_the_judges_own(suite, run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-agent-123456")
    monkeypatch.setenv("THINKINGBOX_JUDGE_API_KEY", "sk-judge-654321")
    suite(ASKS.replace("solution", "tags=['judged'], solution"))
    script = iter([calls(("set_status", {"order_id": 1, "status": "closed"})), says("It is closed.")])
    with StubEndpoint(script) as agents, StubEndpoint([YES]) as stub:
        monkeypatch.setenv("THINKINGBOX_JUDGE_BASE_URL", stub.url)
        outcome = run("--tb-model=m", f"--tb-base-url={agents.url}", "--tb-judge-model=j", agent=None)
    assert outcome.counts == {"passed": 1}, outcome.text
    assert stub.received[0].headers["authorization"] == "Bearer sk-judge-654321"
    assert {one.headers["authorization"] for one in agents.received} == {"Bearer sk-agent-123456"}
    assert stub.received[0].json["model"] == "j"


def test_without_an_endpoint_of_its_own_the_judge_is_asked_where_the_agent_is(suite, run):
    suite(ASKS)

    def script(received):
        if received.json["model"] == "j":
            return YES
        done = received.messages[-1]["role"] == "tool"
        return says("It is closed.") if done else calls(("set_status", {"order_id": 1, "status": "closed"}))

    with StubEndpoint(script) as stub:
        outcome = run("--tb-model=m", f"--tb-base-url={stub.url}", "--tb-judge-model=j", agent=None)
    assert outcome.counts == {"passed": 1}


def test_a_secret_in_a_reason_is_masked(suite, run, monkeypatch, pytester):
    monkeypatch.setenv("THINKINGBOX_JUDGE_API_KEY", "sk-judge-654321")
    suite(ASKS)
    leak = Reply(body=says(json.dumps({"reason": "sk-judge-654321", "answer": "yes"})).body)
    with StubEndpoint([leak]) as stub:
        outcome = run(*judged(stub))
    assert outcome.records()[0]["rulings"][0]["reason"] == "[hidden]"
    (rulings,) = pytester.path.glob(".thinkingbox/*/judge.jsonl")
    assert "sk-judge" not in rulings.read_text()


@pytest.mark.slow
def test_a_proof_asks_the_judge_too(suite, run):
    suite(ASKS)
    said = []

    def script(received):
        said.append(received.messages[-1]["content"])
        return YES if "It is closed." in said[-1] else NO

    with StubEndpoint(script) as stub:
        outcome = run("--tb-prove", *judged(stub), agent=None, subprocess=True)
    assert outcome.status == 0, outcome.text
    assert "the checkers can be trusted" in outcome.text
    assert said


def test_grading_again_asks_the_judge_only_what_it_was_not_asked_then(suite, run):
    suite(ASKS)
    with StubEndpoint([NO, NO]) as stub:
        first = run(*judged(stub))
        again = run("--tb-regrade=.thinkingbox", agent=None)
        assert len(stub.received) == 1
        assert [one["outcome"] for one in again.records()] == ["failed", "failed"]
        before, after = (one["usage"]["judge"] for one in again.records())
        assert after == before == first.records()[0]["usage"]["judge"]  # paid for once, and not forgotten

        suite(ASKS.replace("Does it say that", "Does it claim that"))
        changed = run("--tb-regrade=.thinkingbox", f"--tb-judge-base-url={stub.url}", agent=None)
        assert len(stub.received) == 2
    last = changed.records()[-1]
    assert last["outcome"] == "failed"
    assert last["usage"]["judge"]["requests"] == 2
    assert [one["question"] for one in last["rulings"]] == ["Does it claim that the order is closed?"]


def test_grading_again_while_the_judge_is_down_is_no_verdict(suite, run, monkeypatch):
    defaults = {**Endpoint.__init__.__kwdefaults__, "backoff": 0.001}
    monkeypatch.setattr(Endpoint.__init__, "__kwdefaults__", defaults)
    suite(ASKS)
    with StubEndpoint([YES]) as stub:
        run(*judged(stub))
    suite(ASKS.replace("Does it say that", "Does it claim that"))
    outcome = run("--tb-regrade=.thinkingbox", f"--tb-judge-base-url={stub.url}", agent=None)
    assert outcome.status not in (0, 1)
    assert [one["outcome"] for one in outcome.records() if one["outcome"] == "failed"] == []
