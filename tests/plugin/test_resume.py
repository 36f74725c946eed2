"""A campaign that goes on: what is played, what is graded again, what is refused."""

from __future__ import annotations

import json

import pytest

from pytest_thinkingbox.backends import server_options
from pytest_thinkingbox.plugin import servers

CLOSE = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""
NOTE = """
@shop.task("Note it.", solution=[call("add_note", words="x")])
def test_note(changes):
    assert changes == [Inserted("notes", text="x")]
"""
OTHER = """
from dataclasses import replace

database = replace(shop.database, image="postgres:17", options={"work_mem": "7MB"})
other = Environment(name="other", database=database, servers=shop.servers, mail=False)

@other.task("Note it.", solution=[call("add_note", words="x")])
def test_note(changes):
    assert changes == [Inserted("notes", text="x")]
"""
RESUME = "--tb-resume=.thinkingbox"
COUNTING = '''
import json
from pathlib import Path

async def agent(task):
    """Closes order 1, and counts how often it was asked."""
    with open("asked.txt", "a") as file:
        file.write(task.attempt_id + "\\n")
    await task.call_tool("set_status", {"order_id": 1, "status": "closed"})
    return "done"
'''


@pytest.fixture
def counting(pytester):
    """An agent of its own: every episode is a line in a file."""
    pytester.makepyfile(counting=COUNTING)
    path = pytester.path / "asked.txt"

    def asked():
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return sorted(line.partition("::")[2] for line in lines)

    return asked


AGENT = "python:counting:agent"


def info(pytester):
    (path,) = pytester.path.glob(".thinkingbox/*/campaign.json")
    return json.loads(path.read_text())


def drop(pytester, keep):
    """Take lines out of the only campaign's records."""
    (path,) = pytester.path.glob(".thinkingbox/*/attempts.jsonl")
    lines = [line for line in path.read_text().splitlines(keepends=True) if keep(json.loads(line))]
    path.write_text("".join(lines))


