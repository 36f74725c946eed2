from __future__ import annotations

import json
import math

import pytest

from thinkingbox_trainer.metrics import numbers
from thinkingbox_trainer.steplog import StepLog

PLAYED = {
    "step": 3, "reward": 0.25, "groups": 17, "groups_missing": 1, "groups_given_up": 1,
    "groups_played": 22, "groups_uniform": 4, "uniform_share": 4 / 22,
    "groups_replaced": 5, "groups_refilled": 2, "episodes": 190, "episodes_invalid": 7, "invalid_share": 7 / 190,
    "tokens_trained": 9000, "tokens_written": 12345, "length_clean": 61.5, "length_refilled": math.nan,
    "seconds_model": 12.34, "seconds_tools": 0.5, "seconds_user": 0.0, "seconds_grading": 1.25, "regraded": 0,
    "skipped": 0,
    "invalid": {"test_a.py::test_a": {"2": 7}},
}  # fmt: skip


@pytest.fixture
def log(tmp_path):
    said: list[str] = []
    log = StepLog(tmp_path / "steps.jsonl", say=said.append)

    def written() -> list[dict]:
        return [json.loads(line) for line in (tmp_path / "steps.jsonl").read_text().splitlines()]

    log.said, log.written = said, written
    yield log
    log.close()


def test_a_step_is_one_line_for_a_person_with_denominators(log):
    log.played(PLAYED)
    log.updated({"grad_norm": 0.125, "loss": -0.5})
    assert log.said == [
        "step 3: reward 0.250; 17/18 groups; 4/22 zero-variance, 5 replaced, 2 refilled; 7/190 episodes invalid; "
        "12,345 tokens; waiting (s, of all episodes): model 12.3, tools 0.5, user 0.0, grading 1.2; gradient 0.125"
    ]


def test_a_gradient_that_moved_nothing_is_told_as_such(log):
    log.played({**PLAYED, "skipped": 1})
    log.updated({"grad_norm": 0.125, "loss": -0.5})
    assert log.said[0].endswith("; gradient 0.125, thrown away: too few groups")
    assert log.written()[0]["skipped"] == 1


def test_a_step_is_one_line_of_json_with_its_update(log):
    log.played(PLAYED)
    assert log.written() == []
    log.updated({"grad_norm": 0.125, "loss": -0.5, "epoch": 1.0})
    [line] = log.written()
    assert (line["step"], line["grad_norm"], line["loss"]) == (3, 0.125, -0.5)
    assert line["invalid"] == {"test_a.py::test_a": {"2": 7}}
    assert line["length_refilled"] is None
    assert "epoch" not in line


def test_a_step_that_ends_the_run_is_written_without_an_update(log):
    log.played({**PLAYED, "reward": math.nan})
    log.close()
    [line] = log.written()
    assert (line["reward"], "grad_norm" in line) == (None, False)
    assert "reward n/a" in log.said[0]


def test_what_is_logged_at_the_end_of_a_run_is_no_step(log):
    log.played(PLAYED)
    log.updated({"grad_norm": 0.1})
    log.updated({"train_runtime": 12.0})
    log.updated({"grad_norm": 0.2})
    assert len(log.written()) == 1


def test_a_chart_gets_what_is_a_number():
    assert numbers({"reward": math.nan, "groups": 2, "invalid": {}}) == {"groups": 2.0}
