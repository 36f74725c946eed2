"""Tasks with a user: who plays it, and what it sees."""

from __future__ import annotations

import json

import pytest

from tests.support.stub_endpoint import Reply, StubEndpoint, calls, fails, says

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


def asked(received):
    """An agent that wants the number, whoever the user is, and closes the order it is told."""
    messages = received.messages
    said = [one["content"] for one in messages if one["role"] == "user"]
    if messages[-1]["role"] == "tool":
        return says("It is closed. Goodbye!")
    if len(said) == 2 and said[-1].isdigit():
        return calls(("set_status", {"order_id": int(said[-1]), "status": "closed"}))
    return says("What is the number of your order?" if len(said) == 1 else "You are welcome.")


def talked(record):
    return [one["content"] for one in record["messages"] if one["role"] == "user"]


def test_a_script_and_functions_play_users_without_a_model_also_parametrized(suite, run):
    suite("""
    def dana(conversation, number):
        asked = conversation[-1]["content"].startswith("What is the number")
        assert [one["role"] for one in conversation[:2]] == ["user", "assistant"]
        return str(number) if asked else None

    async def amir(conversation):
        return "3" if len(conversation) == 2 else None

    @pytest.mark.parametrize("number", [1, 2])
    @shop.task("Close my order.", user=dana)
    def test_function(changes, number):
        assert changes == [Updated("orders", number, status="closed")]

    @shop.task("Close my order.", user=amir)
    def test_async(changes):
        assert changes == [Updated("orders", 3, status="closed")]

    @pytest.mark.parametrize("number", [4, 5])
    @shop.task("Close my order.", user=lambda number: Script([str(number), "Thanks."]))
    def test_script(attempt, changes, number):
        assert changes == [Updated("orders", number, status="closed")]
        assert attempt.response == "You are welcome."
    """)
    with StubEndpoint(asked) as stub:
        outcome = run("--tb-model=m", f"--tb-base-url={stub.url}", agent=None)
    assert outcome.counts == {"passed": 5}, outcome.text
    assert {one["usage"].get("user", {"requests": 0})["requests"] for one in outcome.records()} == {0}
    assert talked(outcome.records()[-1]) == ["Close my order.", "5", "Thanks."]


def test_a_script_talks_to_a_program_line_by_line(suite, run, pytester):
    suite("""
    @shop.task("Hello.", user=Script(["1", "2"]), no_change=True)
    def test_talk(attempt, changes):
        assert changes == []
        assert attempt.response == "3: 2"
    """)
    pytester.makepyfile(
        echo="""
        import json, sys
        for number, line in enumerate(sys.stdin, start=1):
            text = f"{number}: {json.loads(line)['content']}"
            print(json.dumps({"role": "assistant", "content": text}), flush=True)
        """
    )
    assert run(agent="command:python echo.py").counts == {"passed": 1}


@pytest.mark.parametrize("agent", ["solution", "none"])
def test_nobody_talks_to_agents_that_follow_no_words(suite, run, agent):
    suite("""
    @shop.task("Hello.", user=Script(["1", "2"]), solution=[call.say("Hi.")], no_change=True)
    def test_talk(attempt, changes):
        assert changes == []
        assert [one["role"] for one in attempt.messages] == ["user", "assistant"]
    """)
    assert run("--tb-user-model=u", agent=agent).counts == {"passed": 1}


def test_t17_a_leak_names_the_field_and_the_attempt_is_played_again(suite, run):
    suite("""
    @shop.task(
        lambda number: f"Close order {number}.",
        user=lambda number: User("You are Dana.", private={"pin": f"471{number}"}, facts={"order": f"00{number}"}),
    )
    @pytest.mark.parametrize("number", [1, 2])
    def test_close(number):
        pass
    """)

    def script(received):
        if "You play a person" not in json.dumps(received.messages[0]):
            return says("Your order and your PIN, please?")
        return says("My PIN is 4711." if "4711" in received.messages[0]["content"] else "My order is 003.")

    with StubEndpoint(script) as stub:
        outcome = run("--tb-model=m", f"--tb-base-url={stub.url}", "--tb-retry-invalid=1", agent=None)
    assert outcome.outcomes() == ["user", "user"]
    assert [one["detail"] for one in outcome.records()] == [
        *["the simulated user leaks its private field 'pin': 'My PIN is 4711.'"] * 2,
        *["the simulated user contradicts its field 'order' ('002') with '003': 'My order is 003.'"] * 2,
    ]
    assert outcome.status == 8


