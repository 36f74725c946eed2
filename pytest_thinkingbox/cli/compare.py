"""`thinkingbox compare`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import add_color, add_command, add_prices, has_color, prices_of, width

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands


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
    add_prices(parser)
    add_color(parser)


def run(options: argparse.Namespace) -> list[str] | int:
    """Compare campaigns over the same tasks: figures paired by task, tasks gained and lost, cost.

    Refused (exit status 2) when they did not ask the same question.
    """
    from pytest_thinkingbox.report.compare import comparison_lines, mismatch_lines
    from pytest_thinkingbox.report.leaderboard import leaderboard_lines
    from pytest_thinkingbox.report.reading import read_side
    from pytest_thinkingbox.stats.campaign import mismatches
    from pytest_thinkingbox.stats.compare import compare, leaderboard

    sides = [read_side(path) for path in (options.base, *options.new)]
    found = list(dict.fromkeys(one for side in sides[1:] for one in mismatches(base=sides[0], new=side)))
    if unallowed := [one for one in found if one.key not in options.allow]:
        print("\n".join(mismatch_lines(unallowed, width=width())), file=sys.stderr)
        return 2
    color = has_color(options.color)
    prices = prices_of(options)
    if len(sides) == 2:
        comparison = compare(base=sides[0], new=sides[1], prices=prices, allowed=found)
        return comparison_lines(comparison, width=width(), color=color)
    standings = leaderboard(sides=sides, prices=prices)
    return leaderboard_lines(standings, allowed=found, width=width(), color=color)
