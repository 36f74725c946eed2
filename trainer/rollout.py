"""The rows of a step: episodes on the pool of a campaign, graded by the test functions, put into groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pytest_thinkingbox.agents.tokens import Trace
from pytest_thinkingbox.episodes.model import Episode, EpisodeRequest
from pytest_thinkingbox.episodes.seeds import derive_seed
from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.rewards.player import Player
from pytest_thinkingbox.rewards.suite import Reward, Suite, reward_of
from thinkingbox_trainer.checks import is_sampled, looked_again
from thinkingbox_trainer.fixed import MOST_INVALID, MOST_SKIPPED
from thinkingbox_trainer.groups import Cursor, Member, Rules, fill
from thinkingbox_trainer.ledger import Ledger
from thinkingbox_trainer.metrics import Metrics, Tally


class TrainingStopped(ThinkingboxError):
    """Going on would train on nothing, or on an outage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One sequence: `mask` has 1 where the model wrote. A row that only fills up has no task and no reward. `logprobs`
    are what the sampler says of each id of `completion`, where it says any."""

    prompt: list[int]
    completion: list[int]
    mask: list[int]
    reward: float | None
    task: str | None
    logprobs: list[float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`skip`: too few groups to learn from, the optimizer must not move."""

    rows: list[Row]
    skip: bool
    metrics: Metrics = field(compare=False)


class StalePolicy(ThinkingboxError):
    """An episode was written by other weights than those that are trained on it."""


def demand_current(trace: Trace | None, *, step: int, task: str) -> None:
    """Raises StalePolicy unless the weights after `step` updates wrote all that the model wrote."""
    if trace is None or trace.policy_versions == {step} or not any(trace.mask):
        return
    written = " and ".join(str(one) for one in sorted(trace.policy_versions)) or "nobody says how many"
    raise StalePolicy(
        f"step {step}: an episode of {task} was written by weights after {written} updates: the engine must have "
        f"those after {step} before the step begins"
    )


class Traces:
    """Where the agent leaves the ids of an episode until it is graded."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int, int], Trace] = {}

    def keep(self, request: EpisodeRequest, trace: Trace) -> None:
        self._kept[request.task_id, request.attempt, request.seed] = trace

    def take(self, request: EpisodeRequest) -> Trace | None:
        """None where the episode ended before the agent began."""
        return self._kept.pop((request.task_id, request.attempt, request.seed), None)


class Rollouts:
    """Makes the steps of a run. `filler` is a token id for rows that only fill up; `look` is called before the episodes
    of each step, and what it returns is among the figures of the step."""

    def __init__(
        self,
        *,
        suite: Suite,
        player: Player,
        traces: Traces,
        cursor: Cursor,
        rules: Rules,
        reward: Reward,
        seed: int,
        filler: int,
        report: Callable[[Metrics], None] = lambda metrics: None,
        look: Callable[[int], Metrics] = lambda number: {},
        ledger: Ledger | None = None,
    ) -> None:
        self._suite = suite
        self._player = player
        self._traces = traces
        self._cursor = cursor
        self._rules = rules
        self._reward: Reward = reward
        self._seed = seed
        self._filler = filler
        self._report = report
        self._ledger = ledger
        self._look = look
        self._skipped = 0
        # One thread for each episode under way: it waits for the end and asks for the verdict.
        self._threads = ThreadPoolExecutor(
            rules.groups * rules.size, thread_name_prefix="thinkingbox-members"
        )

    def step(self, number: int, tasks: Iterator[str] | None = None) -> Step:
        """Of `tasks`, in their order, else of those whose turn it is in the pool. Raises TrainingStopped."""

        tally = Tally()
        seen = self._look(number)

        def play(task: str, member: int, attempt: int) -> Future[Member]:
            seed = derive_seed(self._seed, "train", number, task, member, attempt)
            if self._ledger is not None:
                self._ledger.begun(number, task, member, attempt)
            again = is_sampled(seed=self._seed, step=number, task=task, member=member, size=self._rules.size)
            episode = self._player.play(task, member=member, seed=seed, keep=again)
            return self._threads.submit(
                lambda: self._ended(number, task, member, attempt, episode.result(), tally)
            )

        began = time.perf_counter()
        filled = fill(self._cursor.step() if tasks is None else tasks, play, self._rules)
        skip = 2 * len(filled.accepted) < self._rules.groups
        metrics = {
            "step": number,
            **tally.metrics(filled, self._rules),
            "skipped": int(skip),
            "seconds_episodes": time.perf_counter() - began,
            **seen,
        }
        self._report(metrics)
        if filled.invalid_share > MOST_INVALID:
            raise TrainingStopped(
                f"step {number}: {filled.invalid} of {filled.episodes} episodes were invalid; look at what is down "
                "before you go on"
            )
        self._skipped = self._skipped + 1 if skip else 0
        if self._skipped >= MOST_SKIPPED:
            raise TrainingStopped(
                f"step {number} is the {self._skipped}. in a row with fewer than half of {self._rules.groups} groups "
                f"({len(filled.uniform)} were worth the same for every member, {len(filled.given_up)} stayed invalid): "
                "select tasks that this policy sometimes solves"
            )
        rows = [row for group in filled.accepted for row in (one.row for one in group.members)]
        filler = [self._filler]
        padding = Row(prompt=filler, completion=filler, mask=[0], reward=None, task=None, logprobs=[0.0])
        rows += [padding] * (filled.missing * self._rules.size)
        return Step(rows=rows, skip=skip, metrics=metrics)

    def _ended(
        self, step: int, task: str, member: int, attempt: int, episode: Episode, tally: Tally
    ) -> Member:
        try:
            graded = self._graded(step, task, episode, tally)
        finally:
            lease, episode.lease = episode.lease, None
            if lease is not None:
                lease.release()
        if self._ledger is not None:
            self._ledger.ended(step, task, member, attempt, episode=episode, reward=graded.reward)
        return graded

    def _graded(self, step: int, task: str, episode: Episode, tally: Tally) -> Member:
        trace = self._traces.take(episode.request)
        demand_current(trace, step=step, task=task)
        began = time.perf_counter()
        verdict = self._suite.grade(episode)
        seconds = time.perf_counter() - began
        if episode.lease is not None and verdict.outcome == "passed":
            verdict = looked_again(self._suite, episode, verdict)
            if verdict.outcome == "passed":
                tally.same()
        reward = reward_of(verdict, reward=self._reward)
        valid = reward is not None and trace is not None
        tally.ended(episode, trace, valid=valid, grading=seconds)
        if reward is None or trace is None:
            return Member(None)
        written = trace.completion or [self._filler]  # TRL takes no empty completion
        mask = trace.mask or [0]
        prompt = trace.prompt or [self._filler]
        logprobs = [0.0] if trace.logprobs == [] else trace.logprobs
        row = Row(prompt=prompt, completion=written, mask=mask, reward=reward, task=task, logprobs=logprobs)
        return Member(reward, row)

    def state(self) -> dict[str, Any]:
        """Where pool and rules stand between two steps."""
        cursor = self._cursor
        return {
            "passes": cursor.passes,
            "left": list(cursor.left),
            "left_out": sorted(cursor.left_out),
            "skipped": self._skipped,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._cursor.passes, self._cursor.left = state["passes"], list(state["left"])
        self._cursor.left_out = frozenset(state["left_out"])
        self._skipped = state["skipped"]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
