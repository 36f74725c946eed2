"""What reports and gates are made from, read from campaigns' folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo
from pytest_thinkingbox.records.shards import requested_of
from pytest_thinkingbox.records.store import CampaignFolder, find_campaign
from pytest_thinkingbox.stats.campaign import Side, make_side, mismatches, side_of
from pytest_thinkingbox.stats.gates import Baseline, GateOptions
from pytest_thinkingbox.stats.verdict import Verdict, decide

DEFAULT_MAX_DROP = 0.05


def as_left(info: CampaignInfo) -> CampaignInfo:
    """What nobody ended is partial: what was not played may yet say something else."""
    if info.finished is None and info.partial is None:
        return replace(info, partial="it was killed, or still runs")
    return info


def read_side(path: Path) -> Side:
    """A campaign's folder, or the latest one of a folder of campaigns. Raises BrokenRecords."""
    folder = CampaignFolder.open(find_campaign(path))
    return side_of(info=as_left(folder.read_info()), records=folder.read_records())


def gate_options(
    *,
    path: Path,
    min_pass_rate: float | None,
    min_reliable: float | None,
    baseline: Path | None,
    max_drop: float,
) -> GateOptions:
    """The gates of the campaign in `path`, with its baseline read."""
    against = None if baseline is None else _baseline(baseline, path, max_drop)
    return GateOptions(min_pass_rate=min_pass_rate, min_reliable=min_reliable, baseline=against)


def stored_gates(info: CampaignInfo, *, path: Path) -> GateOptions:
    """The gates that a campaign was run with."""
    baseline, max_drop = info.options.get("baseline"), info.options.get("max_drop")
    return gate_options(
        path=path,
        min_pass_rate=info.min_pass_rate,
        min_reliable=info.options.get("min_reliable"),
        baseline=None if baseline is None else Path(baseline),
        max_drop=DEFAULT_MAX_DROP if max_drop is None else float(max_drop),
    )


def _baseline(path: Path, own: Path, max_drop: float) -> Baseline:
    try:
        base = read_side(path)
        refusals = refusals_of(base=base, new=read_side(own))
    except (ThinkingboxError, OSError) as error:
        return Baseline(campaign=path.name, max_drop=max_drop, refusals=(str(error),))
    return Baseline(campaign=base.info.campaign, max_drop=max_drop, tasks=base.tasks, refusals=refusals)


def refusals_of(*, base: Side, new: Side) -> tuple[str, ...]:
    """Why `base` is no baseline of `new`; empty when it is one."""
    lines = [one.line for one in mismatches(base=base, new=new)]
    if base.info.partial:
        lines.append(f"the baseline is partial: {base.info.partial}")
    return tuple(lines)


def refused_before(info: CampaignInfo, *, baseline: Path) -> tuple[str, ...]:
    """What is known to be wrong with a baseline before anything was played and paid for."""
    base = as_left(CampaignFolder.open(baseline).read_info())
    sides = [make_side(info=one, rows=(), seeds={}) for one in (base, info)]
    return refusals_of(base=sides[0], new=sides[1])


def verdict_of(
    *,
    info: CampaignInfo,
    rows: Sequence[AttemptRow],
    requested: Mapping[str, int],
    gates: GateOptions,
    ordinary_failures: int,
    partial: bool,
) -> Verdict:
    """The verdict; for a shard without the gates, which ask about the whole campaign."""
    if info.shard is not None:  # failed attempts of tasks under a gate are figures all the same
        gates = GateOptions(min_pass_rate=0.0 if gates.any else None)
        rows = [row if row.min_pass_rate is None else replace(row, min_pass_rate=0.0) for row in rows]
    verdict = decide(
        rows=rows,
        requested=requested,
        gates=gates,
        ordinary_failures=ordinary_failures,
        partial=partial,
    )
    return verdict if info.shard is None else replace(verdict, gates=())


def stored_verdict(*, info: CampaignInfo, rows: Sequence[AttemptRow], path: Path) -> Verdict:
    """The verdict of the campaign in `path`, from its records alone: of other tests nothing is stored."""
    return verdict_of(
        info=info,
        rows=rows,
        requested=requested_of(info.tasks, info.shard),
        gates=stored_gates(info, path=path),
        ordinary_failures=0,
        partial=info.partial is not None,
    )
