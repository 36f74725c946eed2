"""What an attempt costs besides the model: CPU time of five tool calls, against the same calls made by hand.

Both sides run pytest as a process, once with one test and once with many, in turn; the cost of a test is the slope.
By hand means an ordinary test that copies the file, makes the engine, calls the five functions in a transaction each,
and reads the rows that it expects. An attempt does this and all the rest: catalogue and calls over MCP, the cut, every
row of every table compared with the seed, the record.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from _pytest_run import SUITE, run_pytest
from _table import Figure, finish, parser

GOAL_MS = 15.0
GOAL_RATIO = 4.0


def main() -> int:
    options = parser(__doc__ or "").parse_args()
    times, repeats = (100, 2) if options.quick else (300, 5)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        folder = Path(name)
        measured = [_once(folder, times) for _ in range(repeats)]
    by_hand = statistics.median(hand for hand, _ in measured)
    attempt = statistics.median(attempt for _, attempt in measured)
    figures = [
        Figure(name="test by hand, CPU", value=by_hand * 1000, unit="ms"),
        Figure(name="attempt, CPU", value=attempt * 1000, unit="ms", at_most=GOAL_MS),
        Figure(name="attempt / by hand", value=attempt / by_hand, unit="x", at_most=GOAL_RATIO),
    ]
    return finish(f"overhead of an attempt of 5 tool calls, median of {repeats}", figures, options)


def _once(folder: Path, times: int) -> tuple[float, float]:
    """Seconds of CPU for one test by hand and for one attempt."""
    sides = []
    for cpu in (_by_hand, _attempts):
        few, many = cpu(folder, 1), cpu(folder, 1 + times)
        sides.append((many - few) / times)
    return sides[0], sides[1]


def _by_hand(folder: Path, times: int) -> float:
    arguments = [str(SUITE / "test_by_hand.py"), f"--basetemp={folder / 'pytest'}"]
    return run_pytest(arguments, environ={"BENCHMARK_TIMES": str(times)}, folder=folder).cpu


def _attempts(folder: Path, times: int) -> float:
    arguments = [str(SUITE / "test_attempt.py"), "-p", "pytest_thinkingbox.plugin"]
    arguments += ["--tb-agent=solution", f"--tb-attempts={times}"]
    return run_pytest(arguments, environ={}, folder=folder).cpu


if __name__ == "__main__":
    sys.exit(main())