def test_objects_that_can_be_called_play_users_and_make_start_states(suite, run):
    suite("""
    from functools import partial

    class Dana:
        __hash__ = None

        def __call__(self, conversation):
            return None

    def begin(connection, n):
        connection.execute(orders.delete().where(orders.c.id > n))

    @shop.task("Hello.", start=partial(begin, n=1), user=Dana(), solution=[call.say("Hello.")], no_change=True)
    def test_hello(attempt, changes):
        assert changes == []
        assert len(attempt.rows("orders")) == 1
    """)
    assert run().counts == {"passed": 1}


def test_a_function_that_raises_is_invalid_and_not_played_again(suite, run):
    suite("""
    def dana(conversation):
        raise KeyError("number")

    @shop.task("Close my order.", user=dana)
    def test_close(changes):
        assert changes == []
    """)
    with StubEndpoint(asked) as stub:
        outcome = run("--tb-model=m", f"--tb-base-url={stub.url}", agent=None)
    (record,) = outcome.records()
    assert (record["cause"], record["detail"]) == (
        "user",
        "the user's function dana raised KeyError: 'number'",
    )


WRONG = {
    "lambda number: 3": "user() returned 3, not a non-empty string, a User or a Script",
    "lambda number: ' '": "user() returned ' ', not a non-empty string, a User or a Script",
    "lambda number: User('')": "user raised TypeError: User: context='' must be a non-empty string",
    "lambda conversation, name: None": "user takes name, which the test has no parameter for (it has: number)",
    "User('Dana', private={'what': 'ORDER'})": "the prompt says 'ORDER', which the user must never say: private",
}


def test_an_agent_that_is_no_model_is_not_left_without_its_user(suite, run, pytester):
    pytester.makepyfile(asks="async def agent(task):\n    return 'What is the number of your order?'")
    suite(TASK)
    outcome = run(agent="python:asks:agent")
    assert outcome.status == 4
    assert "test_close has a user that a model plays, and there is none: name one with --tb-user-model" in (
        " ".join(outcome.text.split())
    )


def test_a_wrong_user_is_found_when_tests_are_collected(suite, run):
    for index, user in enumerate(WRONG):
        suite(
            f"""
            @pytest.mark.parametrize("number", [1])
            @shop.task("Close my order.", user={user})
            def test_close(number):
                pass
            """,
            name=f"test_wrong_{index}",
        )
    outcome = run()
    assert outcome.counts == {"errors": len(WRONG)}
    text = outcome.text.replace("\n", "")
    assert [why for why in WRONG.values() if why not in text] == []


def test_a_parameter_named_conversation_is_in_the_way_of_a_function(suite, run):
    suite("""
    @pytest.mark.parametrize("conversation", [1])
    @shop.task("Close my order.", user=lambda conversation: None)
    def test_close(conversation):
        pass
    """)
    assert "which the test has a parameter of: rename that" in run().text


def test_the_user_has_an_endpoint_and_a_key_of_its_own_which_no_record_holds(suite, run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-agent-123456")
    monkeypatch.setenv("THINKINGBOX_USER_API_KEY", "sk-user-654321")
    suite(TASK)
    with StubEndpoint(script) as agents, StubEndpoint(script) as users:
        monkeypatch.setenv("THINKINGBOX_USER_BASE_URL", users.url)
        outcome = run("--tb-model=m", f"--tb-base-url={agents.url}", "--tb-user-model=u", agent=None)
    assert outcome.counts == {"passed": 1}
    assert {one.headers["authorization"] for one in agents.received} == {"Bearer sk-agent-123456"}
    assert {one.headers["authorization"] for one in users.received} == {"Bearer sk-user-654321"}
    assert {one.json["model"] for one in users.received} == {"u"}


def test_t20_an_outage_of_the_users_endpoint_is_the_users_and_never_a_failure(suite, run):
    suite(TASK)

    def down(received):
        return (
            Reply(status=400, body=b"bad request") if answered else (answered.append(1) or says("Number 1?"))
        )

    answered = []
    with StubEndpoint(script) as agents, StubEndpoint(down) as users:
        outcome = run(
            "--tb-model=m", f"--tb-base-url={agents.url}", f"--tb-user-base-url={users.url}", "--tb-retry-invalid=0",
            agent=None,
        )  # fmt: skip
    assert outcome.outcomes() == ["user"]
    assert outcome.records()[0]["detail"].startswith("the model that plays the user is down: ")
    assert outcome.status == 8


def test_t20_a_user_model_that_was_never_there_stops_the_campaign(suite, run):
    suite(TASK)
    with StubEndpoint(script) as agents, StubEndpoint(lambda _: fails(404)) as users:
        outcome = run(
            "--tb-model=m", f"--tb-base-url={agents.url}", f"--tb-user-base-url={users.url}", "--tb-attempts=5",
            agent=None,
        )  # fmt: skip
    assert outcome.status == 4
    assert outcome.records() == []
    assert "Check --tb-user-base-url or THINKINGBOX_USER_BASE_URL" in outcome.text
