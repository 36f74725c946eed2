"""Two campaigns side by side for a terminal, and several of them as a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_thinkingbox.report.cost import money
from pytest_thinkingbox.report.paint import Paint
from pytest_thinkingbox.report.text import cut, escape, pad, shorten_all, width_of, wrap
from pytest_thinkingbox.report.words import FEWEST, passed_every_attempt, plural, share
from pytest_thinkingbox.stats.campaign import Mismatch, Side
from pytest_thinkingbox.stats.compare import Comparison, Figures, OfTag
from pytest_thinkingbox.stats.cost import NOTICE, ROLES, Cost
from pytest_thinkingbox.stats.intervals import Interval
from pytest_thinkingbox.stats.paired import Difference
from pytest_thinkingbox.stats.suite import Pooled, pooled, reliable

_LABEL = 10
_LISTED = 10  # tasks gained or lost that are named
WHOLE = "costs are of all tasks of a campaign, figures of those that every campaign has"
_LEAST = 0.001  # probabilities beyond are printed as bounds


def comparison_lines(comparison: Comparison, *, width: int = 80, color: bool = False) -> list[str]:
    """The lines, without line ends."""
    page = _Page(width, Paint(color))
    base, new = comparison.base, comparison.new
    page.entry("base", _campaign(base))
    page.entry("new", _campaign(new))
    for one in comparison.allowed:
        page.entry("allowed", escape(one.line))
    page.gap()
    page.figures(comparison.figures, observed=comparison.observed)
    if comparison.unjudged is not None:
        page.gap()
        page.lines.append(f"without the {plural(len(comparison.judged), 'task')} that asked the judge:")
        page.figures(comparison.unjudged, observed=comparison.observed)
    page.lines.append(page.paint.dim("intervals and P(better) are for these tasks, tried again"))
    page.gap()
    name = _every_name(comparison.figures, observed=comparison.observed)
    page.entry("verdict", _verdict(comparison.figures.first))
    if comparison.sharpening:
        page.entry("", f"{comparison.sharpening}: {name} rose while pass@{comparison.figures.k} fell")
    page.tasks("gained", name, comparison.gained)
    page.tasks("lost", name, comparison.lost)
    page.tags(comparison.by_tag)
    page.gap()
    page.costs(comparison.base_cost, comparison.new_cost)
    if {task.task for task in base.tasks} != {task.task for task in new.tasks}:
        page.lines.append(page.paint.dim(WHOLE))
    return page.lines


def mismatch_lines(found: Sequence[Mismatch], *, width: int) -> list[str]:
    """Why two campaigns are not compared, and how they can be all the same."""
    lines = ["the campaigns did not ask the same question:"]
    for one in found:
        lines += [f"  {line}" for line in wrap(escape(one.line), width - 2)]
    if not all(one.can_be_allowed for one in found):
        return lines
    keys = " ".join(f"--allow {key}" for key in dict.fromkeys(one.key for one in found))
    return [*lines, f"compare them all the same with {keys}; the result says so"]


def table(rows: Sequence[Sequence[str]], *, paint: Paint) -> list[str]:
    """Lines with the first column on the left and all others on the right; the first row is the head."""
    widths = [max(width_of(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [" " * (wide - width_of(cell)) + cell for cell, wide in zip(row[1:], widths[1:], strict=True)]
        line = "  ".join([pad(row[0], max(widths[0], _LABEL - 2)), *cells]).rstrip()
        lines.append(line if number else paint.bold(line))
    return lines


class _Page:
    def __init__(self, width: int, paint: Paint) -> None:
        self.lines: list[str] = []
        self.width = width
        self.paint = paint

    def gap(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def entry(self, label: str, text: str) -> None:
        lines = wrap(text, self.width - _LABEL)
        self.lines.append(self.paint.bold(pad(label, _LABEL)) + lines[0])
        self.lines += [" " * _LABEL + line for line in lines[1:]]

    def figures(self, figures: Figures, *, observed: bool) -> None:
        rows: list[Sequence[str]] = [("", "base", "new", "points", "95 % interval", "P(better)", "tasks")]
        found = {"pass@1": figures.first}
        if figures.k > 1:
            found[f"pass@{figures.k}"] = figures.at_k
            found[_every_name(figures, observed=observed)] = figures.every
        rows += [_row(name, one) for name, one in found.items()]
        self.lines += table(rows, paint=self.paint)
        if figures.first.new_tasks is not None and figures.first.tasks >= FEWEST:
            for name, one in found.items():
                if one.new_tasks is not None:
                    self.entry("", f"{name} for new tasks like these: {_points_span(one.new_tasks)} points")

    def tasks(self, label: str, name: str, tasks: Sequence[str]) -> None:
        if not tasks:
            return
        where = "new only" if label == "gained" else "base only"
        self.entry(label, f"{plural(len(tasks), 'task')} passed every attempt ({name}) in {where}")
        shown = shorten_all([escape(task) for task in tasks], self.width - _LABEL)
        self.lines += [" " * _LABEL + task for task in shown[:_LISTED]]
        if len(shown) > _LISTED:
            self.lines.append(" " * _LABEL + f"and {len(shown) - _LISTED} more")

    def tags(self, by_tag: dict[str, OfTag]) -> None:
        if not by_tag:
            return
        self.gap()
        rows: list[Sequence[str]] = [("tag", "tasks", "base", "new", "points", "95 % interval")]
        for tag, found in by_tag.items():
            one = found.first
            cells = (share(one.base), share(one.new), _points(one.difference), _points_span(one.interval))
            if one.of < FEWEST:
                cells = (_counts(found.base), _counts(found.new), "", "")
            rows.append((cut(escape(tag), 20), str(one.of), *cells))
        self.lines += table(rows, paint=self.paint)
        if any(found.first.of < FEWEST for found in by_tag.values()):
            self.lines.append(self.paint.dim(f"tags with fewer than {FEWEST} tasks: counts only"))

    def costs(self, base: Cost, new: Cost) -> None:
        if not base.ledgers and not new.ledgers:
            self.entry("cost", "none, no model was asked")
            return
        rows: list[Sequence[str]] = [("cost", "base", "new", "change")]
        for role in ROLES:
            before, after = (_of_role(one, role) for one in (base, new))
            if any(ledger.role == role for one in (base, new) for ledger in one.ledgers):
                rows.append((role, money(before), money(after), change(before, after)))
        rows.append(("total", money(base.total), money(new.total), change(base.total, new.total)))
        for name, before, after in (
            ("agent, per attempt", base.per_attempt, new.per_attempt),
            ("agent, per passed attempt", base.per_pass, new.per_pass),
            ("agent, per reliable task", base.per_reliable, new.per_reliable),
        ):
            rows.append((name, money(before), money(after), change(before, after)))
        self.lines += table(rows, paint=self.paint)
        self.lines.append(self.paint.dim(f"{NOTICE}; invalid tries included"))


def _campaign(side: Side) -> str:
    info = side.info
    total = pooled(tasks=side.tasks)
    model = f", model {escape(info.model)}" if info.model else ""
    text = (
        f"{escape(info.campaign)}, agent {escape(info.agent)}{model}: {total.passed}/{total.valid} passed, "
    )
    text += f"{total.valid} of {total.requested} valid, {passed_every_attempt(reliable(tasks=side.tasks))}"
    return text + (f"; partial: {escape(info.partial)}" if info.partial else "")


def _counts(total: Pooled) -> str:
    return f"{total.passed}/{total.valid}"


def _every_name(figures: Figures, *, observed: bool) -> str:
    return f"{figures.k}/{figures.k}" if observed else f"pass^{figures.k}"


def _row(name: str, one: Difference) -> tuple[str, ...]:
    return (
        name,
        share(one.base),
        share(one.new),
        _points(one.difference),
        _points_span(one.interval),
        _probability(one.better),
        f"{one.tasks}/{one.of}",
    )


def _points(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:+.2f}"


def _points_span(interval: Interval | None) -> str:
    return "n/a" if interval is None else f"{100 * interval[0]:+.2f} to {100 * interval[1]:+.2f}"


def _probability(value: float | None) -> str:
    if value is None:
        return "n/a"
    if value < _LEAST:
        return f"< {_LEAST}"
    return f"> {1 - _LEAST}" if value > 1 - _LEAST else f"{value:.3f}"


def _verdict(first: Difference) -> str:
    if first.difference is None:
        return "n/a: no task has a valid attempt in both"
    if not first.differs:
        return f"no difference of pass@1 shown ({_points(first.difference)} points)"
    word = "better" if first.difference > 0 else "worse"
    return f"new is {word}: pass@1 {_points(first.difference)} points, {_points_span(first.interval)}"


def _of_role(cost: Cost, role: str) -> float | None:
    return next((one.total for one in cost.ledgers if one.role == role), None)


def change(before: float | None, after: float | None) -> str:
    """By how much a sum rose or fell."""
    if before is None or after is None or not before:
        return "n/a"
    return f"{100 * (after / before - 1):+.1f} %"
