"""Shards of one campaign, played on several machines, become the campaign."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.records.model import CampaignInfo, Hashes
from pytest_thinkingbox.records.resume import JUDGED_WITH, mismatches
from pytest_thinkingbox.records.running import Running
from pytest_thinkingbox.records.shards import Shard, planned_of
from pytest_thinkingbox.records.store import CampaignFolder

DATABASES = "databases"
_RULINGS = "judge.jsonl"


class CannotMerge(ThinkingboxError):
    """These folders are not shards of one campaign; the message names both sides."""


def merge(paths: Sequence[Path], target: Path) -> CampaignFolder:
    """A new campaign in `target` that holds every record of these shards. Raises CannotMerge, and then makes nothing.

    Where shards or attempts are missing, or did not end, the campaign is partial and can be resumed.
    """
    if target.exists():
        raise CannotMerge(f"{target}: there is something already; name a folder that is not there")
    folders = [CampaignFolder.open(path) for path in paths]
    infos = [_whole(folder) for folder in folders]
    by_number = _numbered(folders, infos)
    for other, folder in zip(infos[1:], folders[1:], strict=True):
        _check_same(infos[0], other, first=folders[0], second=folder)
    building = target.with_name(f".{target.name}.merging")
    shutil.rmtree(building, ignore_errors=True)
    try:
        info = _described(target.name, infos, by_number)
        merged = CampaignFolder.create(building, info)
        for number, folder in sorted(by_number.items()):
            _copy(folder, merged, shard=replace(Shard.parse(str(infos[0].shard)), number=number))
        if info.partial is None:
            merged.write_info(_counted(info, merged))
        building.rename(target)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return CampaignFolder.open(target)


def _whole(folder: CampaignFolder) -> CampaignInfo:
    try:
        Running(folder.path, alone=True).close()
    except BlockingIOError:
        raise CannotMerge(f"{folder.path} is still being worked on; wait until it ends") from None
    info = folder.read_info()
    if info.shard is None:
        raise CannotMerge(f"{folder.path} is no shard: it was played without --tb-shard")
    return info


def _numbered(folders: Sequence[CampaignFolder], infos: Sequence[CampaignInfo]) -> dict[int, CampaignFolder]:
    found: dict[int, CampaignFolder] = {}
    for folder, info in zip(folders, infos, strict=True):
        shard = Shard.parse(str(info.shard))
        if shard.number in found:
            raise CannotMerge(f"{folder.path} and {found[shard.number].path} are both shard {shard}")
        found[shard.number] = folder
    return found


def _check_same(
    one: CampaignInfo, other: CampaignInfo, *, first: CampaignFolder, second: CampaignFolder
) -> None:
    differing = mismatches(one, replace(other, shard=one.shard))
    if Shard.parse(str(one.shard)).of != Shard.parse(str(other.shard)).of:
        differing.append(f"--tb-shard: {one.shard} and {other.shard} are cut differently")
    differing += [  # those of one shard would decide for all
        f"--tb-{name.replace('_', '-')}: {before!r} and {after!r}"
        for name in ("min_pass_rate", *JUDGED_WITH)
        if (before := _judged_with(one, name)) != (after := _judged_with(other, name))
    ]
    for task in one.tasks.keys() & other.tasks.keys():
        if one.tasks[task] != other.tasks[task]:
            differing.append(f"{task}: {one.tasks[task]} and {other.tasks[task]} attempts")
        if one.task_hashes.get(task) != other.task_hashes.get(task):
            differing.append(f"{task}: its prompt, environment or checker is not the same")
    for name in one.environments.keys() & other.environments.keys():
        seeds = {one.environments[name].seed, other.environments[name].seed} - {None}
        if len(seeds) > 1:
            differing.append(f"environment {name}: the seeds differ")
    if differing:
        raise CannotMerge(
            "\n  ".join([f"{first.path} and {second.path} are no shards of one campaign:", *differing])
        )


def _judged_with(info: CampaignInfo, name: str) -> Any:
    if name == "min_pass_rate":
        return info.min_pass_rate
    value = info.options.get(name)
    # Where the baseline lies differs from machine to machine.
    return Path(value).name if name == "baseline" and value is not None else value


def _described(
    name: str, infos: Sequence[CampaignInfo], by_number: dict[int, CampaignFolder]
) -> CampaignInfo:
    of = Shard.parse(str(infos[0].shard)).of
    missing = [str(number) for number in range(1, of + 1) if number not in by_number]
    reasons = [f"shard {info.shard}: {info.partial}" for info in infos if info.partial is not None]
    reasons += [
        f"shard {info.shard} was killed" for info in infos if info.partial is None and info.finished is None
    ]
    if missing:
        reasons.append(f"shards {', '.join(missing)} of {of} are missing")
    environments: dict[str, Hashes] = {}
    for info in infos:
        for environment, hashes in info.environments.items():
            known = environments.get(environment)
            environments[environment] = hashes if known is None or known.seed is None else known
    return replace(
        infos[0],
        campaign=name,
        created=min(info.created for info in infos),
        shard=None,
        tasks={task: number for info in infos for task, number in info.tasks.items()},
        environments=environments,
        task_hashes={task: hashes for info in infos for task, hashes in info.task_hashes.items()},
        partial="; ".join(reasons) or None,
        finished=None if reasons else max(str(info.finished) for info in infos),
    )


def _counted(info: CampaignInfo, merged: CampaignFolder) -> CampaignInfo:
    """Partial where a shard ended without some of its attempts: it was run with a part of the suite."""
    missing = set(planned_of(info.tasks, None)) - {(row.task, row.attempt) for row in merged.read_rows()}
    if not missing:
        return info
    return replace(info, partial=f"{len(missing)} attempts are in no shard", finished=None)


def _copy(source: CampaignFolder, target: CampaignFolder, *, shard: Shard) -> None:
    """Records as they are, with the name of the shard's own campaign; kept databases; what the judge answered."""
    for record in source.read_records():
        if not shard.holds(record.task, record.attempt):
            raise CannotMerge(f"{source.records_path}: {record.key} is no attempt of shard {shard}")
        target.append(record)
    if (source.path / DATABASES).is_dir():
        shutil.copytree(source.path / DATABASES, target.path / DATABASES, dirs_exist_ok=True)
    if (source.path / _RULINGS).is_file():
        with (target.path / _RULINGS).open("ab") as rulings:
            rulings.write((source.path / _RULINGS).read_bytes())
