"""The summary of a campaign for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from pathlib import Path

from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo
from pytest_thinkingbox.report.cost import cost_texts
from pytest_thinkingbox.report.data import campaign_cost
from pytest_thinkingbox.report.paint import Paint
from pytest_thinkingbox.report.table import task_table
from pytest_thinkingbox.report.text import escape, pad, shorten_all, wrap
from pytest_thinkingbox.report.tokens import token_texts
from pytest_thinkingbox.report.words import (
    FEWEST,
    asked_for,
    passed_every_attempt,
    plural,
    share,
    span,
    tasks_with,
    valid,
    without_no_change,
)
from pytest_thinkingbox.stats.counts import TaskCounts, judged_tasks
from pytest_thinkingbox.stats.intervals import jeffreys, new_tasks, these_tasks
from pytest_thinkingbox.stats.suite import (
    by_tag,
    mean_pass_at_k,
    mean_pass_hat_k,
    pooled,
    reliable,
)
from pytest_thinkingbox.stats.verdict import Verdict

_LABEL = 10  # columns of the labels on the left
_NARROWEST = 60  # columns below which the table would not say anything any more
_LISTED = 5  # names in a list before the rest is only counted


def summary_lines(
    *,
    rows: Sequence[AttemptRow],
    info: CampaignInfo,
    verdict: Verdict,
    folder: Path | None = None,
    width: int = 80,
    color: bool = False,
) -> list[str]:
    """The lines, without line ends; with ANSI colours when `color`. `folder` is where the records are."""
    width = max(width, _NARROWEST)
    page = _Page(width, Paint(color))
    _campaign(page, info, [*verdict.tasks, *verdict.xfail_tasks])
    if verdict.tasks:
        page.gap()
        page.lines += task_table(tasks=verdict.tasks, rows=rows, width=width, paint=page.paint)
        page.gap()
        _figures(page, verdict.tasks, rows)
        _tags(page, verdict.tasks)
    if verdict.xfail_tasks:
        page.gap()
        page.lines.append("expected to fail (xfail), in no figure and in no gate:")
        page.lines += task_table(tasks=verdict.xfail_tasks, rows=rows, width=width, paint=page.paint)
    page.gap()
    _tokens_and_time(page, rows, info.agent, asked=bool(info.options.get("faults")))
    _cost(page, rows, info, verdict)
    if folder is not None:
        page.entry("records", escape(str(folder)))
    _verdict(page, verdict, info.partial)
    return page.lines


class _Page:
    """Lines with a label on the left."""

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


def _campaign(page: _Page, info: CampaignInfo, tasks: Sequence[TaskCounts]) -> None:
    model = f", model {escape(info.model)}" if info.model else ""
    page.entry(
        "campaign",
        f"{escape(info.campaign)}, agent {escape(info.agent)}{model}, {asked_for(tasks)}",
    )


def _figures(page: _Page, tasks: Sequence[TaskCounts], rows: Sequence[AttemptRow]) -> None:
    total = pooled(tasks=tasks)
    first = mean_pass_at_k(tasks=tasks, k=1)
    invalid = f", {first.not_available} INVALID" if first.not_available else ""
    over = f"mean over {len(first.values)} of {plural(first.of, 'task')}{invalid}"
    page.entry("pass@1", f"{share(first.mean)} ({over})")
    page.entry("", f"{total.passed}/{total.valid} passed, {valid(total)}")
    found = {"these tasks": these_tasks(tasks=tasks)}
    if len(first.values) >= FEWEST:
        found["new tasks like these"] = new_tasks(values=first.values)
    for name, interval in found.items():
        if interval is not None:
            page.entry("", f"95 % interval for {name}: {span(interval)}")
    _by_k(page, tasks)
    _observed(page, tasks)
    _unjudged(page, tasks, rows)
    _no_change(page, tasks)


def _by_k(page: _Page, tasks: Sequence[TaskCounts]) -> None:
    most = max(task.requested for task in tasks)
    columns = [k for k in sorted({1, 2, 5, 10, most}) if k <= most]
    if len(columns) == 1:
        return
    at = [mean_pass_at_k(tasks=tasks, k=k) for k in columns]
    hat = [mean_pass_hat_k(tasks=tasks, k=k) for k in columns]
    page.gap()
    for label, cells in (
        ("k", [str(k) for k in columns]),
        ("pass@k", [share(one.mean) for one in at]),
        ("pass^k", [share(one.mean) for one in hat]),
        ("of tasks", [tasks_with(one) for one in at]),
    ):
        page.lines.append(page.paint.bold(pad(label, _LABEL)) + "".join(f"{cell:>9}" for cell in cells))
    short = [(k, one.not_available) for k, one in zip(columns, at, strict=True) if one.not_available]
    if short:
        missing = ", ".join(f"k={k} for {plural(number, 'task')}" for k, number in short)
        page.entry("", f"n/a: {missing}, with fewer than k valid attempts")
    page.gap()


def _observed(page: _Page, tasks: Sequence[TaskCounts]) -> None:
    figure = reliable(tasks=tasks)
    asked = {task.requested for task in tasks}
    name = f"{asked.pop()}" if len(asked) == 1 else "n"
    page.entry(f"{name}/{name}", passed_every_attempt(figure))
    fewest = min((task.requested for task in tasks if task.reliable), default=0)
    lower = jeffreys(passed=fewest, valid=fewest)
    if lower is not None:
        page.entry(
            "", f"on a finite sample: {fewest} of {fewest} show a chance of {lower[0]:.3f} or more (95 %)"
        )
    if figure.unsettled:
        names = shorten_all(
            [escape(task) for task in figure.unsettled],
            page.width - _LABEL - len("unsettled:  (10000 of 10000 valid)"),
        )
        counts = {task.task: f"{task.valid} of {task.requested} valid" for task in tasks}
        for short, task in list(zip(names, figure.unsettled, strict=True))[:_LISTED]:
            page.entry("", f"unsettled: {short} ({counts[task]})")
        if len(names) > _LISTED:
            page.entry("", f"unsettled: {len(names) - _LISTED} more")


def _unjudged(page: _Page, tasks: Sequence[TaskCounts], rows: Sequence[AttemptRow]) -> None:
    judged = judged_tasks(rows)
    rest = [task for task in tasks if task.task not in judged]
    if not judged:
        return
    first = mean_pass_at_k(tasks=rest, k=1)
    page.entry(
        "judged",
        f"{plural(len(tasks) - len(rest), 'task')} asked the judge; pass@1 without them {share(first.mean)} "
        f"({tasks_with(first)} tasks), {passed_every_attempt(reliable(tasks=rest))}",
    )


def _no_change(page: _Page, tasks: Sequence[TaskCounts]) -> None:
    if text := without_no_change(tasks):
        page.entry("no_change", text)


def _tags(page: _Page, tasks: Sequence[TaskCounts]) -> None:
    groups = by_tag(tasks=tasks)
    if not groups:
        return
    names = shorten_all([escape(tag) for tag in groups], 20)
    column = max(len("tag"), *(len(name) for name in names))
    page.gap()
    page.lines.append(page.paint.bold(f"{pad('tag', column)}  tasks  passed/valid   pass@1"))
    for name, group in zip(names, groups.values(), strict=True):
        total = pooled(tasks=group)
        line = f"{pad(name, column)}  {len(group):>5}  {f'{total.passed}/{total.valid}':>12}"
        if len(group) >= FEWEST:
            figure = mean_pass_at_k(tasks=group, k=1)
            interval = new_tasks(values=figure.values)
            line += f"  {share(figure.mean):>7}  {span(interval) if interval else ''}"
        page.lines.append(line.rstrip())
    if any(len(group) < FEWEST for group in groups.values()):
        page.lines.append(page.paint.dim(f"tags with fewer than {FEWEST} tasks: counts only"))


def _tokens_and_time(page: _Page, rows: Sequence[AttemptRow], agent: str, *, asked: bool) -> None:
    """`asked` says that the campaign has faults of its own."""
    for label, text in zip(("tokens", "", ""), token_texts(rows, agent=agent), strict=False):
        page.entry(label, text)
    if rows:
        seconds = sum(row.seconds for row in rows)
        calls = sum(row.tool_calls for row in rows)
        again = sum(row.tries - 1 for row in rows)
        text = f"{seconds:,.1f} s in {plural(len(rows), 'attempt')}, {seconds / len(rows):.2f} s each"
        text += f", {plural(calls, 'tool call')}"
        page.entry("time", text + (f", {again} tries played again" if again else ""))
        hit = sum(row.faults for row in rows)
        if hit or asked:
            text = f"{hit:,} of {plural(calls, 'tool call')} went wrong on purpose"
            page.entry("faults", text if hit else f"{text}: --tb-faults fits no call that was made")


def _cost(page: _Page, rows: Sequence[AttemptRow], info: CampaignInfo, verdict: Verdict) -> None:
    label = "cost"
    for text in cost_texts(campaign_cost(rows=rows, info=info, verdict=verdict)):
        page.entry(label, text)
        label = ""


def _verdict(page: _Page, verdict: Verdict, partial: str | None) -> None:
    colors = {"holds": page.paint.green, "fails": page.paint.red}
    for gate in verdict.gates:
        color = colors.get(gate.status, page.paint.yellow)
        lines = wrap(escape(gate.line), page.width - _LABEL)
        page.lines.append(page.paint.bold(pad("gate", _LABEL)) + color(lines[0]))
        page.lines += [" " * _LABEL + color(line) for line in lines[1:]]
    if verdict.partial:
        page.entry("partial", "not every attempt was run; figures cover those that were")
        if partial is not None:
            page.entry("", escape(partial))
    gate_lines = {gate.line for gate in verdict.gates}
    for reason in verdict.reasons:
        if reason not in gate_lines:
            page.entry(f"exit {verdict.exit_status}", escape(reason))
    if verdict.exit_status and not verdict.gates and any(task.failed for task in verdict.tasks):
        page.entry("", "with a gate, failed attempts are figures instead of a red run; paste:")
        page.lines.append(f"pytest --tb-min-pass-rate={_suggested(verdict.tasks):g}")


def _suggested(tasks: Sequence[TaskCounts]) -> float:
    """A minimum that today's agent would hold: below the interval, in steps of 0.05; 0.5 where nothing passes."""
    interval = these_tasks(tasks=tasks)
    low = interval[0] if interval else 0.0
    return floor(low * 20) / 20 or 0.5
