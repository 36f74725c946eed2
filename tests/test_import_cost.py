"""Every project where this package is installed pays for its plugin; those without tasks must not notice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("httpx", "mcp", "numpy", "pydantic", "scipy", "sqlalchemy")
MOST_SECONDS = 0.030
RUNS = 7


def python(*arguments: str, cwd: Path) -> str:
    alone = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COV_", "COVERAGE", "PYTEST_"))
    }
    alone.pop("PYTHONDONTWRITEBYTECODE", None)  # else every import compiles again
    alone["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=alone, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_importing_the_plugin_costs_under_30_ms(tmp_path: Path) -> None:
    # CPU time, and the best of several runs: what else the machine does is not the plugin's.
    code = (
        "import time, pytest\n"
        "start = time.process_time()\n"
        "import pytest_thinkingbox.plugin\n"
        "print(time.process_time() - start)\n"
    )
    assert min(float(python("-c", code, cwd=tmp_path)) for _ in range(RUNS)) < MOST_SECONDS


@pytest.mark.parametrize("module", ["plugin", "declare", "state.claims", "records.model", "cli"])
def test_importing_a_module_imports_nothing_heavy(module: str, tmp_path: Path) -> None:
    code = (
        f"import sys, pytest_thinkingbox.{module}\nprint([one for one in {HEAVY!r} if one in sys.modules])\n"
    )
    assert python("-c", code, cwd=tmp_path) == "[]\n"


def test_what_an_author_imports_is_not_heavy_either(tmp_path: Path) -> None:
    code = f"import sys\nfrom pytest_thinkingbox import *\nprint([one for one in {HEAVY!r} if one in sys.modules])\n"
    assert python("-c", code, cwd=tmp_path) == "[]\n"


def test_a_run_of_an_ordinary_test_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "test_ordinary.py").write_text("def test_one():\n    assert 1 + 1 == 2\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure(config):\n"
        "    assert config.pluginmanager.hasplugin('thinkingbox')\n"
        f"    print('heavy:', [one for one in {HEAVY!r} if one in sys.modules])\n",
        encoding="utf-8",
    )
    output = python("-m", "pytest", "-p", "thinkingbox", "-p", "no:cacheprovider", cwd=tmp_path)
    assert "1 passed" in output
    assert "heavy: []" in output
    assert not (tmp_path / ".thinkingbox").exists()
