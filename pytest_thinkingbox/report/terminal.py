"""The summary of a campaign for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo
from pytest_thinkingbox.report.text import bar, escape, pad, percent, shorten_all
from pytest_thinkingbox.stats.verdict import Verdict


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
    tasks = [*verdict.tasks, *verdict.xfail_tasks]
    names = shorten_all([escape(task.task) for task in tasks], width - 38)
    lines = []
    for name, task in zip(names, tasks, strict=True):
        share = task.passed / task.valid if task.valid else 0.0
        figures = f"{task.passed}/{task.valid}".rjust(7)
        rate = percent(share) if task.valid else "INVALID"
        invalid = f"{task.invalid} invalid" if task.invalid else ""
        lines.append(f"{pad(name, width - 38)} {figures} {bar(share, 10)} {rate:>7} {invalid}".rstrip())
    lines += [gate.line for gate in verdict.gates]
    if folder is not None:
        lines.append(f"records: {folder}")
    return lines
