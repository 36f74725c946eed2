"""How one process of a campaign tells the others to start nothing more."""

from __future__ import annotations

from pathlib import Path


class StopFlag:
    """A file in the campaign's folder; it holds why."""

    def __init__(self, folder: Path, name: str = "stopped") -> None:
        self._path = folder / name

    def raise_(self, reason: str) -> None:
        self._path.write_text(reason, encoding="utf-8", errors="backslashreplace")

    def lower(self) -> None:
        """Of an earlier run."""
        self._path.unlink(missing_ok=True)

    def is_raised(self) -> bool:
        return self._path.exists()

    def reason(self) -> str:
        return self._path.read_text(encoding="utf-8") if self.is_raised() else ""
