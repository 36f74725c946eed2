"""What a check costs as a reward: final states of the hotel suite, graded through the held pytest session.

Half of the states are those of reference solutions, which pass, the others of an agent that slips. Measured in this
process, from the question to the answer, pipe and pickling included. Memory and open files of the child are compared
after a warm-up and at the end, so that a leak shows.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from _pytest_run import ROOT, run_pytest
from _table import Figure, finish, parser

from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.rewards import FinalState, load_suite

HOTEL = "example_suites/hotel"
MOST_MS = 2.0


def main() -> int:
    made = parser(__doc__ or "")
    made.add_argument("--checks", type=int, help="checks of the long run (default: 10000; with --quick: 600)")
    options = made.parse_args()
    checks = options.checks or (600 if options.quick else 10_000)
    with tempfile.TemporaryDirectory(prefix="thinkingbox-benchmark-") as folder:
        states = [
            state for agent in ("solution", "mutant:0.5") for state in played(Path(folder) / agent, agent)
        ]
    with load_suite(HOTEL, cwd=ROOT) as suite:
        process = suite.process_id()
        seconds: dict[str, list[float]] = {"passed": [], "failed": [], "invalid": []}
        for state in states:
            suite.grade(state)
        before = usage(process)
        for number in range(checks):
            if number == min(checks // 2, 1000):  # by then every cache is filled
                before = usage(process)
            begun = time.perf_counter()
            outcome = suite.grade(states[number % len(states)]).outcome
            seconds[outcome].append(time.perf_counter() - begun)
        after = usage(process)
    both = seconds["passed"] + seconds["failed"]
    figures = [
        Figure(name="a check, median of all", value=median(both), unit="ms", at_most=MOST_MS),
        Figure(
            name=f"median of {len(seconds['passed']):,} that pass", value=median(seconds["passed"]), unit="ms"
        ),
        Figure(
            name=f"median of {len(seconds['failed']):,} that fail", value=median(seconds["failed"]), unit="ms"
        ),
        Figure(name="invalid", value=len(seconds["invalid"]), unit="", at_most=0),
        Figure(name="growth of memory", value=after[0] - before[0], unit="MB", at_most=8.0),
        Figure(name="growth of open files", value=after[1] - before[1], unit="", at_most=2),
    ]
    return finish("rewards", figures, options)


def median(seconds: list[float]) -> float:
    return 1000 * statistics.median(seconds)


def played(folder: Path, agent: str) -> list[FinalState]:
    """The final states of two attempts of every task."""
    arguments = [f"--tb-agent={agent}", "--tb-attempts=2", f"--tb-dir={folder}", "--tb-min-pass-rate=0"]
    run_pytest(["-p", "thinkingbox", HOTEL, *arguments], environ={}, folder=ROOT)
    [campaign] = [path.parent for path in folder.glob("*/campaign.json")]
    records = [
        one for one in CampaignFolder.open(campaign).read_records() if one.final and one.changes is not None
    ]
    return [FinalState.of_record(one) for one in records]


def usage(process: int) -> tuple[float, int]:
    """Resident megabytes and open files of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(os.listdir(f"/proc/{process}/fd"))


if __name__ == "__main__":
    sys.exit(main())
