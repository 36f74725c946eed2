from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pytest_thinkingbox.declare import Database, Environment, Limits
from pytest_thinkingbox.episodes.model import Conversation, Episode, EpisodeRequest
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.rewards import CannotGrade, Suite, load_suite
from pytest_thinkingbox.rewards.grader import Grader
from tests.rewards.suites import closed, untouched, with_a_table, write_suite


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    with load_suite(cwd=write_suite(tmp_path_factory.mktemp("suite")), seconds=20) as loaded:
        yield loaded


def outcome(suite: Suite, state) -> str:
    verdict = suite.grade(state)
    return verdict.cause or verdict.outcome


def test_the_tasks_are_those_that_pytest_collects_and_no_mark_skips(suite):
    names = [name.removeprefix("test_shop.py::") for name in suite.tasks]
    assert names[:2] == ["test_close", "test_credit"]
    assert names[-2:] == ["test_each[1]", "test_each[2]"]
    assert "test_skipped" not in names


def test_a_dataset_has_prompt_task_and_tags(suite):
    rows = suite.dataset(repeat=2)
    assert len(rows) == 2 * len(suite.tasks)
    assert rows[0] == {
        "prompt": [{"role": "user", "content": "Close 1."}],
        "task_id": "test_shop.py::test_close",
        "tags": ["plain"],
    }


def test_a_prompt_is_that_of_its_parameters(suite):
    assert suite.tasks["test_shop.py::test_each[2]"].prompt == "Close 2."


@pytest.mark.parametrize(
    "task",
    ["test_close", "test_rows", "test_fixtures", "TestClass::test_new_object", "test_async", "test_alone"],
)
def test_a_state_is_graded_again_and_again(suite, task):
    assert [outcome(suite, closed(task)) for _ in range(3)] == ["passed"] * 3


@pytest.mark.parametrize("task", ["test_close", "test_async", "test_alone", "test_subtests", "test_rows"])
def test_a_state_that_is_wrong_fails(suite, task):
    assert outcome(suite, untouched(task)) == "failed"


def test_a_failure_says_what_a_campaign_would_say(suite):
    verdict = suite.grade(closed("test_close", status="lost"))
    assert "Updated('orders', 1, status=('open', 'lost'))" in verdict.detail.replace('"', "'")


def test_what_the_checker_did_not_account_for_fails(suite):
    assert outcome(suite, closed("test_subtests", order=2)) == "failed"


def test_rewards_are_one_nought_and_nothing(suite):
    states = [closed("test_close"), untouched("test_close"), closed("test_key_error")]
    assert [suite.reward(one.task_id, one) for one in states] == [1.0, 0.0, None]


def test_credit_counts_only_where_it_is_asked_for(suite):
    state = untouched("test_credit")
    assert suite.reward(state.task_id, state) == 0.0
    assert suite.reward(state.task_id, state, reward="credit") == 0.25


def test_an_episode_of_another_task_is_refused(suite):
    with pytest.raises(ValueError, match=r"an episode of 'test_shop.py::test_close', not of 'other'"):
        suite.reward("other", closed("test_close"))


def test_a_key_error_in_a_checker_is_no_failure_of_the_agent(suite):
    verdict = suite.grade(closed("test_key_error"))
    assert (verdict.outcome, verdict.cause, verdict.reward) == ("invalid", "checker", None)
    assert verdict.detail == "KeyError: 'status'"


def test_a_fixture_that_failed_once_is_made_again(suite):
    assert outcome(suite, untouched("test_fixture_fails")) == "checker"
    assert outcome(suite, closed("test_fixture_fails")) == "passed"


def test_a_table_that_nobody_asked_for_fails_a_checker_that_reads_another(suite):
    verdict = suite.grade(with_a_table("test_rows"))
    assert verdict.outcome == "failed"
    assert "SchemaChange('created', 'table', 'extra'" in verdict.detail.replace('"', "'")


def test_a_table_that_was_asked_for_is_no_failure_though_its_rows_are_not_known_any_more(suite):
    made = with_a_table("test_table_first")
    assert outcome(suite, made) == "passed"
    assert outcome(suite, with_a_table("test_its_rows_first")) == "checker"
    verdict = suite.grade(with_a_table("test_sql_first"))
    assert (verdict.cause, verdict.reward) == ("checker", None)
    assert "table extra was created: what became of its rows is not known any more" in verdict.detail


def test_changes_that_do_not_fit_the_seed_are_no_failure(suite):
    state = closed("test_rows", order=77)
    assert outcome(suite, state) == "checker"


def test_a_task_that_is_not_there_is_invalid(suite):
    verdict = suite.grade(closed("test_none"))
    assert verdict.detail == "this suite has no task 'test_shop.py::test_none'"
    assert verdict.reward is None


def test_an_invalid_episode_is_not_graded(suite):
    shop = Environment(name="shop", database=Database(schema=lambda connection: None), servers=[])
    request = EpisodeRequest(
        task_id="test_shop.py::test_close",
        attempt=1,
        environment=shop,
        prompt="Close 1.",
        user=None,
        start=None,
        solution=None,
        parameters={},
        limits=Limits(),
        campaign="c",
        seed=0,
    )
    episode = Episode(
        request=request, try_number=1, conversation=Conversation(), cause="provider", detail="down"
    )
    verdict = suite.grade(episode)
    assert (verdict.cause, verdict.detail, verdict.reward) == ("provider", "down", None)


