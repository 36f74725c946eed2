"""What a step cost and gave: figures of the episodes that were played for it, with what they count."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pytest_thinkingbox.agents.tokens import Trace
from pytest_thinkingbox.episodes.model import Episode
from thinkingbox_trainer.groups import Filled, Group, Rules

Metrics = Mapping[str, Any]
"""Numbers, NaN where there is nothing to count; `invalid` alone is a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    task: str
    valid: bool
    turns: int
    written: int
    model: float
    tools: float
    user: float
    grading: float


class Tally:
    """The episodes of one step as they end, from any thread."""

    def __init__(self) -> None:
        self._played: list[_Played] = []
        self._lock = threading.Lock()
        self.regraded = 0
        """Passed episodes whose state was read again by full comparison."""

    def ended(self, episode: Episode, trace: Trace | None, *, valid: bool, grading: float) -> None:
        """`grading` is in seconds, and includes waiting for checks of others."""
        conversation = episode.conversation
        one = _Played(
            task=episode.request.task_id,
            valid=valid,
            turns=conversation.usage["agent"].requests,
            written=0 if trace is None else sum(trace.mask),
            model=0.0 if trace is None else trace.seconds,
            tools=sum(call.seconds for call in conversation.tool_calls),
            user=episode.user_seconds,
            grading=grading,
        )
        with self._lock:
            self._played.append(one)

    def same(self) -> None:
        """A passed episode had the same changes and verdict by full comparison."""
        with self._lock:
            self.regraded += 1

    def metrics(self, filled: Filled, rules: Rules) -> dict[str, Any]:
        members = [one for group in filled.accepted for one in group.members]
        rewards = [one.reward for one in members if one.reward is not None]
        begun = len(filled.accepted) + len(filled.uniform) + len(filled.given_up)
        uniform = len(filled.uniform) + sum(group.uniform for group in filled.accepted)
        with self._lock:
            played = list(self._played)
        return {
            "reward": _mean(rewards),
            "groups": len(filled.accepted),
            "groups_missing": filled.missing,
            "groups_played": begun,
            "groups_uniform": uniform,
            "uniform_share": uniform / begun if begun else math.nan,
            "groups_given_up": len(filled.given_up),
            "groups_replaced": max(0, begun - rules.groups),
            "groups_refilled": sum(group.tries > 1 for group in filled.accepted),
            "episodes": filled.episodes,
            "episodes_invalid": filled.invalid,
            "invalid_share": filled.invalid_share,
            "tokens_trained": sum(sum(one.row.mask) for one in members),
            "tokens_written": sum(one.written for one in played),
            "length_clean": _length(group for group in filled.accepted if group.tries == 1),
            "length_refilled": _length(group for group in filled.accepted if group.tries > 1),
            "seconds_model": sum(one.model for one in played),
            "seconds_tools": sum(one.tools for one in played),
            "seconds_user": sum(one.user for one in played),
            "seconds_grading": sum(one.grading for one in played),
            "regraded": self.regraded,
            "invalid": _by_task([one for one in played if not one.valid]),
        }


def numbers(metrics: Metrics) -> dict[str, float]:
    """Those that a chart can show."""
    return {
        name: float(value)
        for name, value in metrics.items()
        if isinstance(value, int | float) and math.isfinite(value)
    }


def line(metrics: Metrics) -> str:
    """One line for a person, with denominators."""
    told = [
        f"step {metrics['step']}: reward {_shown(metrics['reward'], '.3f')}",
        f"{metrics['groups']}/{metrics['groups'] + metrics['groups_missing']} groups",
        f"{metrics['groups_uniform']}/{metrics['groups_played']} zero-variance, {metrics['groups_replaced']} replaced, "
        f"{metrics['groups_refilled']} refilled",
        f"{metrics['episodes_invalid']}/{metrics['episodes']} episodes invalid",
        f"{metrics['tokens_written']:,} tokens",
    ]
    waited = ", ".join(f"{of} {metrics[f'seconds_{of}']:.1f}" for of in ("model", "tools", "user", "grading"))
    told.append(f"waiting (s, of all episodes): {waited}")
    if "reprobe_episodes" in metrics:
        asked, broken = metrics["reprobe_episodes"], metrics["reprobe_invalid"]
        told.append(f"pool probed again, {broken}/{asked} episodes invalid")
    if "grad_norm" in metrics:
        gradient = f"gradient {_shown(metrics['grad_norm'], '.4g')}"
        told.append(f"{gradient}, thrown away: too few groups" if metrics["skipped"] else gradient)
    return "; ".join(told)


def _shown(value: float, how: str) -> str:
    return "n/a" if math.isnan(value) else format(value, how)


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan


def _length(groups: Iterable[Group]) -> float:
    """Mean ids of a member's conversation after its prompt."""
    return _mean([float(len(one.row.completion)) for group in groups for one in group.members])


def _by_task(played: Sequence[_Played]) -> dict[str, dict[str, int]]:
    """For each task how many episodes ended after how many turns of the model."""
    found: dict[str, Counter[str]] = {}
    for one in played:
        found.setdefault(one.task, Counter())[str(one.turns)] += 1
    return {task: dict(sorted(found[task].items(), key=lambda one: int(one[0]))) for task in sorted(found)}
