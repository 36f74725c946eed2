"""Claims on this machine, and what those leave that nobody holds any more."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_thinkingbox.backends.server import claims
from pytest_thinkingbox.backends.server.claims import Claim


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return claims.folder()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_claim_removes_what_killed_processes_left(folder: Path) -> None:
    program = (
        "import os, signal, sys, tempfile\n"
        f"tempfile.tempdir = {str(folder.parent)!r}\n"
        "from pytest_thinkingbox.backends.server.claims import Claim\n"
        "claim = Claim('thinkingbox-killed')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == -9
    for suffix in ("said", "starting"):
        (folder / f"thinkingbox-killed.{suffix}").touch()
    (folder / "thinkingbox-killed.data").mkdir()
    (folder / "somebody-else.claim").touch()
    claim = Claim("thinkingbox-mine")
    assert names(folder) == ["somebody-else.claim", "thinkingbox-killed.data", "thinkingbox-mine.claim"]
    claim.release()
    assert not claims.is_held("thinkingbox-mine")


def test_a_folder_of_claims_is_told_from_every_other_one(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadPoolExecutor() as pool:
        (own,) = {one.result() for one in [pool.submit(claims.folder_id) for _ in range(8)]}
    assert claims.folder_id() == own
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "other"))
    (tmp_path / "other").mkdir()
    assert claims.folder_id() != own


def test_what_is_held_stays_whoever_sweeps(folder: Path) -> None:
    done = threading.Event()

    def sweep_on() -> None:
        while not done.is_set():
            claims.sweep()

    sweepers = [threading.Thread(target=sweep_on) for _ in range(2)]
    for one in sweepers:
        one.start()
    held = [Claim(f"thinkingbox-{number}") for number in range(40)]
    done.set()
    for one in sweepers:
        one.join()
    assert all(claims.is_held(one.name) for one in held)
    for claim in held:
        claim.release()
    assert names(folder) == []
