from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_thinkingbox.cli import main
from pytest_thinkingbox.records.model import Hashes, Outcome
from pytest_thinkingbox.records.store import CampaignFolder
from tests.records.builders import TASK, info, record


@pytest.fixture
def campaigns(tmp_path: Path) -> list[str]:
    """Three of one task: 1 of 2, 2 of 2, and 2 of 2 with another checker."""
    paths = []
    for name, second, checker in (("one", "failed", "c"), ("two", "passed", "c"), ("three", "passed", "x")):
        hashes = {TASK: Hashes(prompt="p", environment="e", checker=checker)}
        about = info(campaign=name, tasks={TASK: 2}, task_hashes=hashes)
        folder = CampaignFolder.create(tmp_path / ".thinkingbox" / name, about)
        outcomes: list[Outcome] = ["passed", second]  # type: ignore[list-item]
        for attempt, outcome in enumerate(outcomes, start=1):
            folder.append(record(outcome, attempt=attempt, requested=2))
        paths.append(str(folder.path))
    return paths


def test_two_campaigns_are_compared(campaigns: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *campaigns[:2]]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^pass@1 +50\.0 % +100\.0 % +\+50\.00 ", text, re.MULTILINE)
    assert "gained    1 task passed every attempt (2/2) in new only" in text


def test_campaigns_that_asked_something_else_are_refused(
    campaigns: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", campaigns[0], campaigns[2]]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "checkers: test function or its rules of 1 of 1 tasks" in output.err


def test_what_differs_can_be_allowed_and_is_printed(
    campaigns: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", campaigns[0], campaigns[2], "--allow", "checkers"]) == 0
    assert "allowed   checkers: test function or its rules of 1 of 1 tasks" in capsys.readouterr().out
    assert main(["compare", campaigns[0], campaigns[2], "--allow", "seeds"]) == 2


def test_more_than_two_campaigns_are_ranked(campaigns: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *campaigns, "--allow=checkers"]) == 0
    text = capsys.readouterr().out
    assert text.index("campaign two") < text.index("campaign three") < text.index("campaign one")
    assert "cost: none, no model was asked" in text


def test_a_price_table_that_is_broken_is_an_error(
    campaigns: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "p.toml").write_text("models = 3")
    assert main(["compare", *campaigns[:2], "--prices", str(tmp_path / "p.toml")]) == 2
    assert "p.toml: no table [models]" in capsys.readouterr().err


def test_a_probe_is_no_baseline_whatever_is_allowed(
    campaigns: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = CampaignFolder.open(Path(campaigns[0]))
    folder.write_info(replace(folder.read_info(), purpose="probe"))
    assert main(["compare", *campaigns[:2], "--allow", "purpose"]) == 2
    said = capsys.readouterr().err
    assert "purpose: the baseline is a probe, which never serves as one" in said
    assert "--allow" not in said


def test_campaigns_whose_token_ids_were_read_otherwise_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for name, chat in (("one", "0123456789abcdef"), ("two", "fedcba9876543210"), ("three", None)):
        hashes = {TASK: Hashes(prompt="p", environment="e", checker="c")}
        about = info(campaign=name, tasks={TASK: 1}, task_hashes=hashes, options={"chat": chat})
        folder = CampaignFolder.create(tmp_path / name, about)
        folder.append(record(requested=1, chat=chat))
        paths.append(str(folder.path))
    assert main(["compare", *paths[:2]]) == 2
    assert "chat: chat 0123456789abcdef / fedcba9876543210" in capsys.readouterr().err
    assert main(["compare", paths[0], paths[2]]) == 2
    assert "chat: chat 0123456789abcdef / None" in capsys.readouterr().err
    assert main(["compare", *paths[:2], "--allow=chat"]) == 0
    assert "allowed   chat: chat 0123456789abcdef / fedcba9876543210" in capsys.readouterr().out