def test_t21_only_what_is_missing_or_invalid_runs_and_tokens_add_up(suite, run, counting, pytester):
    suite(CLOSE + NOTE)
    run("--tb-attempts=3", "-k", "close", agent=AGENT)
    counting()
    (path,) = pytester.path.glob(".thinkingbox/*/attempts.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    used = {"requests": 1, "input_tokens": 10, "cached_tokens": 0, "output_tokens": 1, "reasoning_tokens": 0}
    for line in lines:
        line["usage"]["agent"] = used
        if line["attempt"] == 2:
            line |= {"outcome": "invalid", "cause": "provider", "reward": None, "changes": None}
    kept = [json.dumps(line) for line in lines if line["attempt"] != 3]
    path.write_text("\n".join(kept) + "\n" + '{"version": 2, "campa')
    outcome = run("--tb-attempts=3", "-k", "close", RESUME, agent=AGENT)
    assert counting() == ["test_close[try2]", "test_close[try3]"]
    assert outcome.status == 0
    assert "3/3" in outcome.text
    assert "resumed   2 played, 0 graded again, 1 as they were" in outcome.text
    assert [(one["attempt"], one["try_number"], one["outcome"]) for one in outcome.records()] == [
        (1, 1, "passed"),
        (2, 1, "invalid"),
        (2, 2, "passed"),
        (3, 1, "passed"),
    ]
    assert info(pytester)["finished"] is not None
    assert len(list(pytester.path.glob(".thinkingbox/*/campaign.json"))) == 1


def test_a_complete_campaign_has_nothing_to_do_and_keeps_its_verdict(suite, run, counting):
    suite(CLOSE)
    run("--tb-attempts=2", agent=AGENT)
    counting()
    outcome = run("--tb-attempts=2", RESUME, agent=AGENT)
    assert counting() == []
    assert outcome.status == 0
    assert "2/2" in outcome.text


def test_a_failed_verdict_stays_the_exit_status(suite, run):
    suite(CLOSE.replace('status="closed"', 'status="open"'))
    run("--tb-attempts=2")
    outcome = run("--tb-attempts=2", RESUME)
    assert outcome.status == 1
    assert "0/2" in outcome.text


def test_t22_more_attempts_play_only_the_new_ones(suite, run, counting, pytester):
    suite(CLOSE)
    run("--tb-attempts=4", agent=AGENT)
    counting()
    outcome = run("--tb-attempts=8", RESUME, agent=AGENT)
    assert counting() == [f"test_close[try{number}]" for number in (5, 6, 7, 8)]
    assert "8/8" in outcome.text
    assert info(pytester)["tasks"] == {"test_shop.py::test_close": 8}


def test_t22_one_attempt_becomes_three(suite, run, counting):
    suite(CLOSE)
    run(agent=AGENT)
    counting()
    outcome = run("--tb-attempts=3", RESUME, agent=AGENT)
    assert counting() == ["test_close[try2]", "test_close[try3]"]
    assert outcome.status == 0
    assert "3/3" in outcome.text


def test_fewer_attempts_forget_nothing(suite, run, counting, pytester):
    suite(CLOSE)
    run("--tb-attempts=3", agent=AGENT)
    counting()
    outcome = run("--tb-attempts=1", RESUME, agent=AGENT)
    assert counting() == []
    assert "3/3" in outcome.text
    assert outcome.status == 0


def test_t22_an_edited_checker_grades_again_without_playing(suite, run, counting):
    suite(CLOSE)
    run("--tb-attempts=2", agent=AGENT)
    counting()
    suite(CLOSE.replace('status="closed"', 'status=("open", "shut")'))
    outcome = run("--tb-attempts=2", RESUME, agent=AGENT)
    assert counting() == []
    assert outcome.status == 1
    assert "0/2" in outcome.text
    assert "resumed   0 played, 2 graded again, 0 as they were" in outcome.text
    assert [(one["outcome"], one["try_number"], bool(one["regraded_at"])) for one in outcome.records()] == [
        ("passed", 1, False),
        ("failed", 1, True),
    ] * 2


def test_t22_an_edited_prompt_is_refused_and_nothing_is_touched(suite, run, counting, pytester):
    suite(CLOSE)
    run("--tb-attempts=2", agent=AGENT)
    counting()
    before = {path: path.read_bytes() for path in pytester.path.glob(".thinkingbox/*/*.json*")}
    suite(CLOSE.replace("Close order 1.", "Close the first order."))
    outcome = run("--tb-attempts=2", RESUME, agent=AGENT)
    assert counting() == []
    assert outcome.status == 4
    assert "1 task with another prompt than then: test_shop.py::test_close" in outcome.text
    assert "--tb-rerun-changed" in outcome.text
    assert {path: path.read_bytes() for path in pytester.path.glob(".thinkingbox/*/*.json*")} == before


def test_t22_an_edited_prompt_is_played_again_when_told_so(suite, run, counting):
    suite(CLOSE + NOTE)
    run("--tb-attempts=2", agent=AGENT)
    counting()
    suite(CLOSE.replace("Close order 1.", "Close the first order.") + NOTE)
    outcome = run("--tb-attempts=2", RESUME, "--tb-rerun-changed", agent=AGENT)
    assert counting() == ["test_close[try1]", "test_close[try2]"]
    assert len({one["hashes"]["prompt"] for one in outcome.records()}) == 3


def test_t22_an_edited_environment_is_refused(suite, run, counting, pytester):
    suite(CLOSE)
    run(agent=AGENT)
    shop = pytester.path / "shop.py"
    shop.write_text(shop.read_text().replace('"""Write a note."""', '"""Write a long note."""'))
    outcome = run(RESUME, agent=AGENT)
    assert outcome.status == 4
    assert "1 task with another environment than then" in outcome.text


def test_t22_an_edited_seed_is_played_again(suite, run, counting, pytester):
    suite(CLOSE)
    run("--tb-attempts=2", agent=AGENT)
    counting()
    shop = pytester.path / "shop.py"
    shop.write_text(shop.read_text().replace('"total": 10 * n', '"total": 110 * n'))
    outcome = run("--tb-attempts=2", RESUME, agent=AGENT)
    assert counting() == ["test_close[try1]", "test_close[try2]"]
    assert [one["try_number"] for one in outcome.records()] == [1, 2, 1, 2]
    assert len({one["hashes"]["seed"] for one in outcome.records()}) == 2
    assert {one["hashes"]["seed"] for one in outcome.records() if one["try_number"] == 2} == {
        info(pytester)["environments"]["shop"]["seed"]
    }


def test_t22_an_edited_start_state_is_played_again(suite, run, counting):
    started = CLOSE.replace(
        "@shop.task",
        "def start(connection):\n    connection.exec_driver_sql('DELETE FROM notes')\n\n@shop.task",
    ).replace("solution=CLOSE_1", "solution=CLOSE_1, start=start")
    suite(started)
    run(agent=AGENT)
    counting()
    run(RESUME, agent=AGENT)
    assert counting() == []
    suite(started.replace("DELETE FROM notes", "DELETE FROM log"))
    run(RESUME, agent=AGENT)
    assert counting() == ["test_close[try1]"]


def test_t23_attempts_are_known_by_name_not_by_place(suite, run, counting, pytester):
    suite(CLOSE + NOTE)
    run("--tb-attempts=2", agent=AGENT)
    counting()
    drop(pytester, lambda one: "close" not in one["task"] or one["attempt"] != 2)
    suite(NOTE + CLOSE)
    run("--tb-attempts=2", RESUME, "-k", "close", agent=AGENT)
    assert counting() == ["test_close[try2]"]
    assert info(pytester)["tasks"] == {"test_shop.py::test_close": 2, "test_shop.py::test_note": 2}
    assert info(pytester)["partial"] is None


def test_a_partial_campaign_goes_on(suite, run, counting, pytester):
    suite(CLOSE.replace('status="closed"', 'status="open"') + NOTE.replace("add_note", "set_status"))
    run("-x", "--tb-attempts=2", agent=AGENT)
    assert info(pytester)["partial"].startswith("3 attempts are missing")
    outcome = run("--tb-attempts=2", RESUME, agent=AGENT)
    assert len(outcome.records()) == 4
    assert info(pytester)["partial"] is None
    assert info(pytester)["finished"] is not None


def test_what_the_checker_tripped_over_is_graded_again_and_not_paid_for_again(suite, run, counting):
    suite(CLOSE.replace("assert", "raise KeyError\n    assert"))
    run(agent=AGENT)
    counting()
    suite(CLOSE)
    outcome = run(RESUME, agent=AGENT)
    assert counting() == []
    assert outcome.status == 0
    assert [one["outcome"] for one in outcome.records()] == ["invalid", "passed"]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["--tb-seed=1"], "--tb-seed: it was 0, now it is 1"),
        (["--tb-timeout=5"], "--tb-timeout: it was None, now it is 5.0"),
        (["--tb-agent=none"], "--tb-agent: it was 'solution', now it is 'none'"),
    ],
)
def test_what_was_played_otherwise_is_no_part_of_the_campaign(suite, run, given, line):
    suite(CLOSE)
    run()
    outcome = run(RESUME, *given)
    assert outcome.status == 4
    assert line in outcome.text


