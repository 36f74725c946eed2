"""Which tasks a policy can learn from, and which of them it must never see: functions of counts and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_thinkingbox.episodes.seeds import derive_seed
from pytest_thinkingbox.selection.contents import TEMPLATE, template_of
from pytest_thinkingbox.stats.difficulty import Band, band, band_masses

Rule = Literal["full", "lora"]
RULES: dict[Rule, tuple[Band, ...]] = {"full": ("hard", "middle", "often"), "lora": ("hard", "middle")}
"""The bands that a method of training keeps."""

Split = Literal["train", "validation", "held-out", "unseen"]
"""`held-out` are tasks of templates that are trained on, `unseen` those of templates that are not."""
Reason = Literal["excluded", "unsolved", "too few", "band"]
"""Why a task is in no split: on an exclusion list; solved by no reference; too few valid probes; in no band that
the rule keeps. The last two only keep a task from training and validation."""

MIN_VALID = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A task with its probes counted."""

    task: str
    tags: tuple[str, ...] = ()
    requested: int
    passed: int
    valid: int
    invalid: int

    @property
    def template(self) -> str:
        return template_of(self.task, self.tags)

    @property
    def stratum(self) -> tuple[str, ...]:
        return tuple(sorted(tag for tag in self.tags if not tag.startswith(TEMPLATE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """`validation` and `held_out` are shares of the tasks of the templates that are trained on, `unseen` of the
    templates."""

    validation: float
    held_out: float
    unseen: float

    def __post_init__(self) -> None:
        for name in ("validation", "held_out", "unseen"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise ValueError(f"{name}={value}: must be from 0 to below 1")
        if self.validation + self.held_out >= 1:
            raise ValueError(
                f"validation={self.validation} and held_out={self.held_out} leave nothing to train on"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What became of a candidate: `place` is the split that it was drawn for, `reason` why it is not in it.

    `masses` is the posterior mass of each band under Beta(c + 1/2, n - c + 1/2), `band` the one with most of it;
    None without a valid probe.
    """

    candidate: Candidate
    place: Split | None
    reason: Reason | None
    band: Band | None
    masses: Mapping[Band, float]

    @property
    def split(self) -> Split | None:
        """The split that the task is in."""
        return None if self.reason is not None else self.place


def select(
    candidates: Sequence[Candidate],
    *,
    rule: Rule,
    min_valid: int,
    shares: Shares,
    seed: int,
    excluded: Collection[str] = (),
    solvable: Collection[str] | None = None,
) -> list[Chosen]:
    """Draw the splits, then keep of training and validation what the rule keeps; in the order of the candidates.

    The draw comes first and looks at no probe, so that what is held out is not chosen by how the policy did.
    `solvable` are the tasks that a reference solved, None when none was asked.
    """
    reasons: dict[str, Reason] = {}
    for one in candidates:
        if one.task in excluded:
            reasons[one.task] = "excluded"
        elif solvable is not None and one.task not in solvable:
            reasons[one.task] = "unsolved"
    places = split([one for one in candidates if one.task not in reasons], shares=shares, seed=seed)
    return [
        _chosen(one, reasons.get(one.task), places.get(one.task), rule=rule, min_valid=min_valid)
        for one in candidates
    ]


def _chosen(
    one: Candidate, reason: Reason | None, place: Split | None, *, rule: Rule, min_valid: int
) -> Chosen:
    found = band(passed=one.passed, valid=one.valid)
    if place in ("train", "validation"):
        if one.valid < min_valid:
            reason = "too few"
        elif found not in RULES[rule]:
            reason = "band"
    masses = band_masses(passed=one.passed, valid=one.valid) if one.valid else {}
    return Chosen(candidate=one, place=place, reason=reason, band=found, masses=masses)


def split(candidates: Sequence[Candidate], *, shares: Shares, seed: int) -> dict[str, Split]:
    """A place for every task, the same for the same seed. Of all tasks of a template, and of all that share their
    tags in it, each split gets its share, give or take one or two."""
    by_template: dict[str, list[Candidate]] = {}
    for one in candidates:
        by_template.setdefault(one.template, []).append(one)
    unseen = _unseen(by_template, share=shares.unseen, seed=seed)
    places: dict[str, Split] = {one.task: "unseen" for template in unseen for one in by_template[template]}
    wanted: dict[Split, float] = {
        "train": 1 - shares.validation - shares.held_out,
        "validation": shares.validation,
        "held-out": shares.held_out,
    }
    given: Counter[Split] = Counter()
    seen = [one for template, tasks in by_template.items() if template not in unseen for one in tasks]
    # Along the order of templates and tags, the next task goes where most is missing.
    for number, one in enumerate(sorted(seen, key=lambda one: _order(one, seed)), start=1):
        place = max(wanted, key=lambda name: wanted[name] * number - given[name])
        given[place] += 1
        places[one.task] = place
    return places


def _order(one: Candidate, seed: int) -> tuple[str, int, int]:
    # The order of tags is another one in each template: else the first of them would always round the same way.
    return (
        one.template,
        derive_seed("tags", seed, one.template, *one.stratum),
        derive_seed("split", seed, one.task),
    )


def _unseen(by_template: Mapping[str, Sequence[Candidate]], *, share: float, seed: int) -> set[str]:
    """Templates drawn evenly along their tags: those that all tasks of a template have."""

    def order(template: str) -> tuple[list[str], int]:
        common = set.intersection(*(set(one.stratum) for one in by_template[template]))
        return sorted(common), derive_seed("templates", seed, template)

    ordered = sorted(by_template, key=order)
    if share == 0 or len(ordered) < 2:
        return set()
    number = max(1, round(share * len(ordered)))  # whoever asks for some gets some
    step = len(ordered) / number
    first = derive_seed("first template", seed) % 1000 / 1000 * step
    return {ordered[int(first + step * place)] for place in range(number)}


def of_split(chosen: Iterable[Chosen], name: Split) -> list[Chosen]:
    return [one for one in chosen if one.split == name]
