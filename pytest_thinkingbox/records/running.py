"""Whether somebody works on a campaign: known even when its processes were killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_NAME = "running.lock"


class Running:
    """Says that this process works on the campaign in `folder`, until `close` or the end of the process.

    Any number of processes of one run may say so. With `alone`, raises BlockingIOError while another one does.
    Where there are no such locks (Windows) nobody is ever seen.
    """

    def __init__(self, folder: Path, *, alone: bool = False) -> None:
        self._descriptor: int | None = None
        if sys.platform == "win32":
            return
        import fcntl

        self._descriptor = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if alone:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Workers join a run that began alone.
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
