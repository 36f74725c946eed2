"""What a selection came to, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from pytest_thinkingbox.report.compare import table
from pytest_thinkingbox.report.paint import Paint
from pytest_thinkingbox.report.text import escape, wrap
from pytest_thinkingbox.report.words import plural
from pytest_thinkingbox.selection.contents import Contents, keys_of
from pytest_thinkingbox.selection.manifest import HELD, TRAINED, Manifest
from pytest_thinkingbox.selection.proofs import named
from pytest_thinkingbox.stats.campaign import Mismatch, Side
from pytest_thinkingbox.stats.cost import models_of
from pytest_thinkingbox.stats.difficulty import BANDS

_LABEL = 11
_MEANING = {
    "held-out": "templates that are trained on",
    "unseen": "templates that are not",
}
_KINDS = ("tools", "schemas", "policies", "templates")


def selection_lines(manifest: Manifest, *, width: int = 80, color: bool = False) -> list[str]:
    """The lines, without line ends."""
    page = _Page(width, Paint(color))
    tasks, settings = manifest.tasks, manifest.settings
    for one in manifest.probes:
        who = one.agent if one.model is None else f"{one.agent} {one.model}"
        partial = f", partial: {one.partial}" if one.partial else ""
        page.entry(
            "probe",
            f"{one.campaign}, {who}: {plural(one.tasks, 'task')}, {one.valid:,} of {one.requested:,} attempts valid, "
            f"{one.invalid:,} invalid{partial}",
        )
    page.entry(
        "rule", f"{settings.rule}: {', '.join(settings.bands)}; {settings.min_valid} valid probes or more"
    )
    gate = manifest.gate
    page.entry(
        "solvable",
        "not asked: neither --reference nor --proof was named"
        if gate is None
        else f"{gate.solved} of {plural(gate.of, 'task')}, by {gate.kind} {gate.name}",
    )
    page.gap()
    rows = [("", "drawn", "kept", "too few valid", "other bands")]
    for name in (*TRAINED, *HELD):
        drawn = [one for one in tasks if one.drawn == name]
        reasons = Counter(one.reason for one in drawn)
        trained = name in TRAINED
        rows.append(
            (
                name,
                str(len(drawn)),
                str(sum(one.split == name for one in drawn)),
                str(reasons["too few"]) if trained else "-",
                str(reasons["band"]) if trained else "-",
            )
        )
    page.lines += table(rows, paint=page.paint)
    counts = manifest.counts
    page.lines.append(
        f"of {plural(counts['probed'], 'task')} probed; {counts['out: excluded']} excluded, "
        f"{counts['out: unsolved']} solved by no reference"
    )
    for held, meaning in _MEANING.items():
        page.lines.append(page.paint.dim(f"{held}: {meaning}; whatever their band"))
    page.gap()
    bands = [("band", "pass rate", "drawn to train", "kept")]
    drawn_to_train = [one for one in tasks if one.drawn in TRAINED]
    for band, (low, high) in BANDS.items():
        here = [one for one in drawn_to_train if one.band == band]
        end = "]" if high == 1 else ")"
        kept = sum(one.split is not None for one in here)
        bands.append((str(band), f"[{low:.2f}, {high:.2f}{end}", str(len(here)), str(kept)))
    page.lines += table(bands, paint=page.paint)
    page.gap()
    benchmark = manifest.benchmark
    if benchmark is None:
        page.entry("benchmark", "NOT COMPARED: no --benchmark was named")
    else:
        page.entry(
            "benchmark",
            f"{' '.join(benchmark.arguments)}: {plural(len(benchmark.tasks), 'task')}; none of them, and no copy of "
            "one, is in the pool",
        )
        page.entry("shared", _kinds(manifest.shared))
    for told in manifest.demonstrations:
        page.entry(
            "told", f"{told.file}: {plural(told.conversations, 'conversation')}, nothing of what is evaluated"
        )
    return page.lines


def trained_on(manifest: Manifest, sides: Sequence[Side]) -> list[Mismatch]:
    """Tasks that a comparison says nothing about: they taught one of the agents, or are there to choose it."""
    tasks = dict.fromkeys(task for side in sides for task in side.info.tasks)
    kinds = [("trained", "were trained on", manifest.of("train"))]
    if any(side.info.purpose != "validation" for side in sides):
        kinds.append(("validation", "are there to choose a checkpoint", manifest.of("validation")))
    found = []
    for key, what, pool in kinds:
        here = [task for task in pool if task in tasks]
        if here:
            found.append(Mismatch(key=key, text=f"{len(here)} of {len(tasks)} tasks {what}: {named(here)}"))
    return found


def training_lines(manifest: Manifest, evaluated: Contents, sides: Sequence[Side]) -> list[str]:
    """What a comparison has in common with what was trained on, `key: text` each."""
    tasks = {task for side in sides for task in side.info.tasks}
    counts = [f"{len(tasks & set(manifest.of(split)))} {split}" for split in (*TRAINED, *HELD)]
    lines = [f"tasks: of {len(tasks)}, {', '.join(counts)}"]
    theirs = keys_of(evaluated)
    lines.append(
        _kinds(
            {
                kind: sorted(
                    manifest.contents[kind][key]
                    for key in manifest.contents[kind].keys() & theirs[kind].keys()
                )
                for kind in _KINDS
            }
        )
    )
    for role, what in (("user", "simulator"), ("judge", "judge")):
        mine = {
            one.options.get(f"{role}_model") or (one.model if role == "user" else None)
            for one in manifest.probes
        }
        new = {models_of(side.info)[role] for side in sides if role in side.roles}
        lines.append(f"{what}: {_same(mine - {None}, new - {None})}")
    return lines


def _same(mine: Collection[str | None], theirs: Collection[str | None]) -> str:
    both = sorted(str(one) for one in set(mine) & set(theirs))
    return ", ".join(both) if both else "none"


def _kinds(shared: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(
        f"{kind}: {len(shared[kind])} ({named(list(shared[kind]))})" if shared[kind] else f"{kind}: none"
        for kind in _KINDS
    )


class _Page:
    def __init__(self, width: int, paint: Paint) -> None:
        self.lines: list[str] = []
        self.width = width
        self.paint = paint

    def gap(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def entry(self, label: str, text: str) -> None:
        lines = wrap(escape(text), self.width - _LABEL)
        self.lines.append(self.paint.bold(label.ljust(_LABEL)) + lines[0])
        self.lines += [" " * _LABEL + line for line in lines[1:]]
