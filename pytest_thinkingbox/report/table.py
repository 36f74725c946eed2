"""The table of tasks: one row a task, below it why attempts failed or are invalid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from pytest_thinkingbox.records.model import AttemptRow
from pytest_thinkingbox.report.causes import failure_causes, invalid_causes
from pytest_thinkingbox.report.paint import Paint
from pytest_thinkingbox.report.text import bar, cut, escape, pad, percent, shorten_all
from pytest_thinkingbox.stats.counts import TaskCounts

_BAR = 10
_CAUSES = 3  # reasons below a task, of failures and of invalid attempts each; the rest is counted


def task_table(
    *, tasks: Sequence[TaskCounts], rows: Sequence[AttemptRow], width: int, paint: Paint
) -> list[str]:
    """Tasks by file, `passed/valid`, a bar, the rate and the number of invalid attempts."""
    of_task: dict[str, list[AttemptRow]] = {}
    for row in rows:
        of_task.setdefault(row.task, []).append(row)
    figures = max(len(f"{task.passed}/{task.valid}") for task in tasks)
    notes = max((len(_note(task)) for task in tasks), default=0)
    columns = width - 2 - 1 - figures - 1 - _BAR - 1 - len("INVALID") - (1 + notes if notes else 0)
    names = dict(zip(tasks, shorten_all([_split(task.task)[1] for task in tasks], columns), strict=True))
    lines = [paint.bold(f"{'passed/valid':>{2 + columns + 1 + figures}}")]
    for file, group in groupby(tasks, key=lambda task: _split(task.task)[0]):
        if file:
            lines.append(paint.bold(cut(file, width)))
        for task in group:
            lines.append(_row(task, names[task], columns, figures, paint))
            lines += _causes(of_task.get(task.task, []), width, paint)
            if _is_suspect(task, of_task.get(task.task, [])):
                others = " while other tasks ran" if any(other.valid for other in tasks) else ""
                lines.append(paint.yellow(f"      every try broke{others}: suspected agent-caused"))
    return lines


def _split(task: str) -> tuple[str, str]:
    """A task's file and its name in there, safe to print."""
    file, separator, name = escape(task).partition("::")
    return (file, name) if separator else ("", file)


def _note(task: TaskCounts) -> str:
    not_run = task.missing - task.invalid
    parts = [(task.invalid, "invalid"), (not_run, "not run")]
    return ", ".join(f"{number} {what}" for number, what in parts if number > 0)


def _row(task: TaskCounts, name: str, columns: int, figures: int, paint: Paint) -> str:
    text = f"  {pad(name, columns)} {f'{task.passed}/{task.valid}':>{figures}}"
    note = f" {paint.yellow(_note(task))}" if _note(task) else ""
    if task.is_invalid:
        return f"{text} {' ' * _BAR} {paint.red('INVALID')}{note}"
    share = task.passed / task.valid
    color = paint.green if not task.failed else paint.red if not task.passed else paint.yellow
    return f"{text} {color(bar(share, _BAR))} {percent(share):>7}{note}"


def _is_suspect(task: TaskCounts, rows: Sequence[AttemptRow]) -> bool:
    """Whether it looks as if the agent itself brings the infrastructure down: it never held for this task."""
    return task.is_invalid and bool(rows) and all(row.cause == "infrastructure" for row in rows)


def _causes(rows: Sequence[AttemptRow], width: int, paint: Paint) -> list[str]:
    lines = [
        *_counted(failure_causes(rows), "failed for other reasons"),
        *_counted(invalid_causes(rows), "invalid for other reasons"),
    ]
    return [paint.dim(cut(line, width)) for line in lines]


def _counted(found: Sequence[tuple[int, str]], others: str) -> list[str]:
    lines = [f"    {f'{number}x':>4} {escape(reason)}" for number, reason in found[:_CAUSES]]
    if rest := sum(number for number, _ in found[_CAUSES:]):
        lines.append(f"    {f'{rest}x':>4} {others}")
    return lines
