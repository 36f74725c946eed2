"""One run of pytest as a process of its own, and what it cost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITE = Path(__file__).resolve().parent / "suite"
sys.path.append(str(ROOT))  # some benchmarks borrow from the tests


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """`cpu` is user and system time of the process and its children, `peak` resident bytes of the largest one."""

    cpu: float
    wall: float
    peak: int


def run_pytest(arguments: Sequence[str], *, environ: Mapping[str, str], folder: Path) -> Cost:
    """Run it in `folder`; raises SystemExit with its output unless everything passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            [*command, f"--rootdir={folder}", *arguments],
            cwd=folder,
            # Whatever other plugins are installed here must not count.
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environ},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - started
        if process.returncode:
            output.seek(0)
            shown = output.read().decode(errors="replace")
            raise SystemExit(f"{' '.join(arguments)} ended with {process.returncode}:\n{shown[-4000:]}")
    return Cost(cpu=usage.ru_utime + usage.ru_stime, wall=wall, peak=usage.ru_maxrss * 1024)
