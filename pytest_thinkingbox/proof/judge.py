"""From the records of a proof's two runs to what they say about each task's checker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pytest_thinkingbox.errors import TooAmbiguous
from pytest_thinkingbox.proof.compare import Effects, Reference
from pytest_thinkingbox.proof.model import Mutation, PlayedCall, TaskPlan
from pytest_thinkingbox.proof.notes import Notes
from pytest_thinkingbox.records.model import AttemptRecord, ToolCallRecord, first_line
from pytest_thinkingbox.state.codec import decode_diff

_OVER_STRICT = "fails although it did the same"

Fate = Literal[
    "killed",  # the checker failed it
    "survived",  # it did something else than the solution, and passed
    "equivalent",  # it did the same as the solution
    "refused",  # a tool refused what was different about it
    "broken",  # the checker raised something else than an AssertionError
    "unplayed",  # it could not be played: nothing is known
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A mutation and what became of it. `unseen` is what it did differently, for those that survived.

    `detail` says what went wrong, for those that are broken or unplayed. `attempt` is its number in the run,
    `name` the node id by which `thinkingbox show` finds it.
    """

    mutation: Mutation
    attempt: int
    fate: Fate
    words: str
    unseen: Sequence[str] = ()
    detail: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProof:
    """`problems` make a task refused whatever its score. `remarks` are what an author should know besides."""

    task: str
    mutants: Sequence[Mutant] = ()
    problems: Sequence[str] = ()
    remarks: Sequence[str] = ()
    no_change: bool = False

    def count(self, fate: Fate) -> int:
        return sum(one.fate == fate for one in self.mutants)

    @property
    def score(self) -> float | None:
        """Killed among killed and survived; None when there is neither."""
        return score_of(self.count("killed"), self.count("survived"))


