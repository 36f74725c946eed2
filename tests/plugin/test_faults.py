"""Faults of tools through whole runs of pytest."""

from __future__ import annotations

import json
import sys

import pytest

TASK = """
from pytest_thinkingbox import Fault

@shop.task("Leave a note.", solution=[call.failing("add_note", words="hi")],
           faults=[Fault("add_note", after_commit="timeout")])
def test_note(attempt, changes):
    assert changes == [Inserted("notes", text="hi")]
    assert attempt.tool_calls[0].fault == "after_commit=timeout"
"""

STUBBORN = """
async def agent(task):
    while (await task.call_tool("add_note", {"words": "hi"})).error:
        pass
    return "done"
"""


def test_t34_an_agent_that_tries_again_after_a_lost_answer_is_seen(suite, run, pytester):
    pytester.makepyfile(stubborn=STUBBORN)
    suite(TASK)
    assert run().outcomes() == ["passed"]
    outcome = run(agent="python:stubborn:agent")
    assert outcome.outcomes() == ["failed"]
    assert "changes differ: 1 as expected, 1 unexpected" in outcome.text
    [record] = outcome.records()
    assert [(one["fault"], one["error"]) for one in record["tool_calls"]] == [
        ("after_commit=timeout", True),
        ("", False),
    ]


def test_a_solution_that_does_not_know_of_the_fault_is_the_tasks_fault(suite, run):
    suite(TASK.replace("call.failing", "call"))
    outcome = run()
    assert outcome.outcomes() == ["checker"]
    assert "came back as an error: add_note did not answer within 60 s" in outcome.records()[0]["detail"]
    suite(TASK.replace('faults=[Fault("add_note", after_commit="timeout")]', ""))
    outcome = run()
    assert "must fail (call.failing) and did not" in outcome.records()[0]["detail"]


def test_a_fault_that_hits_no_tool_stops_the_campaign(suite, run):
    suite(TASK.replace('Fault("add_note"', 'Fault("ad_note"'))
    outcome = run()
    assert outcome.status == 4
    assert "Fault('ad_note') hits no tool; the tools are: set_status, add_note, run_sql" in outcome.text


def test_faults_of_a_campaign_hit_every_task_by_its_seed_and_are_recorded(suite, run, pytester):
    pytester.makepyfile(stubborn=STUBBORN)
    suite("""
@shop.task("Leave a note.")
def test_note(changes):
    assert changes == [Inserted("notes", text="hi")]
""")
    options = ("--tb-attempts=12", "--tb-faults=add_*:after_commit=disconnect,rate=0.5")
    first = run(*options, agent="python:stubborn:agent")
    outcomes = first.outcomes()
    assert {"passed", "failed"} == set(outcomes)
    assert run(*options, agent="python:stubborn:agent").outcomes() == outcomes
    assert run(*options, "--tb-seed=1", agent="python:stubborn:agent").outcomes() != outcomes
    folder = max(pytester.path.glob(".thinkingbox/*/campaign.json"))
    assert "after_commit='disconnect'" in json.loads(folder.read_text())["options"]["faults"][0]


def test_faults_of_a_campaign_are_no_matter_of_solutions(suite, run):
    suite(TASK)
    outcome = run("--tb-faults=add_note:before=error")
    assert outcome.status == 4
    assert "--tb-faults: reference solutions know nothing of them" in outcome.text
    assert "names no fault" in run("--tb-faults=add_note").text


def test_a_mutant_whose_call_a_fault_hit_goes_on(suite, run):
    suite("""
@shop.task("Leave a note.", solution=[call("add_note", words="hi")])
def test_note(changes):
    assert changes == [Inserted("notes", text="hi")]
""")
    outcome = run("--tb-faults=add_note:before=error", agent="mutant:0")
    assert outcome.outcomes() == ["failed"]


IMPATIENT = """
import asyncio

async def agent(task):
    try:
        await asyncio.wait_for(task.call_tool("add_note", {"words": "hi"}), 0.5)
    except TimeoutError:
        return "I gave up."
    return "done"
"""


def test_a_call_that_the_agent_does_not_wait_for_is_recorded_with_its_fault(suite, run, pytester):
    pytester.makepyfile(impatient=IMPATIENT)
    suite("""
from pytest_thinkingbox import Fault

@shop.task("Leave a note.", faults=[Fault("add_note", after_commit="timeout", delay=30)])
def test_note(attempt, changes):
    assert changes == [Inserted("notes", text="hi")]
    assert [one.name for one in attempt.tool_calls] == ["add_note"]
""")
    outcome = run(agent="python:impatient:agent")
    assert outcome.outcomes() == ["passed"]
    [record] = outcome.records()
    [called] = record["tool_calls"]
    assert (called["fault"], called["error"], called["result"]) == (
        "after_commit=timeout",
        True,
        "(nobody waited for the answer)",
    )


LEAVES = """
import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main():
    token = {"Authorization": f"Bearer {os.environ['THINKINGBOX_MCP_TOKEN']}"}
    async with httpx2.AsyncClient(headers=token) as http:
        async with Client(streamable_http_client(os.environ["THINKINGBOX_MCP_URL"], http_client=http)) as tools:
            calling = asyncio.create_task(tools.call_tool("add_note", {"words": "hi"}))
            await asyncio.sleep(1)
            os._exit(0)


asyncio.run(main())
"""


@pytest.mark.slow
def test_a_call_from_which_a_program_walks_away_is_recorded_with_its_fault(suite, run, pytester):
    program = pytester.makepyfile(leaves=LEAVES)
    suite("""
from pytest_thinkingbox import Fault

@shop.task("Leave a note.", faults=[Fault("add_note", after_commit="timeout", delay=30)])
def test_note(attempt, changes):
    assert changes == [Inserted("notes", text="hi")]
    assert [one.name for one in attempt.tool_calls] == ["add_note"]
""")
    outcome = run(agent=f"command:{sys.executable} {program}")
    assert outcome.outcomes() == ["passed"]
    [called] = outcome.records()[0]["tool_calls"]
    assert (called["fault"], called["error"]) == ("after_commit=timeout", True)
