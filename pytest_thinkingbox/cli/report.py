"""`thinkingbox report`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import add_color, add_command, add_folder, has_color, width

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands


def add(commands: Commands) -> None:
    parser = add_command(commands, "report", run, help="the summary of a campaign")
    add_folder(parser)
    add_color(parser)


def run(options: argparse.Namespace) -> list[str]:
    """Print the summary of a campaign from its records."""
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign
    from pytest_thinkingbox.report.terminal import summary_lines
    from pytest_thinkingbox.stats.gates import GateOptions
    from pytest_thinkingbox.stats.verdict import decide

    folder = CampaignFolder.open(find_campaign(options.folder))
    info = folder.read_info()
    rows = folder.read_rows()
    verdict = decide(
        rows=rows,
        requested=info.tasks,
        gates=GateOptions(min_pass_rate=info.min_pass_rate),
        ordinary_failures=0,
        partial=info.partial is not None,
    )
    return summary_lines(
        rows=rows,
        info=info,
        verdict=verdict,
        folder=folder.path,
        width=width(),
        color=has_color(options.color),
    )
