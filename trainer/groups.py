"""Which episodes a step trains on: groups of members of one task, accepted in the order in which they were begun.

What is accepted depends on what the episodes were worth, never on how fast they were: fast failures would push out slow
successes otherwise.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

from thinkingbox_trainer.fixed import RETRIES

Refill = Literal["group", "member"]


@dataclass(frozen=True, slots=True)
class Member:
    """One episode of a group. `reward` is None for an invalid one; `row` is what is trained on."""

    reward: float | None
    row: Any = None


Play = Callable[[str, int, int], Future[Member]]
"""Begin an episode of a task, as member (from 1) and try (from 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Members of one task, all valid. `tries` is above 1 where some were played again."""

    task: str
    members: tuple[Member, ...]
    tries: int = 1

    @property
    def uniform(self) -> bool:
        """Whether all are worth the same, so that they teach nothing."""
        return len({one.reward for one in self.members}) == 1


@dataclass(slots=True, kw_only=True)
class Filled:
    """The groups of a step, and what became of the others. `episodes` counts every one that was begun."""

    accepted: list[Group] = field(default_factory=list)
    missing: int = 0
    episodes: int = 0
    invalid: int = 0
    uniform: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)

    @property
    def invalid_share(self) -> float:
        return self.invalid / self.episodes if self.episodes else 0.0


class Cursor:
    """The tasks of the pool, each once in a pass, in an order of each pass's own. `passes` and `left`, the tasks that
    are still to come in this pass, are where it stands, for a resume."""

    def __init__(
        self, tasks: Sequence[str], *, seed: int, passes: int = 0, left: Sequence[str] | None = None
    ) -> None:
        if not tasks:
            raise ValueError("the pool has no tasks")
        self._tasks = list(tasks)
        self._seed = seed
        self.passes = passes
        self.left = self._order() if left is None else list(left)
        self.left_out: frozenset[str] = frozenset()
        """Tasks of the pool that are passed over."""

    def step(self) -> Iterator[str]:
        """Tasks for one step, none of them twice: what comes too early in the next pass waits for the next step."""
        used: set[str] = set()
        while (task := next((one for one in self.left if one not in used), None)) is not None:
            self.left.remove(task)
            if not self.left:
                self.passes += 1
                self.left = self._order()
            used.add(task)
            if task not in self.left_out:
                yield task

    def _order(self) -> list[str]:
        order = list(self._tasks)
        random.Random(f"{self._seed}:{self.passes}").shuffle(order)
        return order


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """`groups` of `size` members; no more than `most_episodes` are begun. `refill` says what is played again when a
    member is invalid; `replace_uniform` takes another task for a group in which all are worth the same (DAPO)."""

    groups: int
    size: int
    most_episodes: int
    refill: Refill
    replace_uniform: bool


def fill(tasks: Iterator[str], play: Play, rules: Rules) -> Filled:
    """Play until there are enough groups, no task is left or the budget is spent.

    Refills are begun when their group's turn to be decided comes, so that the budget goes to the same groups however
    fast they are.
    """
    filled = Filled()
    waiting: deque[_Running] = deque()
    begun: Counter[str] = Counter()
    while True:
        while len(filled.accepted) + len(waiting) < rules.groups:
            if filled.episodes + rules.size > rules.most_episodes:
                break
            task = next(tasks, None)
            if task is None:
                break
            # A task that comes a second time has members of its own: other seeds.
            waiting.append(_Running(task, play, rules.size, first=begun[task] * rules.size + 1))
            begun[task] += 1
            filled.episodes += rules.size
        if not waiting:
            break
        running = waiting.popleft()
        members = _complete(running, rules, filled)
        if members is None:
            filled.given_up.append(running.task)
            continue
        group = Group(task=running.task, members=tuple(members), tries=running.tries)
        if rules.replace_uniform and group.uniform:
            filled.uniform.append(running.task)
        else:
            filled.accepted.append(group)
    filled.missing = rules.groups - len(filled.accepted)
    return filled


def _complete(running: _Running, rules: Rules, filled: Filled) -> list[Member] | None:
    """All members valid, None when that was not to be had."""
    for _ in range(RETRIES + 1):
        members = running.members()
        broken = [at for at, one in enumerate(members) if one.reward is None]
        filled.invalid += len(broken)
        if not broken:
            return members
        again = list(range(rules.size)) if rules.refill == "group" else broken
        if running.tries > RETRIES or filled.episodes + len(again) > rules.most_episodes:
            return None
        running.again(again)
        filled.episodes += len(again)
    return None


class _Running:
    def __init__(self, task: str, play: Play, size: int, *, first: int) -> None:
        self.task = task
        self.tries = 1
        self._play = play
        self._first = first
        self._futures = [play(task, first + at, 1) for at in range(size)]

    def members(self) -> list[Member]:
        return [future.result() for future in self._futures]

    def again(self, which: Sequence[int]) -> None:
        self.tries += 1
        for at in which:
            self._futures[at] = self._play(self.task, self._first + at, self.tries)
