"""Two campaigns that begin at the same moment and share a server."""

from __future__ import annotations

import subprocess
import sys

import pytest

TOGETHER = """
import os
import time
from pathlib import Path


def pytest_collection_finish():
    here = Path(__file__).parent
    (here / f"ready-{os.getpid()}").touch()
    until = time.monotonic() + 120
    while len(list(here.glob("ready-*"))) < 2:
        assert time.monotonic() < until, "the other campaign did not begin"
        time.sleep(0.01)
"""


def play_two(pytester: pytest.Pytester, server: str, *arguments: str) -> list[str]:
    """What each of them said; pytest's last line is the last of it, above the table."""
    pytester.makeconftest(TOGETHER)
    command = [
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb-agent=solution",
        f"--tb-backend={server}", *arguments,
    ]  # fmt: skip
    playing = [
        pytester.popen(
            [*command, f"--tb-dir={name}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for name in ("one", "other")
    ]  # fmt: skip
    return [one.communicate(timeout=300)[0].decode() for one in playing]
