"""What keeps a run from beginning."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from pytest_thinkingbox.errors import ConfigurationError
from tests.conftest import SHOP
from tests.trainer.recipes import RECIPE, write_recipe
from tests.trainer.tiny import TASKS
from thinkingbox_trainer import cli
from thinkingbox_trainer.recipe import read_recipe
from thinkingbox_trainer.run import train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]


def test_a_suite_that_is_not_proved_is_refused_before_a_model_is_looked_for(tmp_path):
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "shop.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "suite" / "test_shop.py").write_text(TASKS, encoding="utf-8")
    (tmp_path / "suite" / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "proof.json").write_text('{"version": 1, "tasks": []}', encoding="ascii")
    unproved = next(line for line in RECIPE.splitlines() if line.startswith("unproved"))
    recipe = read_recipe(write_recipe(tmp_path, (unproved, 'proof = "proof.json"')))
    with pytest.raises(ConfigurationError, match=r"proof.json: 4 of 4 tasks are not in it"):
        train(recipe, folder=tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_one_line_and_no_traceback(tmp_path, capsys):
    (tmp_path / "file").touch()
    recipe = write_recipe(tmp_path, ('output = "out"', 'output = "file/out"'))
    assert cli.main([str(recipe)]) == 2
    assert f"thinkingbox-train: {recipe}: [Errno 20] Not a directory" in capsys.readouterr().err
