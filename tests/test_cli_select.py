"""The way from probes to a pool and to a comparison that knows of it, with real suites."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_thinkingbox.cli import main
from pytest_thinkingbox.records.model import Hashes
from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.rewards.contents import contents_of_suite
from pytest_thinkingbox.selection.contents import Contents
from tests.conftest import SHOP
from tests.records.builders import info, record

TASKS = """
import pytest
from shop import *


@pytest.mark.parametrize("key", [1, 2, 3, 4])
@shop.task(lambda key: f"Please close order {key}.", tags=["template:close"])
def test_close(changes, key):
    assert changes == [Updated("orders", key, status=("open", "closed"))]


@shop.task("Leave a note.", tags=["template:note"])
def test_note(changes):
    assert changes == [Inserted("notes", text="x")]
"""
EVALUATION = """
from pytest_thinkingbox import Database, Environment, Server, Updated
from shop import metadata, set_status


def seed(connection):
    connection.execute(metadata.tables["orders"].insert(), [{"id": 9, "status": "new", "total": 3}])


other = Environment(
    name="other", database=Database(schema=metadata, seed=seed), servers=[Server.functions([set_status])], mail=False
)


@other.task("What is missing on order nine?")
def test_other(changes):
    assert changes == [Updated("orders", 9, status=("new", "seen"))]
"""
COPY = """
from shop import *

alias = Environment(name="alias", database=shop.database, servers=shop.servers, mail=False)


@alias.task("Something else entirely, please.")
def test_renamed(changes):
    assert changes == [Inserted("notes", text="y")]
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suites")
    (folder / "shop.py").write_text(SHOP, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:asyncio\n", encoding="utf-8")
    (folder / "test_pool.py").write_text(TASKS, encoding="utf-8")
    (folder / "test_eval.py").write_text(EVALUATION, encoding="utf-8")
    (folder / "test_copy.py").write_text(COPY, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def suite(files: Path) -> Contents:
    return contents_of_suite(["test_pool.py"], cwd=files)


@pytest.fixture
def world(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


Probe = Callable[..., str]


@pytest.fixture
def campaign(world: Path, suite: Contents) -> Probe:
    """A campaign of the pool's tasks as they are, each passed in 4 of 10 attempts."""

    def write(name: str, purpose: str) -> str:
        about = info(
            campaign=name,
            purpose=purpose,
            tasks=dict.fromkeys(suite.tasks, 10),
            task_hashes={task: Hashes(**one.hashes) for task, one in suite.tasks.items()},
        )
        folder = CampaignFolder.create(world / "campaigns" / name, about)
        for task, one in suite.tasks.items():
            for attempt in range(1, 11):
                folder.append(
                    record(
                        "passed" if attempt <= 4 else "failed",
                        task=task,
                        attempt=attempt,
                        requested=10,
                        tags=one.tags,
                        hashes=Hashes(seed="s"),
                    )
                )
        return str(folder.path)

    return write


@pytest.mark.slow
def test_from_probes_to_a_pool_and_a_comparison(campaign: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    probe = campaign("probe", "probe")
    options = ["--rule=lora", "--validation=0", "--held-out=0.25", "--unseen=0.5", "--benchmark=test_eval.py"]
    assert main(["select", probe, "-o", "pool.json", *options]) == 0
    said = capsys.readouterr().out
    assert "shared     tools: 1 (set_status); schemas: none; policies: none; templates: none" in said
    pool = json.loads(Path("pool.json").read_text("ascii"))
    assert sum(one["split"] == "unseen" for one in pool["tasks"]) in (1, 4)
    assert pool["counts"]["probed"] == 5

    before, after = campaign("before", "evaluation"), campaign("after", "evaluation")
    assert main(["compare", before, after, "--pool=pool.json"]) == 2
    assert "tasks were trained on: test_pool.py::" in capsys.readouterr().err
    assert main(["compare", before, after, "--pool=pool.json", "--allow=trained"]) == 0
    said = capsys.readouterr().out
    assert "tools: 3 (add_note, run_sql, set_status)" in said
    assert "held-out tasks were looked at in 2 campaigns so far" in said


@pytest.mark.slow
def test_a_task_that_was_renamed_and_reworded_is_refused(
    campaign: Probe, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "select",
                campaign("probe", "probe"),
                "-o",
                "pool.json",
                "--rule=full",
                "--benchmark=test_copy.py",
            ]
        )
        == 2
    )
    said = capsys.readouterr().err
    assert "same seed as test_copy.py::test_renamed" in said
    assert not Path("pool.json").exists()


def test_tasks_that_are_skipped_here_are_tasks_of_a_suite(files: Path) -> None:
    text = EVALUATION.replace("@other.task", "@pytest.mark.skip\n@other.task", 1)
    (files / "test_skipped.py").write_text(f"import pytest\n{text}", encoding="utf-8")
    assert list(contents_of_suite(["test_skipped.py"], cwd=files).tasks) == ["test_skipped.py::test_other"]


def test_a_list_of_ids_is_a_benchmark(campaign: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    Path("list.txt").write_text("test_pool.py::test_note\n", encoding="utf-8")
    options = ["--rule=full", "--unseen=0", "--held-out=0", "--benchmark=list.txt"]
    assert main(["select", campaign("probe", "probe"), "-o", "pool.json", *options]) == 2
    assert "test_pool.py::test_note: it is on the benchmark's list" in capsys.readouterr().err


def test_a_pool_without_a_task_to_train_on_is_an_error_that_says_what_became_of_them(
    campaign: Probe, capsys: pytest.CaptureFixture[str]
) -> None:
    probe = campaign("probe", "probe")
    assert main(["select", probe, "-o", "pool.json", "--rule=full", "--min-valid=11"]) == 2
    said = capsys.readouterr().err
    assert "no task is left to train on; nothing was written" in said
    assert "5" in said
    assert not Path("pool.json").exists()


@pytest.mark.slow
def test_a_suite_that_cannot_be_collected_is_said(
    campaign: Probe, capsys: pytest.CaptureFixture[str]
) -> None:
    probe = campaign("probe", "probe")
    assert main(["select", probe, "-o", "pool.json", "--rule=full", "--benchmark=nowhere"]) == 2
    assert "collects nothing that could be played" in capsys.readouterr().err


def test_a_campaign_that_is_no_probe_is_refused_before_anything_is_collected(
    campaign: Probe, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["select", campaign("one", "evaluation"), "-o", "pool.json", "--rule=full"]) == 2
    assert "only a probe chooses a pool" in capsys.readouterr().err