def test_attempts_whose_users_were_told_otherwise_are_no_part_of_the_campaign(suite, run, pytester):
    suite(CLOSE)
    run()
    (path,) = pytester.path.glob(".thinkingbox/*/campaign.json")
    path.write_text(path.read_text().replace(info(pytester)["options"]["user_prompt"], "0" * 16))
    outcome = run(RESUME)
    assert outcome.status == 4
    assert "another version of pytest-thinkingbox told the user model otherwise what to do" in outcome.text


def test_prices_stay_where_a_resume_names_none(suite, run, pytester):
    suite(CLOSE)
    pytester.makefile(".toml", prices="[models.m]\ninput = 1.0\noutput = 2.0\n")
    pytester.makepyfile(closing="async def agent(task):\n    return 'done'\n")
    run("--tb-model=m", "--tb-prices=prices.toml", agent="python:closing:agent")
    run("--tb-model=m", "--tb-attempts=2", RESUME, agent="python:closing:agent")
    assert info(pytester)["options"]["prices"] == {"m": {"input": 1.0, "cached_input": None, "output": 2.0}}


def test_t55_a_resume_with_nobody_to_act_is_a_usage_error(suite, run):
    suite(CLOSE)
    run()
    outcome = run(RESUME, agent=None)
    assert outcome.status == 4
    assert "--tb-resume asks for a campaign, but nobody is to act" in outcome.text


