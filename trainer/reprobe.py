"""The pool probed again in the middle of a run: what the policy has learnt by now, or cannot do any more, is left out
of the steps that follow until it is probed the next time. Off unless a recipe says `reprobe_every`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from pytest_thinkingbox.episodes.model import Episode
from pytest_thinkingbox.episodes.seeds import derive_seed
from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.rewards.player import Player
from pytest_thinkingbox.rewards.suite import Suite
from pytest_thinkingbox.selection.pool import RULES, Rule
from pytest_thinkingbox.stats.difficulty import band
from thinkingbox_trainer.groups import Cursor
from thinkingbox_trainer.ledger import Ledger
from thinkingbox_trainer.metrics import Metrics
from thinkingbox_trainer.rollout import Traces, demand_current


class PoolTooSmall(ThinkingboxError):
    """Too few tasks are left that this policy sometimes solves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reprobe:
    """Plays `attempts` of every task in `tasks`, the whole pool, before every `every`th step. `groups` is how many
    tasks a step needs."""

    every: int
    attempts: int
    tasks: Sequence[str]
    rule: Rule
    groups: int
    seed: int
    suite: Suite
    player: Player
    traces: Traces
    cursor: Cursor
    ledger: Ledger | None

    def before(self, step: int) -> Metrics:
        """What it cost, where it is due. Raises PoolTooSmall."""
        if step == 0 or step % self.every:
            return {}
        left_out = []
        written = invalid = 0
        playing = [(task, [self._play(step, task, one) for one in self._members()]) for task in self.tasks]
        for task, futures in playing:
            passed = valid = 0
            for member, future in zip(self._members(), futures, strict=True):
                episode = future.result()
                trace = self.traces.take(episode.request)
                demand_current(trace, step=step, task=task)
                verdict = self.suite.grade(episode)
                passed, valid = passed + (verdict.outcome == "passed"), valid + (verdict.outcome != "invalid")
                written += 0 if trace is None else sum(trace.mask)
                if self.ledger is not None:
                    self.ledger.ended(
                        step, task, member, 1, episode=episode, reward=verdict.reward, stage="reprobe"
                    )
            invalid += self.attempts - valid
            # Of a task with fewer valid attempts than invalid ones nothing new is known: it would be an outage's word.
            found = band(passed=passed, valid=valid) if 2 * valid >= self.attempts else None
            out = task in self.cursor.left_out if found is None else found not in RULES[self.rule]
            if out:
                left_out.append(task)
        if (there := len(self.tasks) - len(left_out)) < self.groups:
            raise PoolTooSmall(
                f"step {step}: by {self.attempts} new attempts of each task, {there} of {len(self.tasks)} are "
                f"{' or '.join(RULES[self.rule])} for this policy, and a step needs {self.groups}: select another pool"
            )
        self.cursor.left_out = frozenset(left_out)
        return {
            "pool": there,
            "reprobe_episodes": len(self.tasks) * self.attempts,
            "reprobe_invalid": invalid,
            "reprobe_tokens": written,
        }

    def _members(self) -> range:
        return range(1, self.attempts + 1)

    def _play(self, step: int, task: str, member: int) -> Future[Episode]:
        if self.ledger is not None:
            self.ledger.begun(step, task, member, 1, stage="reprobe")
        seed = derive_seed(self.seed, "reprobe", step, task, member, 1)
        return self.player.play(task, member=member, seed=seed)
