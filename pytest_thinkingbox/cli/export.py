"""`thinkingbox export`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import add_command, add_folder, write_parts

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands

FORMATS = ("thinkingbox-jsonl",)


def add(commands: Commands) -> None:
    parser = add_command(commands, "export", run, help="records in a format of others")
    add_folder(parser)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        required=True,
        help="thinkingbox-jsonl: result rows, for `tb agg` and its like",
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="default: standard output")


def run(options: argparse.Namespace) -> int:
    """Write the attempts of a campaign as the rows that another tool reads."""
    from pytest_thinkingbox.compat.export import rows_of
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign

    return write_parts(rows_of(CampaignFolder.open(find_campaign(options.folder))), options.output)
