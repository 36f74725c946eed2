"""From a suite to a pool that may be trained on, with every command that it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_thinkingbox.cli import main
from pytest_thinkingbox.errors import ConfigurationError
from tests.conftest import SHOP
from tests.trainer.recipes import RECIPE, write_recipe
from thinkingbox_trainer.pool import check_pool, pool_tasks
from thinkingbox_trainer.recipe import read_recipe

TASKS = """
import pytest
from shop import *


@pytest.mark.parametrize("key", [1, 2, 3, 4])
@shop.task(
    lambda key: f"Please close order {key}.",
    solution=lambda key: [call("set_status", order_id=key, status="closed")],
    tags=["template:close"],
)
def test_close(changes, key):
    assert changes == [Updated("orders", key, status=("open", "closed"))]
"""


@pytest.mark.slow
def test_a_suite_is_probed_proved_selected_and_held_against_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:asyncio\n", encoding="utf-8")
    suite = tmp_path / "test_close.py"
    suite.write_text(TASKS, encoding="utf-8")
    probe = [
        "--tb-agent=mutant:0.5",
        "--tb-attempts=8",
        "--tb-purpose=probe",
        "--tb-seed=3",
        "--tb-min-pass-rate=0",
    ]
    subprocess.run([sys.executable, "-m", "pytest", "-q", *probe], check=True, stdout=subprocess.DEVNULL)
    assert main(["prove", "test_close.py"]) == 0
    draw = ["--rule=full", "--min-valid=8", "--validation=0", "--held-out=0.25", "--unseen=0"]
    proof = ["--proof", ".thinkingbox/prove"]
    assert main(["select", ".thinkingbox", "-o", "pool.json", *draw, *proof]) == 0
    assert "4 of 4 tasks, by proof" in capsys.readouterr().out

    unproved = next(line for line in RECIPE.splitlines() if line.startswith("unproved"))
    named = 'pool = "pool.json"\nproof = ".thinkingbox/prove"'
    recipe = read_recipe(write_recipe(tmp_path, (unproved, named), ('["suite"]', '["test_close.py"]')))
    check_pool(recipe, folder=tmp_path)
    trained = pool_tasks(recipe, folder=tmp_path)
    assert trained
    assert len(trained) <= 3

    suite.write_text(TASKS.replace('"closed"))]', '"shut"))]'), encoding="utf-8")
    with pytest.raises(ConfigurationError) as refused:
        check_pool(recipe, folder=tmp_path)
    lines = str(refused.value).splitlines()
    assert (
        f"pool.json: {len(trained)} of {len(trained)} tasks were changed since they were probed" in lines[1]
    )
    assert f".thinkingbox/prove: {len(trained)} of {len(trained)} tasks were changed since" in lines[2]
