"""Two campaigns of one agent: how often `thinkingbox compare` calls them different, which must be 5 % at most.

Simulated: for each suite below two campaigns are drawn with the same chances to pass, many times, and compared. Each
figure is called different when its 95 % interval leaves out 0. The last lines say how often a true drop is found.
"""

from __future__ import annotations

import sys

import numpy as np
from _table import Figure, finish, parser

from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.paired import (
    Pair,
    pass_at_k_difference,
    pass_hat_k_difference,
    pass_rate_difference,
)

MOST = 5.0
SUITES = {
    "15 tasks at 0.7": np.full(15, 0.7),
    "15 tasks, 0.05 to 0.95": np.linspace(0.05, 0.95, 15),
    "15 easy tasks (0.97)": np.full(15, 0.97),
    "1 task at 0.5": np.full(1, 0.5),
    "60 tasks, mostly sure": np.random.default_rng(1).beta(0.5, 0.5, 60),
}
ATTEMPTS = (1, 4, 20)
DROP = 0.05


def main() -> int:
    options = parser(__doc__ or "").parse_args()
    times = 300 if options.quick else 4000
    # A quick run has few draws: three standard errors of a share of 5 % are what chance alone may add.
    most = MOST + 300 * (0.05 * 0.95 / times) ** 0.5 if options.quick else MOST
    random = np.random.default_rng(0)
    figures = []
    for name, chances in SUITES.items():
        for attempts in ATTEMPTS:
            shares = _called_different(random, chances, chances, attempts, times)
            for figure, share in zip(("pass@1", "pass@k", "n/n"), shares, strict=True):
                figures.append(
                    Figure(name=f"{name} x {attempts}, {figure}", value=share, unit="%", at_most=most)
                )
    for name in ("15 tasks at 0.7", "60 tasks, mostly sure"):
        before = SUITES[name]
        after = np.clip(before - DROP * len(before) / np.sum(before > DROP) * (before > DROP), 0, 1)
        share = _called_different(random, before, after, 20, times)[0]
        figures.append(Figure(name=f"{name} x 20, a drop of 5 points is found", value=share, unit="%"))
    return finish(f"campaigns called different, {times} pairs each", figures, options)


def _called_different(
    random: np.random.Generator, before: np.ndarray, after: np.ndarray, attempts: int, times: int
) -> tuple[float, float, float]:
    """How often, in per cent, for each figure."""
    base = random.binomial(attempts, before, size=(times, len(before)))
    new = random.binomial(attempts, after, size=(times, len(after)))
    found = np.zeros(3)
    for one, other in zip(base, new, strict=True):
        pairs = [
            Pair(base=_task(passed, attempts), new=_task(again, attempts))
            for passed, again in zip(one.tolist(), other.tolist(), strict=True)
        ]
        found += [
            pass_rate_difference(pairs=pairs).differs,
            pass_at_k_difference(pairs=pairs, k=attempts).differs,
            pass_hat_k_difference(pairs=pairs, k=attempts).differs,
        ]
    first, at_k, every = (100 * found / times).tolist()
    return first, at_k, every


def _task(passed: int, attempts: int) -> TaskCounts:
    return TaskCounts(task="", requested=attempts, passed=passed, failed=attempts - passed)


if __name__ == "__main__":
    sys.exit(main())
