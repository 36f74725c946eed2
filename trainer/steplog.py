"""The lines of `steps.jsonl` and of the console: one for each step, written when its update is done."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from thinkingbox_trainer.metrics import Metrics, line


class StepLog:
    """`played` is told what the episodes of a step gave, `updated` what its update did. A step without an update, since
    the run stops, is written by the next `played` or by `close`."""

    def __init__(self, path: Path, *, say: Callable[[str], None]) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._say = say
        self._open: dict[str, Any] | None = None
        self._began = 0.0

    def played(self, metrics: Metrics) -> None:
        self._write()
        self._open = dict(metrics)
        self._began = time.perf_counter()

    def updated(self, logs: Mapping[str, Any]) -> None:
        """What the trainer logs of an update; anything else that it logs is passed over."""
        if self._open is None or "grad_norm" not in logs:
            return
        self._open |= {name: float(logs[name]) for name in ("grad_norm", "loss") if name in logs}
        self._open["seconds_update"] = time.perf_counter() - self._began
        self._write()

    def close(self) -> None:
        self._write()
        self._file.close()

    def _write(self) -> None:
        if self._open is None:
            return
        metrics, self._open = self._open, None
        said = {name: _json(value) for name, value in metrics.items()}
        self._file.write(json.dumps({"time": time.time(), **said}) + "\n")
        self._file.flush()
        self._say(line(metrics))


def _json(value: Any) -> Any:
    """JSON has no NaN: null stands for a figure of nothing."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
