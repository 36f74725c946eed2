"""What each stage of `learning.py` takes, and where a run is."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from _learning_report import Stage


class Clock:
    """Seconds of each stage, and lines that say where a run is."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begun, cpu = time.monotonic(), _cpu()
        yield
        self._stages.append(Stage(name=name, wall=time.monotonic() - begun, cpu=_cpu() - cpu))
        self.say(f"{name}: {self._stages[-1].wall:.0f} s, {self._stages[-1].cpu:.0f} s of CPU time")

    def stages(self) -> list[Stage]:
        return list(self._stages)

    def say(self, text: str) -> None:
        print(f"seed {self._seed}: {text}", file=sys.stderr, flush=True)


def _cpu() -> float:
    """Of this process and of those of its children that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
