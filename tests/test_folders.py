from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_thinkingbox.folders import OwnedFolder


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_t30_the_next_run_sweeps_what_a_killed_one_left(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from pytest_thinkingbox.folders import OwnedFolder
folder = OwnedFolder(Path(sys.argv[1]), "run")
(folder.path / "attempt-1.sqlite").write_bytes(b"x")
print(folder.path, flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    theirs = Path(process.stdout.readline().strip())
    mine = OwnedFolder(tmp_path, "mine")
    assert theirs.exists()
    process.kill()
    process.communicate()
    next_one = OwnedFolder(tmp_path, "next")
    assert not theirs.exists()
    assert mine.path.exists()
    mine.close()
    next_one.close()
    assert list(tmp_path.iterdir()) == []
