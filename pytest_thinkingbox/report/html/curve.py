"""pass@k and pass^k over k as a drawing: points and labels in the units of an SVG, computed here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_thinkingbox.report.words import share, tasks_with
from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.suite import mean_pass_at_k, mean_pass_hat_k

WIDTH, HEIGHT = 440, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 64, 12, 30
_TICKS = 5  # marks on the axis of k
_APART = 14  # units between the labels of two curves


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The figures at one k, as text."""

    k: int
    at_least_once: str
    every_time: str
    of_tasks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One curve: `points` for a polyline, `dots` for its marks, the name where it ends."""

    name: str
    points: str
    dots: tuple[tuple[float, float], ...]
    label_x: float
    label_y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Both curves, their axes, and every figure in them as text."""

    lines: tuple[Line, ...]
    across: tuple[tuple[float, int], ...]
    up: tuple[tuple[float, str], ...]
    steps: tuple[Step, ...]
    summary: str
    note: str


def curve_of(tasks: Sequence[TaskCounts]) -> Curve | None:
    """None where there is nothing to draw: no figure at all, or one attempt a task."""
    most = max((task.requested for task in tasks), default=0)
    ks = range(1, most + 1)
    at = [mean_pass_at_k(tasks=tasks, k=k) for k in ks]
    hat = [mean_pass_hat_k(tasks=tasks, k=k) for k in ks]
    known = [k for k, one in zip(ks, at, strict=True) if one.mean is not None]
    if len(known) < 2:
        return None
    steps = tuple(
        Step(k=k, at_least_once=share(a.mean), every_time=share(h.mean), of_tasks=tasks_with(a))
        for k, a, h in zip(ks, at, hat, strict=True)
    )
    last = known[-1]
    curves = [("pass@k", [one.mean for one in at]), ("pass^k", [one.mean for one in hat])]
    lines = [_line(name, means, most) for name, means in curves]
    short = [k for k, one in zip(ks, at, strict=True) if one.not_available]
    return Curve(
        lines=_apart(lines),
        across=tuple((_x(k, most), k) for k in _marks(most)),
        up=tuple((_y(part), f"{round(part * 100)} %") for part in (0, 0.25, 0.5, 0.75, 1)),
        steps=steps,
        summary=(
            f"pass@k goes from {steps[0].at_least_once} at k=1 to {steps[last - 1].at_least_once} at k={last}, "
            f"pass^k from {steps[0].every_time} to {steps[last - 1].every_time}."
        ),
        note=(
            f"From k = {short[0]} on over fewer tasks, at k = {most} over {steps[-1].of_tasks}: the others have fewer "
            "than k valid attempts."
            if short
            else ""
        ),
    )


def _x(k: int, most: int) -> float:
    return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * (k - 1) / (most - 1), 1)


def _y(part: float) -> float:
    return round(_TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - part), 1)


def _line(name: str, means: Sequence[float | None], most: int) -> Line:
    dots = tuple((_x(k, most), _y(mean)) for k, mean in enumerate(means, start=1) if mean is not None)
    x, y = dots[-1]
    return Line(
        name=name,
        points=" ".join(f"{x:g},{y:g}" for x, y in dots),
        dots=dots if len(dots) <= 30 else (),
        label_x=x + 8,
        label_y=y + 4,
    )


def _apart(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Labels that would lie on each other are moved apart, the upper one up."""
    upper, lower = lines
    close = _APART - (lower.label_y - upper.label_y)
    if close <= 0:
        return upper, lower
    moved = [(upper, upper.label_y - close / 2), (lower, lower.label_y + close / 2)]
    return tuple(
        Line(name=one.name, points=one.points, dots=one.dots, label_x=one.label_x, label_y=round(y, 1))
        for one, y in moved
    )


def _marks(most: int) -> list[int]:
    """Round values of k, the first and the last one among them."""
    step = next(
        one
        for size in (1, 10, 100, 1000, 10_000)
        for one in (size, 2 * size, 5 * size)
        if most / one <= _TICKS
    )
    inner = [k for k in range(step, most, step) if k > 1 and most - k >= step / 2]
    return [1, *inner, most]
