"""The README's example and its commands do what it says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import Reader, blocks_of, difference

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MAIN_JOB = "example_suites/hotel --tb-attempts=20 --tb-agent=mutant --tb-min-pass-rate=0.3"

HASTY = """
async def agent(task):
    await task.call_tool("request_approval", {"booking_id": 1042, "kind": "downgrade"})
    await task.call_tool("change_room", {"booking_id": 1042, "room_class": "standard"})
    return "I have asked your manager."
"""


@pytest.fixture
def reader(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Reader:
    made = Reader(pytester, monkeypatch)
    made.write_files(README)
    return made


def test_the_solution_of_the_example_passes_every_time(reader: Reader) -> None:
    assert reader.attempts("--tb-agent=solution", "--tb-attempts=20") == {"passed": 20}


def test_nobody_passes_the_example_by_doing_nothing(reader: Reader) -> None:
    assert reader.attempts("--tb-agent=none", "--tb-attempts=5") == {"failed": 5}


def test_an_agent_that_also_changes_the_room_fails_and_row_and_column_are_named(
    reader: Reader, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(hasty=HASTY)
    result = pytester.runpytest_inprocess("--tb-agent=python:hasty:agent")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['*Updated("bookings", 1042, room_class=("superior", "standard"))*'])


def test_without_an_agent_the_example_is_skipped_and_the_run_says_so(
    reader: Reader, pytester: pytest.Pytester
) -> None:
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["thinkingbox: 1 task skipped, nobody is to act*"])


def test_the_readme_has_the_main_job_as_one_command() -> None:
    [command] = [line for line in _shell_lines() if "example_suites" in line]
    assert command.endswith(f".venv/bin/pytest {MAIN_JOB}")


def test_the_commands_of_the_readme_install_into_an_environment_of_their_own() -> None:
    commands = [line for line in _shell_lines() if line.startswith("python3 -m venv .venv && ")]
    assert len(commands) == 2
    for command in commands:
        programs = [shlex.split(part)[0] for part in command.split("&&")[1:]]
        assert {str(Path(program).parent) for program in programs} == {".venv/bin"}


@pytest.mark.slow
def test_the_main_job_prints_what_the_readme_shows(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "example_suites", tmp_path / "example_suites", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *MAIN_JOB.split()],
        cwd=tmp_path,
        env={"PATH": "", "COLUMNS": "80", "PYTEST_ADDOPTS": "-p no:randomly", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [shown] = [block.text for block in blocks_of(README) if block.language == "text" and "gate" in block.text]
    output = _without_names_and_times(done.stdout)
    summary = output[next(number for number, line in enumerate(output) if "= thinkingbox =" in line) :]
    assert difference(_without_names_and_times(shown), summary) is None


def _shell_lines() -> list[str]:
    return [
        line for block in blocks_of(README) if block.language == "bash" for line in block.text.splitlines()
    ]


def _without_names_and_times(text: str) -> list[str]:
    text = re.sub(r"\d{8}-\d{6}-[0-9a-f]{6}", "CAMPAIGN", text)
    return re.sub(r"=+ (.+) in \d+\.\d+s(?: \([\d:]+\))? =+", r"\1 in TIME", text).splitlines()
