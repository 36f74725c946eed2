"""`thinkingbox merge`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import add_color, add_command, has_color, width

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands


def add(commands: Commands) -> None:
    parser = add_command(commands, "merge", run, help="make one campaign of its shards")
    parser.add_argument("target", metavar="TARGET", type=Path, help="the new campaign's folder")
    parser.add_argument(
        "shards",
        metavar="SHARD",
        type=Path,
        nargs="+",
        help="the folder of a shard, or a folder of campaigns",
    )
    add_color(parser)


def run(options: argparse.Namespace) -> int:
    """Put the records of shards (pytest --tb-shard=I/N) into one new campaign, and judge it: exit status 0 when its
    gates hold, 1 when they do not or attempts failed without a gate, 8 when the campaign broke or is not whole.
    """
    from pytest_thinkingbox.records.merge import merge
    from pytest_thinkingbox.records.store import find_campaign
    from pytest_thinkingbox.report.reading import stored_verdict
    from pytest_thinkingbox.report.terminal import summary_lines
    from pytest_thinkingbox.stats.verdict import BROKE

    folder = merge([find_campaign(path) for path in options.shards], options.target)
    info = folder.read_info()
    rows = folder.read_rows()
    verdict = stored_verdict(info=info, rows=rows, path=folder.path)
    for line in summary_lines(
        rows=rows,
        info=info,
        verdict=verdict,
        folder=folder.path,
        width=width(),
        color=has_color(options.color),
    ):
        print(line)
    # Nobody chose what a merge leaves out, as -k or --lf choose: without a gate it would be green.
    return BROKE if info.partial and not verdict.exit_status else verdict.exit_status
