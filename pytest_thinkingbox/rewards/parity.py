"""Stored attempts graded through the held session: evaluation and reward must say the same of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pytest_thinkingbox.episodes.final import FinalState
from pytest_thinkingbox.records.model import AttemptRecord
from pytest_thinkingbox.rewards.suite import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """`stored` and `now` are an outcome with its cause and reward."""

    attempt: str
    try_number: int
    stored: str
    now: str


@dataclass(slots=True, kw_only=True)
class Parity:
    """`stateless` tries were invalid before there was a final state: nothing of them can be graded."""

    same: int = 0
    different: list[Difference] = field(default_factory=list)
    stateless: int = 0

    @property
    def holds(self) -> bool:
        """Never by comparing nothing."""
        return self.same > 0 and not self.different

    def lines(self) -> list[str]:
        compared = self.same + len(self.different)
        lines = [
            f"{one.attempt}, try {one.try_number}: stored {one.stored}, as a reward {one.now}"
            for one in self.different
        ]
        left = f"; {self.stateless} without a final state left out" if self.stateless else ""
        return [*lines, f"parity {self.same}/{compared} stored attempts: the same verdict and reward{left}"]


def compare(records: Iterable[AttemptRecord], suite: Suite) -> Parity:
    """The last line of a try counts."""
    last = {(one.task, one.attempt, one.try_number): one for one in records}
    parity = Parity()
    for record in last.values():
        if record.changes is None:
            parity.stateless += 1
            continue
        verdict = suite.grade(FinalState.of_record(record))
        stored = _words(record.outcome, record.cause, record.reward)
        now = _words(verdict.outcome, verdict.cause, verdict.reward)
        if stored == now:
            parity.same += 1
        else:
            parity.different.append(
                Difference(attempt=record.key, try_number=record.try_number, stored=stored, now=now)
            )
    return parity


def _words(outcome: str, cause: str | None, reward: float | None) -> str:
    why = f" ({cause})" if cause else ""
    return f"{outcome}{why} {'None' if reward is None else f'{reward:g}'}"
