"""What may go from a folder of campaigns without losing a verdict."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from pytest_thinkingbox.records.merge import DATABASES
from pytest_thinkingbox.records.running import Running


def remove_proofs(root: Path) -> list[Path]:
    """Remove all proofs but the latest, and those that are still being played. What went."""
    proofs = sorted(path for path in (root / "prove").glob("*") if path.is_dir())
    gone = []
    for proof in proofs[:-1]:
        if not any(_in_use(info.parent) for info in proof.glob("*/*/campaign.json")):
            shutil.rmtree(proof)
            gone.append(proof)
    return gone


def remove_databases(root: Path) -> list[Path]:
    """Remove the databases that campaigns kept, but of those that still run. What went."""
    gone = []
    for info in sorted(_campaigns(root)):
        kept = info.parent / DATABASES
        if kept.is_dir() and not _in_use(info.parent):
            shutil.rmtree(kept)
            gone.append(kept)
    return gone


def _campaigns(root: Path) -> Iterator[Path]:
    own = root / "campaign.json"
    return iter([own]) if own.is_file() else root.glob("*/campaign.json")


def _in_use(folder: Path) -> bool:
    try:
        Running(folder, alone=True).close()
    except BlockingIOError:
        return True
    return False
