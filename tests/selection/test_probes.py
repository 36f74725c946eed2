from __future__ import annotations

from pathlib import Path

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.records.model import Hashes
from pytest_thinkingbox.selection.probes import (
    candidates_of,
    changed_since,
    hashes_of_probes,
    read_probes,
    solved_by,
)
from tests.selection.builders import campaign, hashes


def refused(*paths: Path) -> str:
    with pytest.raises(ConfigurationError) as error:
        read_probes(paths)
    return str(error.value)


def test_attempts_of_several_probes_add_up(tmp_path: Path) -> None:
    one = campaign(tmp_path, "one", {"t": "pfi", "u": "pp"}, seed=1)
    two = campaign(tmp_path, "two", {"t": "ppp"}, seed=2, tags={"t": ("easy",)})
    probes = read_probes([one.path, two.path])
    found = {c.task: (c.passed, c.valid, c.invalid, c.requested, c.tags) for c in candidates_of(probes)}
    assert found == {"t": (4, 5, 1, 6, ("easy",)), "u": (2, 2, 0, 2, ())}
    assert hashes_of_probes(probes)["t"] == Hashes(prompt="p-t", environment="e", checker="c-t", seed="s")


@pytest.mark.parametrize("purpose", ["evaluation", "validation"])
def test_only_a_probe_chooses_a_pool(tmp_path: Path, purpose: str) -> None:
    one = campaign(tmp_path, "one", {"t": "p"}, purpose=purpose)
    message = refused(one.path)
    assert f"its purpose is {purpose!r}" in message
    assert "--tb-purpose=probe" in message


def test_probes_of_two_policies_do_not_add_up(tmp_path: Path) -> None:
    one = campaign(tmp_path, "one", {"t": "p"}, seed=1)
    two = campaign(tmp_path, "two", {"t": "p"}, seed=2, model="large")
    assert "openai large acted there, openai small in" in refused(one.path, two.path)


def test_probes_that_asked_something_else_do_not_add_up(tmp_path: Path) -> None:
    one = campaign(tmp_path, "one", {"t": "p"}, seed=1)
    two = campaign(tmp_path, "two", {"t": "p"}, seed=2, options={"temperature": 0.5})
    assert "sampling: temperature None / 0.5" in refused(one.path, two.path)


def test_the_same_seed_would_count_twice(tmp_path: Path) -> None:
    one = campaign(tmp_path, "one", {"t": "p"}, seed=1)
    two = campaign(tmp_path, "two", {"t": "p"}, seed=1)
    assert "with the same seed" in refused(one.path, two.path)
    assert "with the same seed" in refused(one.path, one.path)


def test_a_task_is_solvable_that_another_model_passed_once(tmp_path: Path) -> None:
    probe = campaign(tmp_path, "one", {"t": "f", "u": "f", "v": "f"})
    reference = campaign(
        tmp_path, "big", {"t": "fp", "u": "ff", "v": "ii"}, model="large", purpose="evaluation"
    )
    assert solved_by(reference, [probe]) == {"t"}


def test_the_policy_is_no_reference_for_itself(tmp_path: Path) -> None:
    probe, again = campaign(tmp_path, "one", {"t": "f"}), campaign(tmp_path, "two", {"t": "p"}, seed=3)
    with pytest.raises(ConfigurationError, match="is the policy that was probed, and no reference"):
        solved_by(again, [probe])


def test_a_reference_that_saw_another_checker_is_refused(tmp_path: Path) -> None:
    probe = campaign(tmp_path, "one", {"t": "f"})
    reference = campaign(tmp_path, "big", {"t": "p"}, model="large", task_hashes={"t": Hashes(checker="x")})
    with pytest.raises(ConfigurationError, match="checkers: test function or its rules of 1 of 1 tasks: t"):
        solved_by(reference, [probe])


def test_a_task_that_was_edited_or_removed_since_is_named() -> None:
    now = {"t": {"prompt": "p-t", "environment": "e", "checker": "c-t"}}
    edited = {"t": {"prompt": "p-t", "environment": "e", "checker": "other"}}
    assert changed_since({"t": hashes("t")}, now) == []
    assert changed_since({"t": hashes("t")}, edited) == ["t"]
    assert changed_since({"t": hashes("t"), "u": hashes("u")}, now) == ["u"]
