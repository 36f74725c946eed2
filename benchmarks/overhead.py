"""What an attempt costs besides the model: CPU time of five tool calls, against the same calls made by hand.

Both sides run pytest as a process, with one test and with many, in turn; the cost of a test is the difference of the
cheapest runs, divided by the number of tests. By hand means an ordinary test that copies the file, makes an engine
for it, calls the five functions in a transaction each, and asserts the rows that it expects. An attempt does this and
all the rest: a catalogue of tools and checked calls, a mail server, the cut, every table compared with the seed, the
record.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from _pytest_run import SUITE, run_pytest
from _table import Figure, finish, parser

GOAL_MS = 15.0
GOAL_RATIO = 2.0


def main() -> int:
    options = parser(__doc__ or "").parse_args()
    times, repeats = (100, 2) if options.quick else (300, 5)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        folder = Path(name)
        runs = [
            (
                _by_hand(folder, 1),
                _by_hand(folder, 1 + times),
                _attempts(folder, 1),
                _attempts(folder, 1 + times),
            )
            for _ in range(repeats)
        ]
    # The least, because whatever else the machine does only adds.
    few_by_hand, many_by_hand, few_attempts, many_attempts = (min(side) for side in zip(*runs, strict=True))
    by_hand = (many_by_hand - few_by_hand) / times
    attempt = (many_attempts - few_attempts) / times
    figures = [
        Figure(name="test by hand, CPU", value=by_hand * 1000, unit="ms"),
        Figure(name="attempt, CPU", value=attempt * 1000, unit="ms", at_most=GOAL_MS),
        Figure(name="attempt / by hand", value=attempt / by_hand, unit="x", at_most=GOAL_RATIO),
        Figure(name="start of pytest with the first test, by hand", value=few_by_hand, unit="s"),
        Figure(name="start of pytest with the first attempt", value=few_attempts, unit="s"),
    ]
    return finish(f"overhead of an attempt of 5 tool calls, {repeats} runs of {times}", figures, options)


def _by_hand(folder: Path, times: int) -> float:
    arguments = [str(SUITE / "test_by_hand.py"), f"--basetemp={folder / 'pytest'}"]
    return run_pytest(arguments, environ={"BENCHMARK_TIMES": str(times)}, folder=folder).cpu


def _attempts(folder: Path, times: int) -> float:
    arguments = [str(SUITE / "test_attempt.py"), "-p", "pytest_thinkingbox.plugin"]
    arguments += ["--tb-agent=solution", f"--tb-attempts={times}"]
    return run_pytest(arguments, environ={}, folder=folder).cpu


if __name__ == "__main__":
    sys.exit(main())
