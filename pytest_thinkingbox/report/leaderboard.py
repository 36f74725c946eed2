"""Several campaigns over the same tasks, the best first."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_thinkingbox.report.compare import WHOLE, table
from pytest_thinkingbox.report.cost import money
from pytest_thinkingbox.report.paint import Paint
from pytest_thinkingbox.report.text import cut, escape
from pytest_thinkingbox.report.words import FEWEST, plural, share, span
from pytest_thinkingbox.stats.campaign import Mismatch
from pytest_thinkingbox.stats.compare import Standing, common_k
from pytest_thinkingbox.stats.cost import NOTICE
from pytest_thinkingbox.stats.intervals import these_tasks
from pytest_thinkingbox.stats.suite import by_tag, mean_pass_at_k, pooled, reliable


def leaderboard_lines(
    standings: Sequence[Standing], *, allowed: Sequence[Mismatch] = (), width: int = 80, color: bool = False
) -> list[str]:
    """Who they are, their figures, what they cost, and both by tag."""
    paint = Paint(color)
    k = common_k([one.side for one in standings])
    lines = [cut(f"{number:>3}  {_name(one)}", width) for number, one in enumerate(standings, start=1)]
    lines += [escape(f"allowed: {one.line}") for one in allowed]
    judged = frozenset[str]().union(*(one.side.judged for one in standings))
    lines += ["", *_figures(standings, k, frozenset(), paint)]
    if judged:
        lines += ["", f"without the {plural(len(judged), 'task')} that asked the judge:"]
        lines += _figures(standings, k, judged, paint)
    lines += ["", *_tags(standings, paint)] if by_tag(tasks=standings[0].tasks) else []
    if not any(one.cost.ledgers for one in standings):
        return [*lines, "", "cost: none, no model was asked"]
    lines += ["", *_costs(standings, paint), paint.dim(f"{NOTICE}; invalid tries included")]
    if any(len(one.tasks) < len(one.side.tasks) for one in standings):
        lines.append(paint.dim(WHOLE))
    return lines


def _name(one: Standing) -> str:
    info = one.side.info
    model = f" {escape(info.model)}" if info.model else ""
    partial = ", partial" if info.partial else ""
    return f"{escape(info.agent)}{model} (campaign {escape(info.campaign)}{partial})"


def _figures(standings: Sequence[Standing], k: int, but: frozenset[str], paint: Paint) -> list[str]:
    rows: list[Sequence[str]] = [("", "pass@1", "95 % interval", f"pass@{k}", f"{k}/{k}", "passed/valid")]
    for number, one in enumerate(standings, start=1):
        tasks = [task for task in one.tasks if task.task not in but]
        total = pooled(tasks=tasks)
        observed = reliable(tasks=tasks)
        every = f"{observed.low}" if observed.low == observed.high else f"{observed.low}-{observed.high}"
        interval = these_tasks(tasks=tasks)
        rows.append(
            (
                f"{number:>3}",
                share(mean_pass_at_k(tasks=tasks, k=1).mean),
                span(interval) if interval else "n/a",
                share(mean_pass_at_k(tasks=tasks, k=k).mean),
                f"{every} of {observed.of}",
                f"{total.passed}/{total.valid}",
            )
        )
    return table(rows, paint=paint)


def _tags(standings: Sequence[Standing], paint: Paint) -> list[str]:
    """pass@1 of each, counts where a tag has few tasks."""
    groups = [by_tag(tasks=one.tasks) for one in standings]
    rows: list[Sequence[str]] = [("tag", "tasks", *(str(number + 1) for number in range(len(standings))))]
    for tag, tasks in groups[0].items():
        cells = []
        for group in groups:
            found = group.get(tag, [])
            total = pooled(tasks=found)
            few = len(found) < FEWEST
            cells.append(
                f"{total.passed}/{total.valid}" if few else share(mean_pass_at_k(tasks=found, k=1).mean)
            )
        rows.append((cut(escape(tag), 20), str(len(tasks)), *cells))
    return table(rows, paint=paint)


def _costs(standings: Sequence[Standing], paint: Paint) -> list[str]:
    rows: list[Sequence[str]] = [
        ("cost", "total", "agent", "per attempt", "per passed attempt", "per reliable task")
    ]
    for number, one in enumerate(standings, start=1):
        cost = one.cost
        amounts = (cost.total, cost.agent, cost.per_attempt, cost.per_pass, cost.per_reliable)
        rows.append((f"{number:>3}", *(money(amount) for amount in amounts)))
    return table(rows, paint=paint)