def score_of(killed: int, survived: int) -> float | None:
    return killed / (killed + survived) if killed + survived else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What the first run says about a task: its solution twice, and an agent that does nothing."""

    task: str
    calls: Sequence[PlayedCall] = ()
    final: str = ""
    effects: Effects | None = None
    notes: Notes | None = None
    problems: Sequence[str] = ()
    no_change: bool = False


def survey_of(task: str, records: Mapping[int, AttemptRecord], notes: Notes | None) -> Survey:
    """Of the records of a task by attempt. Without `effects` its mutants cannot be judged."""
    problems: list[str] = []
    first = records.get(1)
    for number in (1, 2):
        problems += _of_solution(number, records.get(number))
    effects = None if first is None else effects_of(first)
    if first is None or effects is None or notes is None or problems:
        return Survey(task=task, problems=problems, no_change=first is not None and first.no_change)
    second = effects_of(records[2])
    if second is not None:
        problems += [
            f"the solution did not do the same when it was played again: {line}"
            for line in Reference(effects, notes.rules).differences(second)
        ]
    problems += _of_none(records.get(3), first)
    nothing = Effects(diff=decode_diff({"rows": [], "schema": []}), mail=())
    if not first.no_change and Reference(nothing, notes.rules).same(effects):
        problems.append(
            "the solution leaves no trace that could be checked: no row, no mail, no request, no file. Let "
            "the policy demand one (a note, a message), or say no_change=True"
        )
    return Survey(
        task=task,
        calls=[
            PlayedCall(tool=one.name, arguments=one.arguments, result=one.result, fault=one.fault)
            for one in first.tool_calls
        ],
        final=first.response or "Done.",
        effects=effects,
        notes=notes,
        problems=problems,
        no_change=first.no_change,
    )


def _of_solution(number: int, record: AttemptRecord | None) -> list[str]:
    if record is None:
        return [f"the solution was not played (attempt {number} has no record)"]
    if record.outcome == "passed":
        return []
    why = f"{record.cause}: {record.detail}" if record.cause else record.detail
    return [f"the solution does not pass: {why}"]


def _of_none(record: AttemptRecord | None, solution: AttemptRecord) -> list[str]:
    if record is None:
        return ["an agent that does nothing was not played"]
    if record.outcome == "invalid":
        return [f"the checker of an agent that does nothing: {record.cause}: {first_line(record.detail)}"]
    if record.outcome == "passed" and not solution.no_change:
        return ["an agent that does nothing passes"]
    return []


def effects_of(record: AttemptRecord) -> Effects | None:
    """None when no state was read."""
    if record.changes is None:
        return None
    return Effects(diff=decode_diff(record.changes), mail=record.mail, http=record.http, files=record.files)


def judge(survey: Survey, plan: TaskPlan, records: Mapping[int, AttemptRecord]) -> TaskProof:
    """What became of each mutant; those of tools that turned out to change nothing are left out."""
    problems = list(survey.problems)
    assert survey.effects is not None
    assert survey.notes is not None
    reference = Reference(survey.effects, survey.notes.rules)
    mutants: list[Mutant] = []
    for number, mutation in enumerate(plan.attempts, start=1):
        record = records.get(number)
        mutant = _judge_one(reference, plan, mutation, number, record)
        if mutation.kind == "claim":
            if (
                mutant.fate in ("survived", "equivalent")
                and record is not None
                and record.outcome == "passed"
            ):
                problems.append("an agent that only claims success passes")
                continue
            if mutant.fate == "killed":
                continue
        if mutant.fate == "equivalent" and mutation.kind in ("mail", "request", "file", "neighbour"):
            continue  # there was no row that could be changed
        mutants.append(mutant)
    problems += [
        f"the checker raised on a mutant ({one.words}): {one.detail}"
        for one in mutants
        if one.fate == "broken"
    ]
    problems += [f"not played ({one.words}): {one.detail}" for one in mutants if one.fate == "unplayed"]
    return TaskProof(
        task=survey.task,
        mutants=mutants,
        problems=problems,
        remarks=_over_strict(mutants),
        no_change=survey.no_change,
    )


def _over_strict(mutants: Sequence[Mutant]) -> list[str]:
    found = [one for one in mutants if one.detail == _OVER_STRICT]
    if not found:
        return []
    return [
        f"{len(found)} of {sum(one.fate == 'equivalent' for one in mutants)} mutants that did the same as the "
        f"solution fail all the same: the checker looks at more than what was done ({found[0].words})"
    ]


def _judge_one(
    reference: Reference, plan: TaskPlan, mutation: Mutation, number: int, record: AttemptRecord | None
) -> Mutant:
    words = mutation.words(plan.calls)

    def is_(fate: Fate, *, unseen: Sequence[str] = (), detail: str = "") -> Mutant:
        return Mutant(
            mutation=mutation,
            attempt=number,
            fate=fate,
            words=words,
            unseen=unseen,
            detail=detail,
            name="" if record is None else record.key,
        )

    if record is None:
        return is_("unplayed", detail="there is no record of it")
    if record.outcome == "invalid":
        detail = first_line(record.detail)
        return is_("broken" if record.cause == "checker" else "unplayed", detail=f"{record.cause}: {detail}")
    effects = effects_of(record)
    assert effects is not None  # whatever was judged has a state
    failed = record.outcome == "failed"
    try:
        same = reference.same(effects)
    except TooAmbiguous as error:
        return is_("killed") if failed else is_("survived", unseen=[str(error)])
    # A call that a fault hit was not refused: it may have committed.
    refused = any(
        one.error and not one.fault for one in _different_calls(mutation, record.tool_calls, len(plan.calls))
    )
    if refused and (failed or same):
        return is_("refused")
    if same:
        return is_("equivalent", detail=_OVER_STRICT if failed else "")
    return is_("killed") if failed else is_("survived", unseen=reference.differences(effects))


def _different_calls(
    mutation: Mutation, played: Sequence[ToolCallRecord], number: int
) -> list[ToolCallRecord]:
    """The calls of the attempt that the solution, which makes `number` calls, does not make, or not there."""
    match mutation.kind:
        case "alter" | "omit":
            places = [mutation.at]
        case "repeat":
            places = [mutation.at + 1]
        case "swap":
            places = [mutation.at, mutation.other]
        case "move":
            places = [1 if mutation.at == number else len(played)]
        case "extra":
            places = [len(played)]
        case _:
            places = []
    return [played[place - 1] for place in places if 0 < place <= len(played)]


def without_reading(proofs: Sequence[TaskProof], plans: Mapping[str, TaskPlan]) -> list[TaskProof]:
    """Without what was tried on calls of tools that changed nothing wherever they were left out.

    Such a tool reads, although its server does not say so: that other arguments make no difference is no news.
    """
    effective: dict[str, bool] = {}
    for proof in proofs:
        for one in proof.mutants:
            if one.mutation.kind == "drop":
                tool = plans[proof.task].calls[one.mutation.at - 1].tool
                effective[tool] = effective.get(tool, False) or one.fate != "equivalent"
    reading = {tool for tool, is_effective in effective.items() if not is_effective}

    def is_news(proof: TaskProof, one: Mutant) -> bool:
        calls = plans[proof.task].calls
        about = {calls[at - 1].tool for at in (one.mutation.at, one.mutation.other) if at}
        return not (about & reading) or one.fate not in ("equivalent", "refused")

    return [replace(proof, mutants=[one for one in proof.mutants if is_news(proof, one)]) for proof in proofs]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteProof:
    """All tasks, in the order of the suite. `skipped` were not played because of their marks."""

    tasks: Sequence[TaskProof]
    skipped: Sequence[str] = ()
    seconds: float = 0.0
    attempts: int = 0
    hashes: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)

    def count(self, fate: Fate) -> int:
        return sum(one.count(fate) for one in self.tasks)

    @property
    def score(self) -> float | None:
        return score_of(self.count("killed"), self.count("survived"))

    def holds(self, min_score: float) -> bool:
        """Whether every task can be trusted: no problem, and a score of at least `min_score` over all mutants."""
        score = self.score
        return (
            bool(self.tasks)
            and not any(one.problems for one in self.tasks)
            and (score is None or score >= min_score)
        )
