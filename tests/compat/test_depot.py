"""Ten tasks in the files of ThinkingBox, played from end to end with a server of their own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_thinkingbox.proof.model import Plan
from tests.compat.conftest import NO, YES, acts, call, dumped, judged, models, steps, tool_names
from tests.support.stub_endpoint import StubEndpoint, calls, says

SOLVED = ["-k", "not hours and not hands and not goes_on"]


def test_the_calls_that_a_server_knows_to_be_right_pass(run_depot):
    with StubEndpoint(lambda _: YES) as stub:
        outcome = run_depot(*judged(stub), *SOLVED)
    assert outcome.counts == {"passed": 6, "skipped": 1, "deselected": 4}, outcome.text
    assert [one["task"] for one in outcome.records()] == [
        "branches.py:test_a_program_that_is_no_module",
        "branches.py:the_later_server_answers",
        "lending_saws.py:test_cards_are_read",
        "lending_saws.py:test_lend_a_saw",
        "lending_saws.py:test_nothing_left",
        "lending_saws.py:test_who_keeps_it",
    ]


def test_a_judge_that_says_no_fails_those_that_ask_it(run_depot):
    with StubEndpoint(lambda _: NO) as stub:
        outcome = run_depot(*judged(stub), *SOLVED)
    assert outcome.counts == {"passed": 4, "failed": 2, "skipped": 1, "deselected": 4}
    failed = [one for one in outcome.records() if one["outcome"] == "failed"]
    assert [one["task"] for one in failed] == [
        "lending_saws.py:test_cards_are_read",
        "lending_saws.py:test_nothing_left",
    ]
    assert failed[1]["rulings"][0]["question"] == "Does the message say that there is no rope?"


def test_an_agent_that_does_nothing_fails_what_is_to_be_done_and_sees_why(run_depot):
    outcome = run_depot("-k", "lend_a_saw", agent="none")
    assert outcome.counts == {"failed": 1, "deselected": 10}
    (record,) = outcome.records()
    assert '"items": {"saw": 3, "ladder": 1, "rope": 1}' in record["detail"]
    assert 'assert effects["state"] == effects["expected"]' in outcome.text  # the place in its own file


def test_a_list_names_what_is_run_and_in_which_order_of_files(run_depot, depot):
    outcome = run_depot(f"--tb-list={depot / 'list.yaml'}", "--co", "-q")
    assert outcome.text.splitlines()[:3] == [
        "branches.py::the_later_server_answers",
        "branches.py::test_a_program_that_is_no_module",
        "lending_saws.py::test_lend_a_saw",
    ]


@pytest.mark.slow
def test_attempts_are_those_of_every_task(run_depot):
    outcome = run_depot("--tb-attempts=3", "-k", "lend_a_saw")
    assert outcome.counts == {"passed": 3, "deselected": 30}
    assert [(one["task"], one["attempt"]) for one in outcome.records()] == [
        ("lending_saws.py:test_lend_a_saw", number) for number in (1, 2, 3)
    ]
    assert "category:user" in outcome.records()[0]["tags"]
    assert outcome.records()[0]["tags"][:3] == ["depot", "domain:lending", "lending"]


def test_the_own_tools_of_servers_are_neither_offered_nor_played(run_depot):
    script = acts(steps(call("__reserved__geteffects", session_id="x"), says("No. <DONE>")))
    with StubEndpoint(script) as stub:
        outcome = run_depot(*models(stub), "-k", "lend_a_saw", agent=None)
    assert tool_names(stub.received[0]) == [
        "report_trouble", "list_items", "lend", "take_back", "opening_hours", "call_a_person",
    ]  # fmt: skip
    assert "__reserved__" not in json.dumps(stub.received[0].json)
    (made,) = outcome.records()[0]["tool_calls"]
    assert made["result"].startswith("There is no tool named '__reserved__geteffects'")
    assert "expected" not in made["result"]


def test_a_scenario_says_how_its_tools_look(run_depot):
    with StubEndpoint(acts(steps(says("No. <DONE>")))) as stub:
        run_depot(*models(stub), "-k", "lend_a_saw", agent=None)
    lend = next(
        one["function"] for one in stub.received[0].json["tools"] if one["function"]["name"] == "lend"
    )
    assert lend["description"] == "Lend a thing, once it is clear to whom."
    assert lend["parameters"]["properties"]["to"]["description"] == "Whose name goes on the card."
    assert lend["parameters"]["properties"]["item"]["description"] == "The item."
    system = stub.received[0].messages[0]
    assert system["role"] == "system"
    assert system["content"].split("\n") == [
        "You keep a depot. End your last message with <DONE>.", "", "",
        "Lend nothing without a name.", "Today is a Monday.",
    ]  # fmt: skip


def test_a_user_answers_until_the_agent_is_done(run_depot):
    def script(messages):
        if messages[-1]["role"] == "user" and "Ravi" not in messages[-1]["content"]:
            return says("Who are you?")
        if messages[-1]["role"] == "user":
            return call("lend", item="saw", to="Ravi")
        return says("Here it is. <DONE>")

    with StubEndpoint(acts(script)) as stub:
        outcome = run_depot(*models(stub), "-k", "lend_a_saw", agent=None)
    assert outcome.counts == {"passed": 1, "deselected": 10}, outcome.text
    (record,) = outcome.records()
    assert [one["content"] for one in record["messages"] if one["role"] == "user"] == [
        "I need a saw.",
        "I am Ravi.",
    ]
    assert record["response"] == "Here it is. <DONE>"
    assert "Say your name only when" in next(
        dumped(one) for one in stub.received if one.json["model"] == "user"
    )
    assert not any("Say your name" in dumped(one) for one in stub.received if one.json["model"] == "m")


@pytest.mark.slow
def test_a_tool_that_ends_the_conversation_ends_it_and_nothing_else_of_its_message_is_played(run_depot):
    script = acts(
        steps(calls(("lend", {"item": "saw", "to": "Ravi"}), ("call_a_person", {"reason": "he asked"})))
    )
    with StubEndpoint(script) as stub:
        outcome = run_depot(*models(stub), "-k", "hands_over", agent=None)
    assert outcome.counts == {"passed": 1, "deselected": 10}, outcome.text
    assert [one["name"] for one in outcome.records()[0]["tool_calls"]] == ["call_a_person"]
    assert len(stub.received) == 1  # no user was asked, and no second answer


def test_a_tool_may_speak_to_the_user_itself(run_depot):
    script = acts(steps(call("opening_hours"), says("Anything else? <DONE>")), judge=NO)
    with StubEndpoint(script) as stub:
        outcome = run_depot(*models(stub), "-k", "hours", agent=None)
    assert outcome.counts == {"passed": 2, "deselected": 9}, outcome.text
    second = next(one for one in stub.received if one.messages[-1]["content"] == "We are open from 9 to 5.")
    assert second.messages[-1] == {"role": "assistant", "content": "We are open from 9 to 5."}
    (question,) = [one for one in stub.received if one.json["model"] == "judge"]
    assert "We are open from 9 to 5." in question.messages[-1]["content"]


def test_a_history_was_said_and_its_calls_were_made_before_the_prompt(run_depot):
    script = acts(steps(call("lend", item="saw", to="Ravi"), says("A second one. <DONE>")))
    with StubEndpoint(script) as stub:
        outcome = run_depot(*models(stub), "-k", "goes_on", agent=None)
    assert outcome.counts == {"passed": 1, "deselected": 10}, outcome.text
    messages = stub.received[0].messages
    assert [one["role"] for one in messages] == [
        "system", "user", "assistant", "tool", "tool", "assistant", "user",
    ]  # fmt: skip
    assert messages[-1]["content"] == "One more of these, please."


def test_what_servers_said_is_enough_to_grade_again(run_depot, depot):
    run_depot("-k", "lend_a_saw", agent="none")
    tests = depot / "dataset" / "test_case" / "lending" / "lending_saws.py"
    text = tests.read_text("utf-8")
    changed = text.replace('    as_expected(x)\n    assert x.effects["depot"]["state"]["items"] == {"saw": 2',
                           '    assert x.effects["depot"]["state"]["items"] == {"saw": 3')  # fmt: skip
    assert changed != text
    tests.write_text(changed.replace('== ["Noor", "Kim", "Ravi"]', '== ["Noor", "Kim"]'), encoding="utf-8")
    outcome = run_depot("-k", "lend_a_saw", "--tb-regrade=.thinkingbox", agent=None)
    assert outcome.status == 0, outcome.text
    first, second = outcome.records()
    assert (first["outcome"], second["outcome"]) == ("failed", "passed")
    assert second["regraded_at"] is not None


def test_each_attempt_has_a_server_of_its_own_and_none_is_left(run_depot, depot):
    (depot / "dataset" / "test_case" / "seen.py").write_text(
        '"""!\nscenario: depot\n"""\n'
        "def test_seen(x):\n"
        '    """!\n    query: Hello.\n    """\n'
        "    raise AssertionError(x.effects['depot']['process'], x.effects['depot']['session'])\n",
        encoding="utf-8",
    )
    outcome = run_depot("--tb-attempts=3", "-k", "seen", agent="none")
    assert outcome.counts == {"failed": 3, "deselected": 33}, outcome.text
    seen = [eval(one["detail"]) for one in outcome.records()]
    assert len({process for process, _ in seen}) == 3
    assert [session for _, session in seen] == [f"seen.py:test_seen[try{n}]" for n in (1, 2, 3)]
    for process, _ in seen:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.slow
def test_a_server_that_dies_in_a_call_makes_the_attempt_invalid(run_depot, depot):
    scenario = depot / "dataset" / "scenario" / "two.yaml"
    scenario.write_text(scenario.read_text("utf-8") + "- name: crash\n", encoding="utf-8")
    tests = depot / "dataset" / "test_case" / "branches.py"
    tests.write_text(tests.read_text("utf-8").replace("{tool: who,", "{tool: crash,"), encoding="utf-8")
    outcome = run_depot("-k", "later", "--tb-retry-invalid=1")
    assert outcome.outcomes() == ["infrastructure"]
    assert len(outcome.records()) == 2
    assert "server branch died while crash ran" in outcome.records()[0]["detail"]


def test_a_server_that_fails_to_say_what_was_done_makes_the_attempt_invalid(run_depot, depot):
    server = depot / "servers" / "depot.py"
    text = server.read_text("utf-8")
    says = 'return effects(arguments["session_id"])'
    assert says in text
    server.write_text(text.replace(says, "raise ValueError('out of memory')"), encoding="utf-8")
    outcome = run_depot("-k", "lend_a_saw", "--tb-retry-invalid=0")
    assert outcome.outcomes() == ["infrastructure"]
    assert outcome.records()[0]["detail"] == "the server depot does not say what was done: out of memory"


def test_a_search_engine_that_is_not_there_is_said_before_anything_is_played(run_depot, depot):
    scenario = depot / "dataset" / "scenario" / "depot.yaml"
    scenario.write_text(
        scenario.read_text("utf-8").replace(
            "    keeper: Ines\n", "    keeper: Ines\n    sources: [{name: a}]\n"
        ),
        encoding="utf-8",
    )
    outcome = run_depot("-k", "lend_a_saw")
    assert outcome.status == 4
    assert outcome.records() == []
    words = " ".join(outcome.text.split())
    assert (
        "the server depot did not begin: no search engine at port 8108. It was given sources to index"
        in words
    )
    assert "--tb-without-sources" in words
    assert run_depot("-k", "lend_a_saw", "--tb-without-sources").status == 0


@pytest.mark.slow
def test_servers_that_are_not_installed_are_said_before_anything_is_played(run_depot, monkeypatch):
    monkeypatch.delenv("PYTHONPATH")
    outcome = run_depot("-k", "lend_a_saw")
    assert outcome.status == 4
    words = " ".join(outcome.text.split())
    assert "No module named depot" in words
    assert "--tb-servers-python names the Python" in words


@pytest.mark.parametrize("option", ["--tb-list=x.yaml", "--tb-without-sources", "--tb-servers-python=x"])
def test_what_belongs_to_a_dataset_needs_one(run, option):
    outcome = run(option)
    assert outcome.status == 4
    assert f"{option.partition('=')[0]} belongs to --tb-dataset=DIR" in outcome.text


def test_its_checkers_cannot_be_proved(run_depot, tmp_path):
    Plan(notes=tmp_path).write(tmp_path / "survey.plan.json")
    outcome = run_depot(f"--tb-proof-plan={tmp_path / 'survey.plan.json'}", agent=None)
    assert outcome.status == 4
    assert "its checkers cannot be proved" in outcome.text


@pytest.mark.slow
def test_workers_play_it_as_well(run_depot):
    with StubEndpoint(lambda _: YES) as stub:
        outcome = run_depot(*judged(stub), *SOLVED, "-n2", "--tb-attempts=2", subprocess=True)
    assert outcome.counts == {"passed": 12, "skipped": 2}, outcome.text


@pytest.mark.slow
def test_its_own_folder_is_collected_beside_other_paths(run_depot, pytester):
    pytester.makepyfile(test_own="def test_own():\n    pass\n")
    outcome = run_depot("test_own.py", "-k", "own or lend_a_saw")
    assert outcome.counts == {"passed": 2, "deselected": 10}, outcome.text


def test_nothing_of_a_file_runs_when_it_is_collected(run_depot, depot):
    path: Path = depot / "dataset" / "test_case" / "branches.py"
    path.write_text(path.read_text("utf-8") + "\nraise SystemExit('it ran')\n", encoding="utf-8")
    outcome = run_depot("--co", "-q")
    assert outcome.status == 0
    assert "11 tests collected" in outcome.text


@pytest.mark.slow
def test_an_agent_whose_time_is_up_is_judged_by_what_its_servers_say(run_depot, pytester):
    pytester.makepyfile(
        late="import asyncio\n"
        "async def agent(task):\n"
        "    await task.call_tool('lend', {'item': 'saw', 'to': 'Ravi'})\n"
        "    await asyncio.sleep(60)\n"
    )
    pytester.syspathinsert()
    outcome = run_depot("-k", "lend_a_saw", "--tb-timeout=1", "--tb-user-model=u", agent="python:late:agent")
    assert outcome.counts == {"passed": 1, "deselected": 10}, outcome.text
    assert outcome.records()[0]["stop_reason"] == "time_limit"
