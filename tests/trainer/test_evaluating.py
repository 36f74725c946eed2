"""Two tiny models, served and evaluated for real."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from pytest_thinkingbox.records.store import CampaignFolder, find_campaign
from tests.trainer.test_evaluation import write
from tests.trainer.tiny import write_world
from thinkingbox_trainer import cli

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]


def test_base_and_trained_policy_are_served_played_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_world(tmp_path)
    shutil.copytree(tmp_path / "tiny", tmp_path / "other")
    write(tmp_path, ('base_url = "http://127.0.0.1:9/v1"\n', ""))
    command = ["evaluate", str(tmp_path / "evaluation.toml")]

    assert cli.main(command) == 0
    said = capsys.readouterr().out
    assert "pass@1" in said
    assert "P(better)" in said
    folders = [CampaignFolder.open(find_campaign(tmp_path / "out" / side)) for side in ("base", "trained")]
    for folder in folders:
        info = folder.read_info()
        assert (info.purpose, info.seed, info.agent, len(info.tasks)) == ("evaluation", 8, "tokens", 4)
        assert [row.outcome in ("passed", "failed") for row in folder.read_rows()] == [True] * 8

    before = [folder.records_path.read_bytes() for folder in folders]
    lines = before[1].splitlines(keepends=True)
    folders[1].records_path.write_bytes(b"".join(lines[:5]))  # as after a crash
    assert cli.main(command) == 0
    assert folders[0].records_path.read_bytes() == before[0]
    assert len(folders[1].read_rows()) == 8
