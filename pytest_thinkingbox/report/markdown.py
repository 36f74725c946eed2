"""The summary as Markdown, as a job on GitHub shows it. All that others wrote is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo
from pytest_thinkingbox.report.causes import failure_causes, invalid_causes
from pytest_thinkingbox.report.cost import cost_texts
from pytest_thinkingbox.report.data import campaign_cost
from pytest_thinkingbox.report.text import cut, escape
from pytest_thinkingbox.report.tokens import token_texts
from pytest_thinkingbox.report.words import (
    FEWEST,
    passed_every_attempt,
    plural,
    share,
    span,
    tasks_with,
    valid,
)
from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.intervals import jeffreys, new_tasks, these_tasks
from pytest_thinkingbox.stats.suite import by_tag, mean_pass_at_k, mean_pass_hat_k, pooled, reliable
from pytest_thinkingbox.stats.verdict import Verdict

_SPECIAL = re.compile(r"([!-/:-@\[-`{-~])")
"""ASCII punctuation: CommonMark lets each be escaped, and then none of it means anything."""
_ROWS = 100  # tasks in the table, those that failed most often first; GitHub takes a megabyte
_CAUSES = 2


def markdown_report(*, rows: Sequence[AttemptRow], info: CampaignInfo, verdict: Verdict) -> str:
    """Verdict, gates, figures, tasks, tags and cost."""
    tasks = verdict.tasks
    holds = {0: "holds", 1: "fails", 8: "broke"}[verdict.exit_status]
    model = f", model {plain(info.model)}" if info.model else ""
    lines = [
        f"## thinkingbox: {holds}",
        "",
        f"Campaign {plain(info.campaign)}, agent {plain(info.agent)}{model}.",
    ]
    if info.partial:
        lines.append(f"**Partial**: {plain(info.partial)}; figures cover the attempts that ran.")
    lines += ["", *(f"* gate {plain(one.line)}" for one in verdict.gates)]
    gates = {one.line for one in verdict.gates}
    lines += [f"* exit {verdict.exit_status}: {plain(one)}" for one in verdict.reasons if one not in gates]
    if tasks:
        lines += ["", *_figures(tasks), "", *_tasks(tasks, rows), *_tags(tasks)]
    lines += ["", "### Cost", ""]
    lines += [f"* tokens, {plain(text)}" for text in token_texts(rows, agent=info.agent)]
    cost = campaign_cost(rows=rows, info=info, verdict=verdict)
    lines += [f"* {plain(text)}" for text in cost_texts(cost)]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Text that stays text, in a table too."""
    return _SPECIAL.sub(r"\\\1", escape(text))


def _figures(tasks: Sequence[TaskCounts]) -> list[str]:
    total, first, observed = pooled(tasks=tasks), mean_pass_at_k(tasks=tasks, k=1), reliable(tasks=tasks)
    rows = [
        ("pass@1", share(first.mean), f"mean over {tasks_with(first)} tasks"),
        ("attempts", f"{total.passed}/{total.valid} passed", valid(total)),
    ]
    these, new = these_tasks(tasks=tasks), new_tasks(values=first.values)
    if these is not None:
        rows.append(("95 % interval", span(these), "these tasks"))
    if new is not None and len(first.values) >= FEWEST:
        rows.append(("95 % interval", span(new), "new tasks like these"))
    most = max(task.requested for task in tasks)
    if most > 1:
        at, hat = mean_pass_at_k(tasks=tasks, k=most), mean_pass_hat_k(tasks=tasks, k=most)
        rows.append((f"pass@{most}", share(at.mean), f"mean over {tasks_with(at)} tasks"))
        rows.append((f"pass^{most}", share(hat.mean), f"mean over {tasks_with(hat)} tasks"))
    rows.append((f"{most}/{most}", passed_every_attempt(observed), "observed on a finite sample"))
    return _table(("figure", "", ""), rows)


def _tasks(tasks: Sequence[TaskCounts], rows: Sequence[AttemptRow]) -> list[str]:
    of_task: dict[str, list[AttemptRow]] = {}
    for row in rows:
        of_task.setdefault(row.task, []).append(row)
    worst = sorted(tasks, key=lambda task: (task.valid > 0, task.passed / task.valid if task.valid else 0))
    cells = []
    for task in worst[:_ROWS]:
        interval = jeffreys(passed=task.passed, valid=task.valid)
        own = of_task.get(task.task, [])
        causes = [*failure_causes(own)[:_CAUSES], *invalid_causes(own)[:_CAUSES]]
        rate = "INVALID" if task.is_invalid else share(task.passed / task.valid)
        cells.append(
            (
                task.task,
                f"{task.passed}/{task.valid}" + (f", {task.missing} missing" if task.missing else ""),
                rate,
                span(interval) if interval else "n/a",
                "; ".join(f"{number}x {cut(reason, 160)}" for number, reason in causes),
            )
        )
    lines = ["### Tasks", "", *_table(("task", "passed/valid", "rate", "95 % interval", "why not"), cells)]
    if len(worst) > _ROWS:
        lines.append(f"\n{plural(len(worst) - _ROWS, 'more task')}, which failed less often")
    return lines


def _tags(tasks: Sequence[TaskCounts]) -> list[str]:
    groups = by_tag(tasks=tasks)
    if not groups:
        return []
    cells = []
    for tag, group in groups.items():
        total, figure = pooled(tasks=group), mean_pass_at_k(tasks=group, k=1)
        rate = share(figure.mean) if len(group) >= FEWEST else ""
        cells.append((tag, str(len(group)), f"{total.passed}/{total.valid}", rate))
    return ["", "### Tags", "", *_table(("tag", "tasks", "passed/valid", "pass@1"), cells)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(plain(cell) for cell in row)} |" for row in (head, *rows)]
    return [lines[0], "|---" * len(head) + "|", *lines[1:]]
