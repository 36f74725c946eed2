"""What `learning.py` prints and draws: base and trained policy on the same tasks, curves over episodes generated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _curves import Point, curves

from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.paired import pair_tasks, pass_at_k_difference, pass_rate_difference

PARTS = {
    "held": "new cases of trained templates",
    "unseen": "templates never trained on",
    "tuned": "neither: what settings are chosen by",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Seconds on the clock, and of CPU time, processes that have ended in it included."""

    name: str
    wall: float
    cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One training: counts are of the same held-out tasks. `probe` is what the pool's tasks were at when they were
    probed, which is no baseline. `probed_episodes` belong to the price of this variant."""

    seed: int
    variant: str
    pool: int
    trained_on: int
    probe: float
    probed_episodes: int
    generated: int
    """Episodes of the training: replaced, refilled and discarded ones and those that probed the pool again included."""
    hit: int
    """So many of these met an outage."""
    base: list[TaskCounts]
    trained: list[TaskCounts]
    steps: list[dict[str, Any]]
    curve: list[Point]
    """Of tasks that are neither trained on nor judged by, and that chose the end of the warm-up: episodes generated,
    pass@1."""
    seconds: list[Stage]


def in_steps(steps: Sequence[dict[str, Any]]) -> int:
    """Episodes generated in these steps."""
    return sum(int(one["episodes"]) + int(one.get("reprobe_episodes", 0)) for one in steps)


def result_of(written: dict[str, Any]) -> Result:
    """The inverse of `asdict`."""
    counts = {name: [TaskCounts(**one) for one in written[name]] for name in ("base", "trained")}
    curve = [(float(at), float(value)) for at, value in written["curve"]]
    return Result(
        **{**written, **counts, "curve": curve, "seconds": [Stage(**one) for one in written["seconds"]]}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    claimed: bool
    """Else it checks the mechanics, or tunes."""
    settings: dict[str, Any]
    reported: list[int]
    results: list[Result]


def report(run: Run, *, out: Path | None, as_json: bool) -> int:
    """Print and, with `out`, write everything. Exit status 1 when a claim of the full run does not hold."""
    lines = [_line(one, part) for one in run.results for part in (*PARTS, "all") if _of(one.base, part)]
    about = {
        "benchmark": "learning",
        "claimed": run.claimed,
        "reported_seeds": run.reported,
        "settings": run.settings,
    }
    claims = _claims(lines) if run.claimed else {}
    whole = {**about, "figures": lines, "claims": claims}
    if out is not None:
        results = [asdict(one) for one in run.results]
        (out / "learning.json").write_text(json.dumps({**whole, "results": results}, indent=1), "utf-8")
        _draw(run, out)
    if as_json:
        print(json.dumps(whole, indent=2))
    else:
        print(_table(lines))
        for text, held in claims.items():
            print(f"{'holds' if held else 'DOES NOT HOLD'}: {text}")
        if not run.claimed:
            print("whether everything fits together, or what to choose: nothing of this is a result")
    return 0 if all(claims.values()) else 1


CURVES = {
    "selection": {
        "selected": "selected by probes",
        "unselected": "without selection",
        "reprobed": "probed again",
    },
    "invalid": {
        "outage-refilled": "invalid: played again",
        "outage-more": "again, twice the limit",
        "outage-as-0": "invalid: counted as 0",
    },
}


def _draw(run: Run, out: Path) -> None:
    """A picture for each question that was asked."""
    for name, variants in CURVES.items():
        series = {
            label: lines
            for variant, label in variants.items()
            if (lines := [one.curve for one in run.results if one.variant == variant])
        }
        if series:
            picture = curves(
                series,
                title=f"pass@1 on tasks that are not trained on ({name})",
                x="episodes generated: probes, refilled and replaced ones included",
                y="pass@1",
            )
            (out / f"learning-{name}.svg").write_text(picture, encoding="utf-8")


def _line(result: Result, part: str) -> dict[str, Any]:
    base, trained = _of(result.base, part), _of(result.trained, part)
    pairs = pair_tasks(base=base, new=trained)
    first = pass_rate_difference(pairs=pairs)
    attempts = max((one.requested for one in base), default=1)
    at_k = pass_at_k_difference(pairs=pairs, k=attempts)
    return {
        "seed": result.seed,
        "variant": result.variant,
        "part": part,
        "tasks": first.tasks,
        "of": first.of,
        "attempts": attempts,
        "invalid": [sum(one.invalid for one in base), sum(one.invalid for one in trained)],
        "pass@1": [first.base, first.new],
        "difference": first.difference,
        "interval": first.interval,
        "interval, new tasks": first.new_tasks,
        "n/n": [sum(one.reliable for one in base), sum(one.reliable for one in trained)],
        "pass@k": [at_k.base, at_k.new],
        "pass@k interval": at_k.interval,
        "episodes": result.probed_episodes + result.generated,
        "hit": result.hit,
        "steps": len(result.steps),
    }


def _of(counts: Sequence[TaskCounts], part: str) -> list[TaskCounts]:
    return [one for one in counts if part == "all" or f"[{part}-" in one.task]


def _claims(lines: Sequence[dict[str, Any]]) -> dict[str, bool]:
    """Of the reference variant, over all held-out tasks, and over each part of them."""
    main = [one for one in lines if one["variant"] == "selected"]
    whole = [one for one in main if one["part"] == "all"]
    claims: dict[str, bool] = {}
    for one in main:
        where = f"seed {one['seed']}, {one['tasks']} tasks ({one['part']})"
        claims[f"{where}: the interval of the difference of pass@1 is above 0"] = (
            one["interval"] is not None and one["interval"][0] > 0
        )
    for one in whole:
        where = f"seed {one['seed']}"
        claims[f"{where}: the base's pass@1 is from 0.3 to 0.6"] = 0.3 <= (one["pass@1"][0] or 0.0) <= 0.6
        claims[f"{where}: the base solves at least 5 tasks in every attempt"] = one["n/n"][0] >= 5
    before, after = (sum(one["n/n"][side] for one in whole) for side in (0, 1))
    claims[f"tasks solved in every attempt at least doubled: {before} to {after}"] = after >= max(
        2 * before, 1
    )
    return claims


def _table(lines: Sequence[dict[str, Any]]) -> str:
    rows = [
        ("seed", "variant", "tasks", "pass@1", "difference (95 %)", "n/n", "pass@k", "invalid", "episodes")
    ]
    for one in lines:
        low, high = one["interval"] or (float("nan"),) * 2
        rows.append(
            (
                str(one["seed"]),
                one["variant"],
                f"{one['tasks']} {one['part']}",
                _two(one["pass@1"]),
                f"{one['difference'] or 0.0:+.3f} ({low:+.3f} to {high:+.3f})",
                f"{one['n/n'][0]} > {one['n/n'][1]} of {one['tasks']}",
                f"k={one['attempts']}: {_two(one['pass@k'])}",
                f"{one['invalid'][0]}, {one['invalid'][1]}",
                f"{one['episodes']:,}",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def _two(values: Sequence[float | None]) -> str:
    return " > ".join("n/a" if one is None else f"{one:.3f}" for one in values)
