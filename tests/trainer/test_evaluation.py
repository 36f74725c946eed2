from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.selection.choose import choose
from pytest_thinkingbox.selection.manifest import write_manifest
from pytest_thinkingbox.selection.pool import Shares
from tests.conftest import SHOP
from tests.selection.builders import campaign, contents
from thinkingbox_trainer.evaluation import EvaluationRecipe, evaluate, pytest_command, read_evaluation

RECIPE = """
[evaluation]
name = "check"
seed = 8
attempts = 2
concurrency = 4
output = "out"

[suite]
paths = ["suite"]

[base]
path = "tiny"

[trained]
path = "other"
base_url = "http://127.0.0.1:9/v1"

[sampling]
temperature = 1.0
top_p = 0.95
top_k = 20
longest = 2048
answer = 12
"""


def write(folder: Path, *changes: tuple[str, str]) -> EvaluationRecipe:
    text = RECIPE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "evaluation.toml").write_text(text, encoding="utf-8")
    return read_evaluation(folder / "evaluation.toml")


def pool(folder: Path, *named: str) -> None:
    tasks = named or [f"a.py::t{number}" for number in range(4)]
    made = choose(
        [campaign(folder, "probe", dict.fromkeys(tasks, "pf"), seed=3)],
        suite=contents(*tasks),
        rule="full",
        min_valid=1,
        shares=Shares(validation=0, held_out=0.5, unseen=0),
        seed=0,
    )
    write_manifest(made, folder / "pool.json")


def options(folder: Path, side: str, recipe: EvaluationRecipe) -> dict[str, str]:
    command = pytest_command(recipe, side, folder=folder, url="http://x/v1", tasks=(), resume=None)  # type: ignore[arg-type]
    named = [word.partition("=") for word in command if word.startswith("--tb-")]
    return {name: value for name, _, value in named}


def test_both_campaigns_are_asked_the_same(tmp_path: Path) -> None:
    base, trained = (options(tmp_path, side, write(tmp_path)) for side in ("base", "trained"))
    assert {name for name in base if base[name] != trained[name]} == {
        "--tb-model",
        "--tb-tokenizer",
        "--tb-dir",
    }
    assert (base["--tb-purpose"], base["--tb-seed"], base["--tb-attempts"]) == ("evaluation", "8", "2")
    assert json.loads(base["--tb-extra-body"]) == {"top_p": 0.95, "top_k": 20, "max_tokens": 12}


def test_tasks_that_choose_a_checkpoint_are_no_evaluation(tmp_path: Path) -> None:
    named = 'paths = ["suite"]\npool = "pool.json"\nsplits = ["validation"]'
    recipe = write(tmp_path, ('paths = ["suite"]', named))
    assert options(tmp_path, "base", recipe)["--tb-purpose"] == "validation"


def test_a_checkpoint_that_is_there_is_named_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    assert options(tmp_path, "base", write(tmp_path))["--tb-model"] == str((tmp_path / "tiny").resolve())
    assert options(tmp_path, "trained", write(tmp_path))["--tb-model"] == "other"


def test_the_seed_of_a_probe_measures_nothing(tmp_path: Path) -> None:
    pool(tmp_path)
    recipe = write(
        tmp_path, ("seed = 8", "seed = 3"), ('paths = ["suite"]', 'paths = ["suite"]\npool = "pool.json"')
    )
    with pytest.raises(ConfigurationError, match=r"evaluation.seed = 3 is that of a probe"):
        evaluate(recipe, folder=tmp_path)


def test_a_split_without_a_task_is_an_error(tmp_path: Path) -> None:
    pool(tmp_path)
    named = 'paths = ["suite"]\npool = "pool.json"\nsplits = ["unseen"]'
    with pytest.raises(ConfigurationError, match=r"pool.json has no task in unseen"):
        evaluate(write(tmp_path, ('paths = ["suite"]', named)), folder=tmp_path)


def test_tasks_that_were_trained_on_are_refused_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    cases = "\n".join(
        f"@shop.task('Close {at}.')\ndef test_{at}(changes):\n    assert changes\n" for at in range(4)
    )
    (tmp_path / "test_a.py").write_text(f"from shop import *\n{cases}", encoding="utf-8")
    pool(tmp_path, *(f"test_a.py::test_{at}" for at in range(4)))
    recipe = write(tmp_path, ('paths = ["suite"]', 'paths = ["test_a.py"]\npool = "pool.json"'))
    with pytest.raises(
        ConfigurationError, match=r"2 of 4 tasks of suite.paths are in .*pool.json to be trained on"
    ):
        evaluate(recipe, folder=tmp_path)
    assert not (tmp_path / "out").exists()


def test_splits_without_a_manifest_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="splits are those of a manifest"):
        write(tmp_path, ('paths = ["suite"]', 'paths = ["suite"]\nsplits = ["unseen"]'))


def test_a_server_that_does_not_start_ends_it(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="without torch it is refused before")
    from thinkingbox_trainer.evaluation import EvaluationBroke

    with pytest.raises(EvaluationBroke, match="thinkingbox serve tiny ended with exit status 2"):
        evaluate(write(tmp_path), folder=tmp_path)
