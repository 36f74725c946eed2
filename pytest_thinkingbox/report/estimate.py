"""An estimate in words."""

from __future__ import annotations

from math import ceil

from pytest_thinkingbox.report.cost import money
from pytest_thinkingbox.report.text import escape
from pytest_thinkingbox.report.words import plural
from pytest_thinkingbox.stats.cost import NOTICE
from pytest_thinkingbox.stats.estimate import Estimate, RoleEstimate


def estimate_texts(found: Estimate, *, source: str, concurrency: int) -> list[str]:
    """What it was judged by, a text for each role, the total, the time."""
    base = (
        f"{plural(found.attempts, 'attempt')} of {plural(found.tasks, 'task')}, judged by "
        f"{plural(found.stored, 'attempt')} of {found.measured} of them in {escape(source)}"
    )
    if found.measured < found.tasks:
        base += f"; the other {found.tasks - found.measured} are taken as the mean of these"
    texts = [base, *map(_role, found.roles)]
    if not found.roles:
        texts.append("no model was asked there: tokens and cost are not known")
    elif found.cost is not None:
        texts.append(f"total: {money(found.cost)}, {NOTICE}")
    atonce = min(concurrency, found.attempts)
    texts.append(
        f"time: {_duration(found.seconds)} of attempts, about {_duration(found.seconds / atonce)} with {atonce} at once"
    )
    return texts


def _role(one: RoleEstimate) -> str:
    cost = f"no price for {escape(one.model or 'its model')}" if one.cost is None else money(one.cost)
    return f"{one.role}: {_tokens(one.input_tokens)} in, {_tokens(one.output_tokens)} out, {cost}"


def _tokens(number: float | None) -> str:
    return "n/a" if number is None else f"{number:,.0f}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = ceil(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{seconds / 3600:.1f} h"
