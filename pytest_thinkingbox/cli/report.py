"""`thinkingbox report`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import (
    Result,
    add_color,
    add_command,
    add_folder,
    has_color,
    width,
    write_parts,
)

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands


def add(commands: Commands) -> None:
    parser = add_command(commands, "report", run, help="the summary of a campaign")
    add_folder(parser)
    add_color(parser)
    parser.add_argument(
        "--format", choices=("text", "html"), default="text", help="text for a terminal (default), or a page"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to this file instead")


def run(options: argparse.Namespace) -> Result:
    """Print the summary of a campaign from its records, or write it as one HTML file that needs no other."""
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign, rows_of
    from pytest_thinkingbox.report.html.packing import Details
    from pytest_thinkingbox.report.html.page import html_report
    from pytest_thinkingbox.report.reading import stored_verdict
    from pytest_thinkingbox.report.terminal import summary_lines

    folder = CampaignFolder.open(find_campaign(options.folder))
    info = folder.read_info()
    details = Details()
    records = folder.read_records()
    rows = rows_of(details.keep(records) if options.format == "html" else records)
    verdict = stored_verdict(info=info, rows=rows, path=folder.path)
    if options.format == "html":
        return write_parts(
            html_report(rows=rows, info=info, verdict=verdict, details=details, folder=folder.path),
            options.output,
        )
    lines = summary_lines(
        rows=rows,
        info=info,
        verdict=verdict,
        folder=folder.path,
        width=width(),
        color=has_color(options.color),
    )
    return lines if options.output is None else write_parts([f"{line}\n" for line in lines], options.output)
