"""A tiny model and what was trained from it, served and evaluated for real."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from pytest_thinkingbox.records.store import CampaignFolder, find_campaign
from tests.rewards.suites import forgotten
from tests.trainer.recipes import LORA, write_recipe
from tests.trainer.test_evaluation import write
from tests.trainer.tiny import write_world
from thinkingbox_trainer import cli
from thinkingbox_trainer.recipe import read_recipe
from thinkingbox_trainer.run import train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]


@pytest.mark.parametrize(
    ("method", "trained"),
    [("full", "out/model"), ("lora", "out/model"), ("lora", "out/checkpoints/step-2/export")],
)
def test_base_and_trained_policy_are_served_played_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str, trained: str
) -> None:
    write_world(tmp_path)
    recipe = write_recipe(tmp_path, *([LORA] if method == "lora" else []))
    with forgotten(tmp_path):
        train(read_recipe(recipe), folder=tmp_path)
    capsys.readouterr()
    write(
        tmp_path,
        ('base_url = "http://127.0.0.1:9/v1"\n', ""),
        ('path = "other"', f'path = "{trained}"'),
        ('output = "out"', 'output = "evaluated"'),
    )
    command = ["evaluate", str(tmp_path / "evaluation.toml")]

    assert cli.main(command) == 0
    said = capsys.readouterr().out
    folders = [
        CampaignFolder.open(find_campaign(tmp_path / "evaluated" / side)) for side in ("base", "trained")
    ]
    for folder, model in zip(folders, ("tiny", trained), strict=True):
        info = folder.read_info()
        assert info.model == str(tmp_path / model)
        assert (info.purpose, info.seed, info.agent, len(info.tasks)) == ("evaluation", 8, "tokens", 4)
        assert [row.outcome in ("passed", "failed") for row in folder.read_rows()] == [True] * 8
    passed = [sum(row.outcome == "passed" for row in folder.read_rows()) for folder in folders]
    [row] = re.findall(r"pass@1 +(\S+ %) +(\S+ %) .* 4/4$", said, re.MULTILINE)
    assert row == tuple(f"{100 * one / 8:.1f} %" for one in passed)

    before = [folder.records_path.read_bytes() for folder in folders]
    lines = before[1].splitlines(keepends=True)
    folders[1].records_path.write_bytes(b"".join(lines[:5]))  # as after a crash
    assert cli.main(command) == 0
    assert folders[0].records_path.read_bytes() == before[0]
    assert len(folders[1].read_rows()) == 8
