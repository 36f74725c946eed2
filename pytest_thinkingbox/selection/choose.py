"""From probes, a gate and a benchmark to the manifest of a pool."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.records.model import Hashes, shallow
from pytest_thinkingbox.selection.contents import Contents, contamination, keys_of, only_ids, shared
from pytest_thinkingbox.selection.demonstrations import Told, told_too_much
from pytest_thinkingbox.selection.manifest import (
    HELD,
    TRAINED,
    Benchmark,
    Demonstrations,
    Entry,
    Gate,
    Manifest,
    Settings,
    Source,
)
from pytest_thinkingbox.selection.pool import RULES, Candidate, Chosen, Rule, Shares, select
from pytest_thinkingbox.selection.probes import (
    Campaign,
    candidates_of,
    changed_since,
    hashes_of_probes,
    solved_by,
)
from pytest_thinkingbox.selection.proofs import Proof, named

_SHOWN = 10  # contaminated tasks named in an error
_SHARED = ("tools", "schemas", "policies", "templates")
_OPTIONS = (
    "temperature", "extra_body", "user_model", "user_prompt", "judge_model", "judge_prompt", "backend", "timeout",
    "faults", "api",
)  # fmt: skip


class Contaminated(ConfigurationError):
    """Something to be trained on is, or tells, something that is to be evaluated."""


def choose(
    probes: Sequence[Campaign],
    *,
    suite: Contents,
    rule: Rule,
    min_valid: int,
    shares: Shares,
    seed: int,
    excluded: Sequence[str] = (),
    reference: Campaign | None = None,
    proof: Proof | None = None,
    benchmark: tuple[Sequence[str], Contents] | None = None,
    told: Sequence[Told] = (),
) -> Manifest:
    """`suite` are the tasks as they are today, `excluded` patterns of ids, `benchmark` pytest's arguments and what they
    collect. Raises Contaminated, and ConfigurationError for whatever does not fit together."""
    candidates, hashes = candidates_of(probes), hashes_of_probes(probes)
    today = {task: one.hashes for task, one in suite.tasks.items()}
    changed = changed_since({one.task: hashes[one.task] for one in candidates}, today)
    if changed:
        raise ConfigurationError(
            f"{len(changed)} of {len(candidates)} tasks were changed or removed since they were probed: "
            f"{named(changed)}. Probe the suite as it is"
        )
    listed = only_ids(excluded, beside=None)
    out = {
        one.task
        for one in candidates
        if listed.has(one.task) or any(fnmatch.fnmatchcase(one.task, each) for each in excluded)
    }
    gate = _gate(candidates, hashes, probes=probes, reference=reference, proof=proof)
    chosen = select(
        candidates,
        rule=rule,
        min_valid=min_valid,
        shares=shares,
        seed=seed,
        excluded=out,
        solvable=None if gate is None else gate[1],
    )
    pool = suite.only(one.candidate.task for one in chosen if one.split in TRAINED)
    held = suite.only(one.candidate.task for one in chosen if one.split in HELD)
    against = Contents(worlds=(), tasks={}) if benchmark is None else benchmark[1]
    if benchmark is not None and not against.tasks:
        raise ConfigurationError(
            f"--benchmark {' '.join(benchmark[0])}: no task is there to hold the pool against"
        )
    found = contamination(pool, against)
    for one in told:
        found |= told_too_much(one, benchmark=against, held=held, pool=pool)
    _refuse(found)
    both = shared(pool, against)
    return Manifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        package=version("pytest-thinkingbox"),
        settings=Settings(
            rule=rule,
            bands=RULES[rule],
            min_valid=min_valid,
            validation=shares.validation,
            held_out=shares.held_out,
            unseen=shares.unseen,
            seed=seed,
        ),
        probes=tuple(_source(one) for one in probes),
        gate=None if gate is None else gate[0],
        excluded=tuple(excluded),
        benchmark=None
        if benchmark is None
        else Benchmark(arguments=tuple(benchmark[0]), tasks=tuple(benchmark[1].tasks)),
        demonstrations=tuple(
            Demonstrations(file=one.path.name, digest=one.digest, conversations=len(one.conversations))
            for one in told
        ),
        counts=_counts(chosen),
        tasks=tuple(_entry(one, hashes[one.candidate.task]) for one in chosen),
        contents=keys_of(pool),
        shared={kind: tuple(both[kind]) for kind in _SHARED},
    ).sealed()


def _gate(
    candidates: Sequence[Candidate],
    hashes: Mapping[str, Hashes],
    *,
    probes: Sequence[Campaign],
    reference: Campaign | None,
    proof: Proof | None,
) -> tuple[Gate, frozenset[str]] | None:
    tasks = {one.task for one in candidates}
    if reference is not None:
        solved = solved_by(reference, probes) & tasks
        model = reference.side.info.model or reference.side.info.agent
        gate = Gate(
            kind="reference",
            name=f"{model}, campaign {reference.side.info.campaign}",
            digest=reference.digest,
            solved=len(solved),
            of=len(tasks),
        )
        return gate, solved
    if proof is not None:
        mine = {
            task: {kind: one for kind, one in shallow(hashes[task]).items() if kind != "seed"}
            for task in tasks
            if task in proof.tasks
        }
        stale = [task for task, one in mine.items() if proof.complaints({task: one}, min_score=0.0)]
        solved = (proof.solved & tasks) - set(stale)
        gate = Gate(
            kind="proof", name=str(proof.path), digest=proof.digest, solved=len(solved), of=len(tasks)
        )
        return gate, solved
    return None


def _refuse(found: Mapping[str, Sequence[str]]) -> None:
    if not found:
        return
    lines = [f"  {name}: {reasons[0]}" for name, reasons in list(found.items())[:_SHOWN]]
    if len(found) > _SHOWN:
        lines.append(f"  and {len(found) - _SHOWN} more")
    raise Contaminated(
        f"{len(found)} would teach what the benchmark asks; nothing was written:\n"
        + "\n".join(lines)
        + "\nTake them out with --exclude, or choose another benchmark"
    )


def _source(probe: Campaign) -> Source:
    info, tasks = probe.side.info, probe.side.tasks
    return Source(
        campaign=info.campaign,
        created=info.created,
        agent=info.agent,
        model=info.model,
        seed=info.seed,
        partial=info.partial,
        tasks=len(tasks),
        requested=sum(one.requested for one in tasks),
        valid=sum(one.valid for one in tasks),
        invalid=sum(one.invalid for one in tasks),
        options={name: info.options[name] for name in _OPTIONS if name in info.options},
        records=probe.digest,
    )


def _entry(one: Chosen, hashes: Hashes) -> Entry:
    candidate = one.candidate
    return Entry(
        task=candidate.task,
        template=candidate.template,
        tags=candidate.tags,
        split=one.split,
        drawn=one.place,
        reason=one.reason,
        requested=candidate.requested,
        passed=candidate.passed,
        valid=candidate.valid,
        invalid=candidate.invalid,
        band=one.band,
        masses={name: round(mass, 6) for name, mass in one.masses.items()},
        hashes=shallow(hashes),
    )


def _counts(chosen: Sequence[Chosen]) -> dict[str, int]:
    splits = Counter(str(one.split) for one in chosen if one.split is not None)
    reasons = Counter(str(one.reason) for one in chosen if one.reason is not None)
    names = ("train", "validation", "held-out", "unseen")
    return {
        "probed": len(chosen),
        **{name: splits[name] for name in names},
        **{f"out: {reason}": reasons[reason] for reason in ("excluded", "unsolved", "too few", "band")},
    }


def read_exclusions(path: Path) -> list[str]:
    """Ids of tasks, or patterns of them, one in a line; what follows `# ` is a comment."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}") from None
    found = [line.partition("# ")[0].strip() for line in lines]
    return [line for line in found if line and line != "#"]
