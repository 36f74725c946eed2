from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_thinkingbox.cli import main
from pytest_thinkingbox.records.model import ToolCallRecord
from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.state.model import ReceivedMail
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from pytest_thinkingbox.state.rulings import Ruling
from tests.records.builders import TASK, info, record


@pytest.fixture
def campaign(tmp_path: Path) -> CampaignFolder:
    folder = CampaignFolder.create(
        tmp_path / ".thinkingbox" / "one", info(tasks={TASK: 2}, min_pass_rate=0.5)
    )
    folder.append(record(requested=2))
    folder.append(record("failed", attempt=2, requested=2, detail="assert 1 == 2 \ud800", response="שלום"))
    return folder


def test_report_prints_the_summary(campaign: CampaignFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(campaign.path)]) == 0
    text = capsys.readouterr().out
    assert re.search(r"test_refund +1/2 #####\.\.\.\.\. +50 %", text)
    assert "gate      pass rate >= 0.5: holds: 0.500 (1/2 passed, 2 of 2 valid)" in text


def test_a_folder_of_campaigns_means_the_latest(
    campaign: CampaignFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(campaign.path.parent)]) == 0
    assert "1/2" in capsys.readouterr().out


def test_t42_a_report_works_from_what_a_killed_run_left(
    campaign: CampaignFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = campaign.records_path.read_bytes()
    campaign.records_path.write_bytes(stored[:-20])
    assert main(["report", str(campaign.path)]) == 0
    assert re.search(r"test_refund +1/1 ##########   100 % 1 not run", capsys.readouterr().out)


def test_show_prints_one_attempt(campaign: CampaignFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(campaign.path), "test_refund[try2]"]) == 0
    assert "  failed\n    assert 1 == 2 \\ud800" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "nowhere"], "thinkingbox: nowhere: neither a campaign nor a folder of campaigns"),
        (["show", "DIR", "test_x[try1]"], "there is no attempt 'test_x[try1]'"),
    ],
)
def test_what_is_not_there_is_an_error_without_a_traceback(
    campaign: CampaignFolder, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main([str(campaign.path) if one == "DIR" else one for one in arguments]) == 2
    assert message in capsys.readouterr().err


def test_colour_only_when_asked_for_or_on_a_terminal(
    campaign: CampaignFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", str(campaign.path)])
    assert "\x1b" not in capsys.readouterr().out
    main(["report", str(campaign.path), "--color=yes"])
    assert "\x1b[32m" in capsys.readouterr().out


def test_the_command_works_where_the_terminal_speaks_ascii_only(campaign: CampaignFolder) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "pytest_thinkingbox.cli", "show", str(campaign.path), "test_refund[try2]"],
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, b"")


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, pytest_thinkingbox.cli; print({'pydantic', 'scipy', 'pytest'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


def test_a_report_becomes_one_file(campaign: CampaignFolder, capsys: pytest.CaptureFixture[str]) -> None:
    file = campaign.path / "report.html"
    assert main(["report", str(campaign.path), "--format", "html", "-o", str(file)]) == 0
    assert capsys.readouterr().out == f"written: {file}\n"
    assert file.read_text("utf-8").startswith("<!DOCTYPE html>")


def test_a_report_that_cannot_be_written_leaves_nothing_behind(
    campaign: CampaignFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(campaign.path.iterdir())
    target = campaign.path / "not there" / "report.html"
    assert main(["report", str(campaign.path), "--format=html", "-o", str(target)]) == 2
    assert "not there" in capsys.readouterr().err
    assert sorted(campaign.path.iterdir()) == before


HOSTILE = "\x1b[31m\x1b]0;title\x07\x9b2J\r\b\x0b\x85\u2028\u202e\u2066\ud800\x00\u200b\U000e0041\uffff"


@pytest.mark.parametrize("command", ["report", "show", "compare", "unknown attempt"])
def test_t26_a_terminal_gets_nothing_of_others_that_it_would_obey(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = f"{HOSTILE}.py::test_{HOSTILE}"
    named = {"campaign": HOSTILE, "agent": HOSTILE, "model": HOSTILE, "tasks": {task: 2}, "partial": HOSTILE}
    paths = []
    for name in ("one", "two"):
        folder = CampaignFolder.create(tmp_path / name, info(**named))
        for outcome, attempt in (("failed", 1), ("invalid", 2)):
            folder.append(
                record(
                    outcome,  # type: ignore[arg-type]
                    task=task,
                    attempt=attempt,
                    requested=2,
                    detail=f"{HOSTILE}\n{HOSTILE}",
                    tags=(HOSTILE,),
                    stop_reason="turn_limit",
                    stop_detail=HOSTILE,
                    messages=(
                        {"role": HOSTILE, "content": f"\noutcome\n  passed{HOSTILE}", "tool_calls": HOSTILE},
                    ),
                    tool_calls=(
                        ToolCallRecord(
                            id="a",
                            name=HOSTILE,
                            arguments={HOSTILE: HOSTILE},
                            result=HOSTILE,
                            error=True,
                            seconds=0,
                        ),
                    ),
                    mail=(
                        ReceivedMail(sender=HOSTILE, recipients=(HOSTILE,), subject=HOSTILE, text=HOSTILE),
                    ),
                    http=(ReceivedRequest(method=HOSTILE, path=HOSTILE, query={HOSTILE: HOSTILE}),),
                    files=(FileChange(change="added", path=HOSTILE, size=1, digest=""),),
                    rulings=(
                        Ruling(
                            question=HOSTILE,
                            about="",
                            answer="no",
                            reason=HOSTILE,
                            model=HOSTILE,
                            cached=False,
                        ),
                    ),
                )
            )
        paths.append(str(folder.path))
    arguments = {
        "report": ["report", paths[0]],
        "show": ["show", paths[0], f"{task}[try1]"],
        "compare": ["compare", *paths],
        "unknown attempt": ["show", paths[0], f"no such {HOSTILE}"],
    }[command]
    assert main(arguments) == (2 if command == "unknown attempt" else 0)
    printed = "".join(capsys.readouterr())
    assert r"\x1b[31m\x1b]0;title\x07\x9b2J\r" in printed
    assert set(HOSTILE) & set(printed) <= set("[31m]0;title2J")
    if command == "show":  # what a section says is indented, so that nothing said can pass for a section
        assert [line for line in printed.splitlines() if line.startswith("outcome")] == ["outcome"]
