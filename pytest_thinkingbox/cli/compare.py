"""`thinkingbox compare`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import (
    add_color,
    add_command,
    add_prices,
    files_of,
    has_color,
    prices_of,
    width,
)

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands
    from pytest_thinkingbox.selection.manifest import Manifest
    from pytest_thinkingbox.stats.campaign import Side


def add(commands: Commands) -> None:
    parser = add_command(
        commands, "compare", run, help="two campaigns side by side, or a leaderboard of more"
    )
    parser.add_argument("base", metavar="BASE", type=Path, help="a campaign's folder")
    parser.add_argument(
        "new", metavar="NEW", type=Path, nargs="+", help="one or more campaigns to compare with it"
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="KEY",
        help="compare although this differs, such as checkers or sampling; the result says so (repeatable)",
    )
    parser.add_argument(
        "--pool",
        metavar="POOL.json",
        type=Path,
        help="what was trained on, from `thinkingbox select`: prints what it shares with these tasks, refuses those "
        "that were trained on unless --allow trained, and notes in that file that its held-out tasks were looked at",
    )
    add_prices(parser)
    add_color(parser)


def run(options: argparse.Namespace) -> list[str] | int:
    """Compare campaigns over the same tasks: figures paired by task, tasks gained and lost, cost.

    Refused (exit status 2) when they did not ask the same question, and always when BASE is a probe.
    """
    from pytest_thinkingbox.report.compare import comparison_lines, mismatch_lines
    from pytest_thinkingbox.report.leaderboard import leaderboard_lines
    from pytest_thinkingbox.report.reading import read_side
    from pytest_thinkingbox.stats.campaign import mismatches
    from pytest_thinkingbox.stats.compare import compare, leaderboard

    sides = [read_side(path) for path in (options.base, *options.new)]
    found = list(dict.fromkeys(one for side in sides[1:] for one in mismatches(base=sides[0], new=side)))
    manifest = None
    if options.pool is not None:  # pydantic and what reads suites
        from pytest_thinkingbox.selection.lines import trained_on
        from pytest_thinkingbox.selection.manifest import read_manifest

        manifest = read_manifest(options.pool)
        found += trained_on(manifest, sides)
    if unallowed := [one for one in found if one.key not in options.allow or not one.can_be_allowed]:
        print("\n".join(mismatch_lines(unallowed, width=width())), file=sys.stderr)
        return 2
    trained = [] if manifest is None else _beside_training(options.pool, manifest, sides)
    color = has_color(options.color)
    prices = prices_of(options)
    if len(sides) == 2:
        comparison = compare(base=sides[0], new=sides[1], prices=prices, allowed=found)
        return [*comparison_lines(comparison, width=width(), color=color), *trained]
    standings = leaderboard(sides=sides, prices=prices)
    return [*leaderboard_lines(standings, allowed=found, width=width(), color=color), *trained]


def _beside_training(path: Path, manifest: Manifest, sides: Sequence[Side]) -> list[str]:
    from datetime import UTC, datetime

    from pytest_thinkingbox.report.words import plural
    from pytest_thinkingbox.rewards.contents import contents_of_suite
    from pytest_thinkingbox.selection.lines import training_lines
    from pytest_thinkingbox.selection.manifest import note_evaluations

    files = files_of([task for side in sides for task in side.info.tasks])
    lines = training_lines(manifest, contents_of_suite(files, cwd=Path.cwd()), sides)
    looked = [side.info.campaign for side in sides if manifest.looks_at_held_out(side.info.tasks)]
    noted = note_evaluations(path, looked, at=datetime.now(UTC).isoformat(timespec="seconds"))
    return [
        "",
        f"shared with the pool {path}, {len(manifest.of('train', 'validation'))} tasks:",
        *(f"  {line}" for line in lines),
        f"  held-out tasks were looked at in {plural(len(noted.evaluations), 'campaign')} so far",
    ]
