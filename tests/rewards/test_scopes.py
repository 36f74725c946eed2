"""Fixtures of every scope in the session that grades: made once for what shares them, ended as pytest ends them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_thinkingbox.episodes.model import Conversation
from pytest_thinkingbox.rewards import FinalState
from pytest_thinkingbox.rewards.grader import Grader
from pytest_thinkingbox.state.model import StateDiff
from tests.conftest import SHOP

CONFTEST = """
from pathlib import Path

import pytest

LOG = Path(__file__).parents[1] / "log.txt"


def logged(scope):
    @pytest.fixture(scope=scope, name=f"of_{scope}")
    def made():
        with LOG.open("a") as log:
            log.write(f"{scope} begins\\n")
        yield object()
        with LOG.open("a") as log:
            log.write(f"{scope} ends\\n")

    return made


of_session, of_package, of_module, of_class, of_function = map(
    logged, ("session", "package", "module", "class", "function")
)
"""
MODULE = """
from shop import *

made = []


@shop.task("One.", no_change=True)
def test_one(changes, of_session, of_package, of_module, of_function):
    made.append((of_session, of_package, of_module))
    assert len(set(made)) == 1


class TestBoth:
    @shop.task("Two.", no_change=True)
    def test_two(self, changes, of_session, of_class, of_function):
        pass

    @shop.task("Three.", no_change=True)
    def test_three(self, changes, of_package, of_class):
        pass
"""
HANGS = """
import time

from shop import *


@shop.task("Hang.", no_change=True)
def test_hangs(changes, of_session, of_package):
    time.sleep(600)
"""
ONE, TWO, THREE = (
    f"desk/test_a.py::{name}" for name in ("test_one", "TestBoth::test_two", "TestBoth::test_three")
)
OTHER, OUTSIDE, HANGING = (
    "desk/test_b.py::test_one",
    "test_c.py::test_outside",
    "desk/test_hangs.py::test_hangs",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two modules in a package, and one outside of it."""
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\npythonpath = .\naddopts = -p no:randomly\n", encoding="utf-8"
    )
    desk = tmp_path / "desk"
    desk.mkdir()
    (desk / "__init__.py").touch()
    (desk / "conftest.py").write_text(dedent(CONFTEST), encoding="utf-8")
    for name in ("a", "b"):
        (desk / f"test_{name}.py").write_text(dedent(MODULE), encoding="utf-8")
    outside = 'from shop import *\n\n\n@shop.task("Four.", no_change=True)\ndef test_outside(changes): ...\n'
    (tmp_path / "test_c.py").write_text(outside, encoding="utf-8")
    return tmp_path


def log(folder: Path) -> list[str]:
    path = folder / "log.txt"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


def passes(grader: Grader, *tasks: str) -> bool:
    states = [
        FinalState(task_id=one, conversation=Conversation(response="."), diff=StateDiff()) for one in tasks
    ]
    return [grader.grade(state).outcome for state in states] == ["passed"] * len(tasks)


def test_wider_scopes_are_made_once_however_often_is_graded(folder):
    with Grader(["."], cwd=folder, seconds=20) as grader:
        assert passes(grader, ONE)
        begun = ["session begins", "package begins", "module begins", "function begins", "function ends"]
        assert log(folder) == begun
        assert passes(grader, ONE, ONE)
        assert log(folder) == ["function begins", "function ends"] * 2


def test_a_fixture_of_a_class_is_shared_by_its_functions_and_ends_with_it(folder):
    with Grader(["desk/test_a.py"], cwd=folder, seconds=20) as grader:
        assert passes(grader, TWO, THREE, TWO)
        lines = log(folder)
        assert [line for line in lines if "class" in line] == ["class begins"]
        assert passes(grader, ONE)
        assert [line for line in log(folder) if "class" in line] == ["class ends"]


def test_module_and_package_end_when_a_task_outside_of_them_is_graded(folder):
    with Grader(["."], cwd=folder, seconds=20) as grader:
        assert passes(grader, ONE)
        log(folder)
        assert passes(grader, OTHER)
        assert log(folder) == ["module ends", "module begins", "function begins", "function ends"]
        assert passes(grader, OUTSIDE)
        assert log(folder) == ["module ends", "package ends"]


def test_all_are_ended_when_the_session_is_closed(folder):
    with Grader(["."], cwd=folder, seconds=20) as grader:
        assert passes(grader, TWO, ONE)
        log(folder)
    assert log(folder) == ["module ends", "package ends", "session ends"]


def test_what_begins_and_ends_is_what_begins_and_ends_in_plain_pytest(folder):
    arguments = ["--tb-agent=none", "-q", "-p", "no:cacheprovider", "--tb-dir", str(folder / "runs")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert "7 passed" in done.stdout, done.stdout
    plain = log(folder)
    with Grader(["."], cwd=folder, seconds=20) as grader:
        assert passes(grader, *(task.id for task in grader.tasks()))
    assert log(folder) == plain
    assert {line for line in plain if line.startswith("session")} == {"session begins", "session ends"}


@pytest.mark.slow
def test_a_session_that_is_begun_again_makes_and_ends_its_own(folder):
    """What the killed one had made nobody can end any more."""
    (folder / "desk" / "test_hangs.py").write_text(dedent(HANGS), encoding="utf-8")
    with Grader(["."], cwd=folder, seconds=1.5) as grader:
        assert not passes(grader, HANGING)
        assert grader.restarts == 1
        assert log(folder) == ["session begins", "package begins"]
        assert passes(grader, ONE, ONE)
        assert log(folder)[:3] == ["session begins", "package begins", "module begins"]
    assert log(folder) == ["module ends", "package ends", "session ends"]
