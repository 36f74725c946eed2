"""`thinkingbox prove`: two ordinary runs of pytest, the second planned from what the first one saw."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.proof.compare import Effects
from pytest_thinkingbox.proof.judge import SuiteProof, Survey, TaskProof, judge, survey_of, without_reading
from pytest_thinkingbox.proof.model import Plan, PlayedCall, TaskPlan
from pytest_thinkingbox.proof.mutations import mutations_of, untried_tools
from pytest_thinkingbox.proof.notes import read_notes
from pytest_thinkingbox.proof.report import as_json, lines_of
from pytest_thinkingbox.proof.tamper import keys_of
from pytest_thinkingbox.records.model import AttemptRecord, CampaignInfo, shallow
from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.state.claims import Changes
from pytest_thinkingbox.state.model import RowChange

_USAGE = 4
_NO_WORKERS = "unrecognized arguments: -n"
_BROKE = (2, 3, _USAGE)
"""Exit statuses of pytest that mean that the run itself went wrong."""
_NOTHING = 5
"""That of a run without tests."""
_CLOSING = 60.0
"""Seconds that an interrupted pytest gets to end."""
_SHOWN = 60
"""Lines of its output that are shown then."""


def prove(
    arguments: Sequence[str], *, directory: Path, min_score: float, cwd: Path | None = None, width: int = 100
) -> int:
    """Prove the suite that these arguments of pytest select, and print what was found.

    Exit status 0 when it holds, 1 when it does not, 2 when pytest could not run it. What was played stays in
    `directory`/prove.
    """
    started = time.monotonic()
    folder = _new_folder(directory)
    try:
        proof = _prove(arguments, folder, cwd or Path.cwd(), started)
    except _RunBroke as broke:
        print(broke, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"thinkingbox: interrupted; what was played so far is in {folder}", file=sys.stderr)
        return 2
    data = as_json(proof, min_score=min_score)
    (folder / "proof.json").write_text(json.dumps(data, indent=1), encoding="ascii")
    for line in lines_of(proof, min_score=min_score, width=width):
        print(line)
    print(f"records   {folder}")
    telling = [one for task in proof.tasks for one in task.mutants if one.fate in ("survived", "broken")]
    for campaign in (folder / "mutants").glob("*/campaign.json"):
        for one in telling[:1]:
            print(f"one whole thinkingbox show {campaign.parent} {shlex.quote(one.name)}")
    return 0 if proof.holds(min_score) else 1


class _RunBroke(ThinkingboxError):
    """pytest could not run the suite; the message ends with what it said."""


def _prove(arguments: Sequence[str], folder: Path, cwd: Path, started: float) -> SuiteProof:
    notes = folder / "notes"
    notes.mkdir()
    print("thinkingbox: playing every solution twice, and an agent that does nothing", flush=True)
    info, records = _run("survey", Plan(notes=notes), arguments, folder, cwd)
    surveys = [survey_of(task, records.get(task, {}), read_notes(notes, task)) for task in info.tasks]
    plans = _plans(surveys)
    total = sum(len(one.attempts) for one in plans.values())
    played: Mapping[str, Mapping[int, AttemptRecord]] = {}
    if total:
        print(f"thinkingbox: playing {total} mutants of {len(plans)} solutions", flush=True)
        _, played = _run("mutants", Plan(notes=notes, tasks=plans), arguments, folder, cwd)
    proofs = [_judged(one, plans, played) for one in surveys]
    return SuiteProof(
        tasks=without_reading(proofs, plans),
        skipped=[task for task in info.task_hashes if task not in info.tasks],
        seconds=time.monotonic() - started,
        attempts=total + sum(len(one) for one in records.values()),
        hashes={task: shallow(one) for task, one in info.task_hashes.items()},
    )


def _judged(
    survey: Survey, plans: Mapping[str, TaskPlan], played: Mapping[str, Mapping[int, AttemptRecord]]
) -> TaskProof:
    plan = plans.get(survey.task)
    if plan is None:
        return TaskProof(task=survey.task, problems=survey.problems, no_change=survey.no_change)
    proof = judge(survey, plan, played.get(survey.task, {}))
    if not survey.no_change:
        return proof
    assert survey.notes is not None
    remarks = [*proof.remarks]
    untried = untried_tools(survey.notes, _writes(plans.values()))
    if untried:
        remarks.append(f"not tried: {', '.join(untried)}: no solution of the suite says with what arguments")
    fates: dict[str, set[str]] = {}
    for one in proof.mutants:
        if one.mutation.kind == "extra":
            fates.setdefault(one.mutation.tool, set()).add(one.fate)
    refused = [tool for tool, seen in fates.items() if seen == {"refused"}]
    if refused:
        remarks.append(
            f"not tried: {', '.join(refused)}: what the solutions of other tasks call is refused here"
        )
    return replace(proof, remarks=remarks)


def _writes(plans: Iterable[TaskPlan]) -> list[PlayedCall]:
    return [call for plan in plans for call in plan.calls]


def _plans(surveys: Sequence[Survey]) -> dict[str, TaskPlan]:
    """Of every task whose solution did its work."""
    plans: dict[str, TaskPlan] = {}
    for survey in surveys:
        if survey.effects is None or survey.notes is None:
            continue
        known = [
            call
            for other in surveys
            if other.notes is not None and other.notes.environment == survey.notes.environment
            for call in other.calls
        ]
        changes = Changes(survey.effects.diff, survey.notes.rules)
        touched: dict[str, list[tuple[object, ...]]] = {}
        for change in changes:
            if isinstance(change, RowChange):
                touched.setdefault(change.table, []).append(change.key or ())
        plans[survey.task] = TaskPlan(
            attempts=mutations_of(
                survey.calls,
                survey.notes,
                known=known,
                touched=touched,
                sinks=_sinks(survey.effects),
                no_change=survey.no_change,
            ),
            calls=survey.calls,
            final=survey.final,
            touched=keys_of(touched),
        )
    return plans


def _sinks(effects: Effects) -> list[Literal["mail", "request", "file"]]:
    found: list[tuple[Literal["mail", "request", "file"], object]] = [
        ("mail", effects.mail),
        ("request", effects.http),
        ("file", effects.files),
    ]
    return [kind for kind, received in found if received is not None]


def _run(
    name: str, plan: Plan, arguments: Sequence[str], folder: Path, cwd: Path
) -> tuple[CampaignInfo, dict[str, dict[int, AttemptRecord]]]:
    """Play a plan; the deciding record of every attempt by task and number."""
    plan_path = folder / f"{name}.plan.json"
    plan.write(plan_path)
    log = folder / f"{name}.log"
    own = [f"--tb-proof-plan={plan_path}", f"--tb-dir={folder / name}", "--maxfail=0"]
    status = _pytest([*_on_all_cores(arguments), *arguments, *own], log, cwd)
    if status == _USAGE and _NO_WORKERS in _said(log):  # an ini file keeps pytest-xdist out
        status = _pytest([*arguments, *own], log, cwd)
    found = [path.parent for path in (folder / name).glob("*/campaign.json")]
    if status == _NOTHING:
        return CampaignInfo(campaign=name, created="", agent="proof"), {}
    if status in _BROKE or not found:
        lines = _said(log).splitlines()[-_SHOWN:]
        raise _RunBroke("\n".join([*lines, f"thinkingbox: pytest could not run the suite (status {status})"]))
    campaign = CampaignFolder.open(found[0])
    records: dict[str, dict[int, AttemptRecord]] = {}
    for record in campaign.read_records():
        if record.final:
            records.setdefault(record.task, {})[record.attempt] = record
    return campaign.read_info(), records


def _pytest(arguments: Sequence[str], log: Path, cwd: Path) -> int:
    # Whether a checker fails is asked here, a thousand times; nobody reads how it would explain itself.
    quiet = ["--tb=no", "-q", "-s", "-p", "no:cacheprovider", "--assert=plain"]
    command = [sys.executable, "-m", "pytest", *quiet, *arguments]
    with (
        log.open("wb") as output,
        subprocess.Popen(command, cwd=cwd, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        try:
            return process.wait()
        except KeyboardInterrupt:  # pytest has heard it too: let it close what it opened
            process.wait(timeout=_CLOSING)
            raise
        finally:
            process.kill()


def _said(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


def _on_all_cores(arguments: Sequence[str]) -> list[str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    kept_out = "no:xdist" in (*arguments, *os.environ.get("PYTEST_ADDOPTS", "").split())
    if cores == 1 or kept_out or find_spec("xdist") is None:
        return []
    return ["-n", str(cores), "--tb-concurrency", str(max(8, 4 * cores))]


def _new_folder(directory: Path) -> Path:
    """Below `directory`, which git is told to ignore."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder = directory.absolute() / "prove" / f"{stamp}-{secrets.token_hex(3)}"
    folder.mkdir(parents=True)
    ignore = directory / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="ascii")
    return folder
