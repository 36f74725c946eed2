from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.selection.choose import choose
from pytest_thinkingbox.selection.manifest import Manifest, write_manifest
from pytest_thinkingbox.selection.pool import Shares
from tests.selection.builders import campaign, contents
from tests.selection.test_proofs import entry, write
from tests.trainer.recipes import RECIPE, write_recipe
from thinkingbox_trainer.pool import check_pool, complain, manifest_of, pool_tasks
from thinkingbox_trainer.recipe import Recipe, read_recipe

TASKS = ("a.py::t1", "a.py::t2", "a.py::t3")
TODAY = {
    task: {"prompt": f"p-{task}", "environment": "e", "seed": "s", "checker": f"c-{task}"} for task in TASKS
}


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    """Two tasks to train on, 4/10 each; the third is always solved."""
    outcomes = {"a.py::t1": "ppppffffff", "a.py::t2": "ppppffffff", "a.py::t3": "pppppppppp"}
    made = choose(
        [campaign(tmp_path, "probe", outcomes, options={"backend": "sqlite"})],
        suite=contents(*TASKS),
        rule="full",
        min_valid=10,
        shares=Shares(validation=0, held_out=0, unseen=0),
        seed=0,
        benchmark=(["b"], contents("b.py::x")),
    )
    write_manifest(made, tmp_path / "pool.json")
    return made


def proof(tmp_path: Path, **named: Any) -> None:
    tasks = [
        entry(task, **named) | {"hashes": {**TODAY[task], "seed": None}} for task in ("a.py::t1", "a.py::t2")
    ]
    write(tmp_path, *tasks)


def recipe(tmp_path: Path, more: str = "", *changes: tuple[str, str]) -> Recipe:
    unproved = next(line for line in RECIPE.splitlines() if line.startswith("unproved"))
    named = f'pool = "pool.json"\nproof = "proof.json"\n{more}'
    return read_recipe(write_recipe(tmp_path, (unproved, named), *changes))


def refused(tmp_path: Path, manifest: Manifest, today: Any, more: str = "") -> str:
    with pytest.raises(ConfigurationError, match="this pool is not to be trained on") as error:
        complain(recipe(tmp_path, more), manifest, today, folder=tmp_path)
    return str(error.value)


def test_a_pool_that_is_as_it_was_probed_and_proved_is_trained_on(tmp_path: Path, manifest: Manifest) -> None:
    proof(tmp_path)
    complain(recipe(tmp_path), manifest, TODAY, folder=tmp_path)
    assert pool_tasks(recipe(tmp_path), folder=tmp_path) == ["a.py::t1", "a.py::t2"]


@pytest.mark.parametrize("kind", ["prompt", "environment", "checker", "seed"])
def test_a_task_that_was_changed_since_it_was_probed_is_refused(
    tmp_path: Path, manifest: Manifest, kind: str
) -> None:
    proof(tmp_path)
    today = TODAY | {"a.py::t2": {**TODAY["a.py::t2"], kind: "other"}}
    assert "pool.json: 1 of 2 tasks were changed since they were probed: a.py::t2" in refused(
        tmp_path, manifest, today
    )


def test_a_change_of_a_task_that_is_not_in_the_pool_is_none_of_its_business(
    tmp_path: Path, manifest: Manifest
) -> None:
    proof(tmp_path)
    today = TODAY | {"a.py::t3": {**TODAY["a.py::t3"], "checker": "other"}}
    complain(recipe(tmp_path), manifest, today, folder=tmp_path)


def test_a_task_that_is_no_more_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    proof(tmp_path)
    today = {task: one for task, one in TODAY.items() if task != "a.py::t1"}
    assert "1 of 2 tasks are not in the suite: a.py::t1" in refused(tmp_path, manifest, today)


def test_a_benchmark_task_that_slipped_in_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    proof(tmp_path)
    assert manifest.benchmark is not None
    listed = manifest.benchmark.model_copy(update={"tasks": ("a.py::t1",)})
    slipped = manifest.model_copy(update={"benchmark": listed})
    message = refused(tmp_path, slipped, TODAY)
    assert "pool.json: 1 tasks of the pool are on the benchmark's list: a.py::t1" in message


def test_a_proof_below_the_score_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    proof(tmp_path, killed=9, survived=1)
    assert "proof.json: its score over these tasks is 0.900, below 1" in refused(tmp_path, manifest, TODAY)
    complain(recipe(tmp_path, "min_score = 0.9"), manifest, TODAY, folder=tmp_path)


def test_a_proof_of_other_checkers_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    write(tmp_path, entry("a.py::t1"), entry("a.py::t2"))
    assert "proof.json: 2 of 2 tasks were changed since" in refused(tmp_path, manifest, TODAY)


def test_a_proof_that_is_not_there_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    with pytest.raises(ConfigurationError, match="thinkingbox prove SUITE"):
        complain(recipe(tmp_path), manifest, TODAY, folder=tmp_path)


def test_a_pool_of_another_rule_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    lora = 'method = "lora"\nlora_rank = 8\nlora_alpha = 16\nlora_targets = ["q_proj"]'
    with pytest.raises(ConfigurationError, match=r"selected with --rule full, and model\.method is 'lora'"):
        manifest_of(recipe(tmp_path, "", ('method = "full"', lora)), folder=tmp_path)


def test_a_pool_of_another_size_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    with pytest.raises(ConfigurationError, match=r"has 2 training tasks, and suite\.pool_tasks = 187"):
        pool_tasks(recipe(tmp_path, "pool_tasks = 187"), folder=tmp_path)


def test_a_manifest_that_was_edited_is_refused(tmp_path: Path, manifest: Manifest) -> None:
    path = tmp_path / "pool.json"
    path.write_text(path.read_text("ascii").replace("a.py::t3", "a.py::t4"), encoding="ascii")
    with pytest.raises(ConfigurationError, match="changed by hand"):
        pool_tasks(recipe(tmp_path), folder=tmp_path)


def test_a_recipe_without_pool_and_proof_collects_nothing(tmp_path: Path) -> None:
    made = read_recipe(write_recipe(tmp_path))
    check_pool(made, folder=tmp_path)
    assert pool_tasks(made, folder=tmp_path) is None
