"""Where the files of attempts lie: cloned, copied to memory or disk, or laid over a base that is used again."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from pytest_thinkingbox.backends.sqlite.files import clone_content, open_file
from pytest_thinkingbox.backends.sqlite.place import AttemptFile, CopiedFile, OverlayBase, OverlayFile
from pytest_thinkingbox.folders import MEMORY, OwnedFolder

_OVERLAY_FROM = 16_000_000  # bytes; below, a copy and comparing it take less than about 10 ms
_SHARE = 4  # of what is free, this part is used
_PATIENCE = 5.0  # seconds to wait for another attempt's space, before the budget is exceeded
_log = logging.getLogger("pytest_thinkingbox.sqlite")


class Area:
    """A folder with a budget of bytes."""

    def __init__(self, folder: Path, budget: int) -> None:
        self.folder = folder
        self.budget = budget
        self.used = 0

    def fits(self, size: int) -> bool:
        return self.used + size <= self.budget


class Store:
    """Hands out files for attempts. With `fast=False` each is a plain copy on disk."""

    def __init__(self, *, label: str, directory: Path | None, fast: bool) -> None:
        self._fast = fast
        self._owned = [OwnedFolder(directory or Path(tempfile.gettempdir()), f"sqlite-{label}")]
        self.folder = self._owned[0].path
        self._disk = Area(self.folder, shutil.disk_usage(self.folder).free // _SHARE)
        self._memory: Area | None = None
        if fast and sys.platform == "linux" and os.access(MEMORY, os.W_OK | os.X_OK):
            self._owned.append(OwnedFolder(MEMORY, f"sqlite-{label}"))
            self._memory = Area(self._owned[1].path, _free_memory() // _SHARE)
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._idle: dict[Path, list[tuple[OverlayBase, Area, int]]] = {}
        self._clones: bool | None = None if fast else False
        self._said: set[str] = set()
        self._closed = False

    @property
    def template_budget(self) -> int:
        """Bytes that templates may take; they lie on disk, beside the budget of attempts."""
        return self._disk.budget

    def forget(self, template: Path) -> None:
        """Remove idle bases of a template that goes."""
        with self._changed:
            for base, area, size in self._idle.pop(template, ()):
                base.remove()
                area.used -= size

    def new_path(self, kind: str) -> Path:
        return self.folder / f"{kind}-{next(self._numbers)}.sqlite"

    def take(self, template: Path, size: int) -> AttemptFile:
        """A file for one attempt that starts as the template. Raises OSError when there is no room."""
        clone = self._can_clone(template)
        if self._fast and size >= _OVERLAY_FROM and sys.platform == "linux":
            return self._overlay(template, 0 if clone else size, clone=clone)
        if clone:
            return CopiedFile(template, self.new_path("attempt"), clone=True, on_close=lambda: None)
        _, area = self._room(size, None)
        try:
            return CopiedFile(
                template, self._path(area, "attempt"), clone=False, on_close=lambda: self._free(area, size)
            )
        except BaseException:
            self._free(area, size)
            raise

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._idle.clear()
        for folder in self._owned:
            folder.close()

    def _path(self, area: Area, kind: str) -> Path:
        return area.folder / f"{kind}-{next(self._numbers)}.sqlite"

    def _can_clone(self, template: Path) -> bool:
        if self._clones is None:
            trial = self.new_path("trial")
            source, target = open_file(template, os.O_RDONLY), open_file(trial, os.O_RDWR | os.O_CREAT)
            try:
                self._clones = clone_content(source, target)
            finally:
                os.close(source)
                os.close(target)
                trial.unlink()
        return self._clones

    def _overlay(self, template: Path, size: int, *, clone: bool) -> AttemptFile:
        base, area = self._room(size, template)

        def give_back(same: OverlayBase | None) -> None:
            with self._changed:
                if same is not None and not self._closed:
                    self._idle.setdefault(template, []).append((same, area, size))
                    self._changed.notify_all()
                    return
            self._free(area, size)

        try:
            base = base or OverlayBase(template, self._path(area, "base"), clone=clone)
        except BaseException:
            self._free(area, size)
            raise
        return OverlayFile(
            base, self._path(area, "attempt"), parked=self._path(area, "base"), on_close=give_back
        )

    # ---------------------------------------- budgets

    def _room(self, size: int, template: Path | None) -> tuple[OverlayBase | None, Area]:
        """An idle base of this template, or an area with room for `size` more bytes, which are then taken.

        Waits for other attempts to end when there is none: that is how a small disk lowers the concurrency. It
        does not wait for ever, because those attempts may be waiting to be judged after this one.
        """
        deadline = time.monotonic() + _PATIENCE
        with self._changed:
            while True:
                if template is not None and self._idle.get(template):
                    base, area, _ = self._idle[template].pop()
                    return base, area
                found = self._fitting(size) if size else self._disk  # clones share what they do not change
                if found is None and self._evict():
                    continue
                if found is None and (self._disk.used == 0 or time.monotonic() >= deadline):
                    self._say(
                        f"{self._disk.folder} holds more than a quarter of the free space: no room elsewhere"
                    )
                    found = self._disk
                if found is not None:
                    found.used += size
                    return None, found
                self._say(
                    f"databases fill a quarter of the free space in {self._disk.folder}: fewer at a time"
                )
                self._changed.wait(max(0.0, deadline - time.monotonic()))

    def _fitting(self, size: int) -> Area | None:
        if self._memory is not None:
            if self._memory.fits(size):
                return self._memory
            self._say(f"databases fill a quarter of the free memory: further ones lie in {self._disk.folder}")
        return self._disk if self._disk.fits(size) else None

    def _evict(self) -> bool:
        """Remove the base that has been idle in the pool for longest, whatever its template."""
        for template, idle in self._idle.items():
            if idle:
                base, area, size = idle.pop(0)
                base.remove()
                area.used -= size
                if not idle:
                    del self._idle[template]
                return True
        return False

    def _free(self, area: Area, size: int) -> None:
        with self._changed:
            area.used -= size
            self._changed.notify_all()

    def _say(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            _log.warning(line)


def _free_memory() -> int:
    """Bytes that this process may still fill: of the memory file system, the machine, and its control group."""
    free = [shutil.disk_usage(MEMORY).free]
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            free.append(int(line.split()[1]) * 1024)
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        free.append(int(limit) - int(used))
    except (OSError, ValueError):
        pass  # no control group, or one without a limit ("max")
    return max(0, min(free))
