from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.selection.proofs import read_proof

HASHES = {"prompt": "p", "environment": "e", "seed": None, "checker": "c"}
TODAY = {"prompt": "p", "environment": "e", "checker": "c"}


def entry(task: str, killed: int = 4, survived: int = 0, problems: tuple[str, ...] = ()) -> dict[str, Any]:
    fates = ["killed"] * killed + ["survived"] * survived + ["equivalent"]
    return {
        "task": task, "hashes": HASHES, "problems": list(problems), "score": 1.0,
        "mutants": [{"fate": fate, "kind": "drop"} for fate in fates],
    }  # fmt: skip


def write(folder: Path, *tasks: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "proof.json"
    path.write_text(json.dumps({"version": 1, "holds": True, "tasks": list(tasks)}), encoding="ascii")
    return path


def test_a_task_is_solved_when_its_proof_has_no_problem(tmp_path: Path) -> None:
    proof = read_proof(write(tmp_path, entry("t"), entry("u", problems=("the solution fails",))))
    assert proof.solved == {"t"}


def test_a_proof_of_these_tasks_as_they_are_holds(tmp_path: Path) -> None:
    proof = read_proof(write(tmp_path, entry("t"), entry("u", 0, 4)))
    assert proof.complaints({"t": TODAY}, min_score=1.0) == []


def test_a_score_is_that_of_the_tasks_asked_for(tmp_path: Path) -> None:
    proof = read_proof(write(tmp_path, entry("t", 9, 1), entry("u", 2, 0)))
    assert proof.score(["t", "u"]) == pytest.approx(11 / 12)
    assert proof.complaints({"t": TODAY, "u": TODAY}, min_score=1.0) == [
        "its score over these tasks is 0.917, below 1"
    ]
    assert proof.complaints({"t": TODAY}, min_score=0.9) == []


def test_a_task_that_is_missing_changed_or_refused_is_named(tmp_path: Path) -> None:
    proof = read_proof(write(tmp_path, entry("t"), entry("u", problems=("no",))))
    lines = proof.complaints({"t": {**TODAY, "checker": "x"}, "u": TODAY, "v": TODAY}, min_score=1.0)
    assert lines == [
        "1 of 3 tasks are not in it: v",
        "1 of 3 tasks were changed since: t",
        "1 of 3 tasks were refused by it: u",
    ]


def test_the_latest_of_several_proofs_is_read(tmp_path: Path) -> None:
    write(tmp_path / "20260101-000000-a", entry("t"))
    latest = write(tmp_path / "20260102-000000-a", entry("u"))
    assert read_proof(tmp_path).path == latest


def test_a_file_that_is_no_proof_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="thinkingbox prove SUITE"):
        read_proof(tmp_path)
    (tmp_path / "proof.json").write_text("{}", encoding="ascii")
    with pytest.raises(ConfigurationError, match="is no proof: version: Field required"):
        read_proof(tmp_path)