def test_one_reward_function_grades_all_rows_of_trl(suite):
    [function] = suite.reward_funcs()
    states = [closed("test_close"), untouched("test_close"), closed("test_key_error"), None]
    rewards = function(
        prompts=["p"] * 4,
        completions=["c"] * 4,
        task_id=[*(one.task_id for one in states[:3]), "test_shop.py::test_close"],
        episode=states,
    )
    assert rewards == [1.0, 0.0, None, None]


def test_a_checker_that_ends_its_process_is_invalid_and_the_session_comes_back(suite):
    before = suite._grader.restarts
    verdict = suite.grade(closed("test_exit"))
    assert (verdict.cause, verdict.reward) == ("crash", None)
    assert verdict.detail == "the checker ended its process with exit status 3"
    assert outcome(suite, closed("test_close")) == "passed"
    assert suite._grader.restarts == before + 1


@pytest.mark.slow
def test_a_checker_that_hangs_is_killed_and_the_session_comes_back(tmp_path):
    others = children()
    with Grader(["-k", "hangs or close"], cwd=write_suite(tmp_path), seconds=1.5) as grader:
        assert grader.grade(untouched("test_hangs")).outcome == "passed"
        child = grader.process_id()
        assert child in children()
        began = time.monotonic()
        verdict = grader.grade(closed("test_hangs"))
        assert time.monotonic() - began < 5
        assert (verdict.cause, verdict.reward) == ("checker", None)
        assert verdict.detail == "the checker did not end within 1.5 s"
        assert child not in children()
        assert grader.grade(closed("test_close")).outcome == "passed"
    assert children() == others


def test_a_suite_that_was_edited_meanwhile_is_not_graded_on(tmp_path):
    folder = write_suite(tmp_path)
    with load_suite(arguments=["-k", "exit or close"], cwd=folder, seconds=20) as suite:
        assert outcome(suite, closed("test_exit")) == "crash"
        assert outcome(suite, closed("test_close")) == "passed"
        tasks = folder / "test_shop.py"
        tasks.write_text(tasks.read_text("utf-8").replace("os._exit(3)", "os._exit(4)"), encoding="utf-8")
        assert outcome(suite, closed("test_exit")) == "crash"
        with pytest.raises(
            CannotGrade, match=r"not the suite any more that was loaded: test_shop\.py::test_exit\. "
        ):
            suite.grade(closed("test_close"))


@pytest.mark.slow
def test_a_child_that_does_not_read_holds_nobody_up(tmp_path):
    with load_suite(arguments=["-k", "close"], cwd=write_suite(tmp_path), seconds=1.5) as suite:
        os.kill(suite.process_id(), signal.SIGSTOP)
        state = closed("test_close")
        more_than_a_pipe_holds = replace(state, conversation=Conversation(response="x" * 10_000_000))
        assert outcome(suite, more_than_a_pipe_holds) == "checker"
        assert outcome(suite, state) == "passed"


def test_a_suite_that_cannot_be_collected_says_why(tmp_path):
    others = children()
    (tmp_path / "test_broken.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    with pytest.raises(CannotGrade, match="No module named 'nothing_of_this_name'"):
        load_suite("test_broken.py", cwd=tmp_path)
    assert children() == others


def children() -> set[int]:
    """Process ids of held sessions of this process."""
    done = subprocess.run(
        ["ps", "-ww", "--ppid", str(os.getpid()), "-o", "pid=,args="],
        capture_output=True,
        text=True,
        check=False,
    )
    return {int(one.split()[0]) for one in done.stdout.splitlines() if "thinkingbox.rewards.child" in one}


def test_who_asks_after_the_end_begins_no_process(tmp_path, monkeypatch):
    (tmp_path / "folders").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "folders"))
    (tmp_path / "suite").mkdir()
    with load_suite(cwd=write_suite(tmp_path / "suite"), seconds=20) as suite:
        pass
    with pytest.raises(CannotGrade, match="was ended: nothing is graded any more"):
        suite.grade(closed("test_close"))
    assert list((tmp_path / "folders").iterdir()) == []


def test_a_rollout_function_without_the_training_libraries_names_the_extra(suite, monkeypatch):
    monkeypatch.setattr("pytest_thinkingbox.rewards.suite.find_spec", lambda name: None)
    with pytest.raises(
        ConfigurationError, match=r"needs torch, .* pip install 'pytest-thinkingbox\[train\]'"
    ):
        suite.rollout_func(longest=100, answer=10)


def test_a_rollout_function_that_brings_nothing_to_grade_is_an_error(suite):
    [function] = suite.reward_funcs()
    with pytest.raises(ConfigurationError, match="returned neither `episode` nor `reward`"):
        function(prompts=["p"], completions=["c"], task_id=["test_shop.py::test_close"])