def test_a_folder_without_a_campaign_is_a_usage_error(suite, run):
    suite(CLOSE)
    outcome = run("--tb-resume=nowhere")
    assert outcome.status == 4
    assert "nowhere: neither a campaign nor a folder of campaigns" in outcome.text


def test_a_campaign_that_another_run_works_on_is_refused(suite, run, pytester):
    from pytest_thinkingbox.records.running import Running

    suite(CLOSE)
    run()
    (path,) = pytester.path.glob(".thinkingbox/*/campaign.json")
    other = Running(path.parent)
    outcome = run(RESUME)
    other.close()
    assert outcome.status == 4
    assert "is still being worked on by another run" in outcome.text
    assert run(RESUME).status == 0


def test_collect_only_shows_what_would_run_and_changes_nothing(suite, run, pytester):
    suite(CLOSE)
    run("--tb-attempts=2")
    drop(pytester, lambda one: one["attempt"] == 1)
    before = info(pytester)
    outcome = run("--tb-attempts=2", RESUME, "--co", "-q")
    assert "test_close[try2]" in outcome.text
    assert "test_close[try1]" not in outcome.text
    assert info(pytester) == before


@pytest.mark.slow
def test_two_workers_resume_alike(suite, run, counting, pytester):
    """What is missing, invalid or of another checker; then a refusal."""
    suite(CLOSE + NOTE)
    run("-n2", "--tb-attempts=4", agent=AGENT)
    counting()
    drop(pytester, lambda one: one["attempt"] != 3 or "note" in one["task"])
    suite(CLOSE + NOTE.replace('text="x"', 'text="y"'))
    outcome = run("-n2", "--tb-attempts=5", RESUME, agent=AGENT)
    assert counting() == [
        f"test_{name}[try{number}]" for name, number in (("close", 3), ("close", 5), ("note", 5))
    ]
    assert "resumed   3 played, 4 graded again, 3 as they were" in outcome.text
    assert info(pytester)["finished"] is not None
    suite(CLOSE.replace("Close order 1.", "Close it."))
    refused = run("-n2", "--tb-attempts=5", RESUME, agent=AGENT)
    assert refused.status == 4
    assert "1 task with another prompt than then: test_shop.py::test_close" in refused.text
    assert counting() == []


def test_a_server_for_a_campaign_that_goes_on_is_as_all_environments_want_it(suite, run, monkeypatch):
    suite(CLOSE + OTHER)
    run("-p", "no:xdist")
    asked = []

    def start_server(config, databases):
        asked.append(server_options(databases))

    monkeypatch.setattr(servers, "start_server", start_server)
    outcome = run("-p", "no:xdist", RESUME, "--tb-attempts=2")
    assert outcome.counts == {"passed": 2, "deselected": 2}
    assert asked == [("postgres:17", {"work_mem": "7MB"})]
