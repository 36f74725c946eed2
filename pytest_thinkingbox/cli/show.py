"""`thinkingbox show`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import add_color, add_command, add_folder, has_color, width

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands


def add(commands: Commands) -> None:
    parser = add_command(commands, "show", run, help="all there is on one attempt")
    add_folder(parser)
    parser.add_argument(
        "attempt", metavar="ATTEMPT", help="its node id, or the end of it, such as 'test_refund[try3]'"
    )
    add_color(parser)


def run(options: argparse.Namespace) -> list[str]:
    """Print the conversation, tool calls, changes, mail and outcome of one attempt."""
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign
    from pytest_thinkingbox.report.show import show_lines

    folder = CampaignFolder.open(find_campaign(options.folder))
    tries = folder.find_attempt(options.attempt)
    lines = show_lines(tries=tries, width=width(), color=has_color(options.color))
    database = folder.kept_database(tries[0].task, tries[0].attempt)
    return lines if database is None else [*lines, f"  database: {database}"]
