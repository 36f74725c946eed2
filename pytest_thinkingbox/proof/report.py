"""What a proof found, for people and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from pytest_thinkingbox.proof.judge import Fate, SuiteProof, TaskProof
from pytest_thinkingbox.state.code import printable

_FATES: tuple[Fate, ...] = ("killed", "survived", "equivalent", "refused")
_LINES = 8
"""Differences of a survivor that are printed."""
_CHARACTERS = 1_000
"""Of one of them."""


def lines_of(proof: SuiteProof, *, min_score: float, width: int = 100) -> list[str]:
    """The report: a row per task, then what is wrong with each, then the verdict."""
    lines = [*_table(proof.tasks), ""]
    for task in proof.tasks:
        lines += _findings(task, width)
    for name in proof.skipped:
        lines.append(f"skipped   {printable(name)}: its marks or fixtures skip it, so nothing is known of it")
    lines += _verdict(proof, min_score)
    return lines


def as_json(proof: SuiteProof, *, min_score: float) -> dict[str, Any]:
    """Everything, for programs: `holds` is the verdict."""
    return {
        "version": 1,
        "holds": proof.holds(min_score),
        "min_score": min_score,
        "score": proof.score,
        "attempts": proof.attempts,
        "seconds": round(proof.seconds, 3),
        "skipped": list(proof.skipped),
        "tasks": [
            {
                "task": task.task,
                "no_change": task.no_change,
                "score": task.score,
                "hashes": dict(proof.hashes.get(task.task, {})),
                "problems": list(task.problems),
                "remarks": list(task.remarks),
                "mutants": [
                    {
                        "kind": one.mutation.kind,
                        "attempt": one.attempt,
                        "name": one.name,
                        "fate": one.fate,
                        "words": one.words,
                        "unseen": list(one.unseen),
                        "detail": one.detail,
                    }
                    for one in task.mutants
                ],
            }
            for task in proof.tasks
        ],
    }


def _table(tasks: Sequence[TaskProof]) -> Iterator[str]:
    shared = _shared_folder([one.task for one in tasks])
    names = [printable(one.task.removeprefix(shared)) for one in tasks]
    head = f"task in {printable(shared)}" if shared else "task"
    longest = max(len(name) for name in [head, *names])
    yield f"{head:<{longest}}  {'  '.join(f'{fate:>{len(fate)}}' for fate in _FATES)}  score"
    for name, one in zip(names, tasks, strict=True):
        counts = "  ".join(f"{one.count(fate):>{len(fate)}}" for fate in _FATES)
        note = "  no change" if one.no_change else ""
        refused = "  REFUSED" if one.problems else ""
        yield f"{name:<{longest}}  {counts}  {_percent(one.score):>5}{note}{refused}"


def _shared_folder(tasks: Sequence[str]) -> str:
    """The folder that all of them are in, with its slash; "" when there is none."""
    folders = [task.partition("::")[0].rpartition("/")[0].split("/") for task in tasks]
    shared = [
        parts[0] for parts in takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False))
    ]
    return "".join(f"{part}/" for part in shared if part)


def _findings(task: TaskProof, width: int) -> list[str]:
    survivors = [one for one in task.mutants if one.fate == "survived"]
    if not (survivors or task.problems or task.remarks):
        return []
    lines = [printable(task.task)]
    for problem in dict.fromkeys(task.problems):
        lines += _wrapped(f"refused: {problem}", 2, width)
    for one in survivors:
        lines += _wrapped(f"survived: {one.words} (attempt {one.attempt})", 2, width)
        lines.append("    nobody checked that it left behind")
        for difference in one.unseen[:_LINES]:
            lines += _wrapped(difference, 6, width)
        if len(one.unseen) > _LINES:
            lines.append(f"      ... and {len(one.unseen) - _LINES} differences more")
    for remark in task.remarks:
        lines += _wrapped(remark, 2, width)
    return [*lines, ""]


def _wrapped(text: str, indent: int, width: int) -> list[str]:
    lines = text[:_CHARACTERS].splitlines() or [""]
    return [
        part
        for line in lines
        for part in textwrap.wrap(
            printable(line),
            max(width, 40),
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + 4),
            break_on_hyphens=False,
        )
    ]


def _verdict(proof: SuiteProof, min_score: float) -> list[str]:
    counts = {fate: proof.count(fate) for fate in _FATES}
    decided = counts["killed"] + counts["survived"]
    lines = [
        f"score     {_percent(proof.score)}: {counts['killed']} of {decided} mutants killed, "
        f"{counts['survived']} survived ({counts['equivalent']} did the same as the solution, "
        f"{counts['refused']} were refused by the tools)",
        f"time      {proof.seconds:.1f} s for {proof.attempts} attempts of {len(proof.tasks)} tasks",
    ]
    refused = sum(bool(one.problems) for one in proof.tasks)
    if not proof.tasks:
        lines.append("verdict   no task was found: nothing is proved")
    elif refused:
        lines.append(
            f"verdict   {refused} of {len(proof.tasks)} tasks are refused: do not test a model with them"
        )
    elif not proof.holds(min_score):
        lines.append(f"verdict   the score is below {min_score:g}: checkers miss what is listed above")
    else:
        lines.append("verdict   the checkers can be trusted")
    return lines


def _percent(score: float | None) -> str:
    if score is None:
        return "-"
    # Never rounded up to all of them.
    return "100 %" if score == 1 else f"{min(99, int(score * 100))} %"
