"""`thinkingbox report`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import (
    Result,
    add_color,
    add_command,
    add_folder,
    add_prices,
    has_color,
    prices_of,
    width,
    write_parts,
)

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands
    from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo
    from pytest_thinkingbox.stats.verdict import Verdict


def add(commands: Commands) -> None:
    parser = add_command(commands, "report", run, help="the summary of a campaign")
    add_folder(parser)
    add_prices(parser)
    add_color(parser)
    parser.add_argument(
        "--format",
        choices=("text", "html", "md", "json", "csv", "junit"),
        default="text",
        help="text for a terminal (default), a page, Markdown, figures as JSON, attempts as CSV or JUnit XML",
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to this file instead")


def run(options: argparse.Namespace) -> Result:
    """Print the summary of a campaign from its records, or write it in another format."""
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign, rows_of
    from pytest_thinkingbox.report.data import csv_report, json_report
    from pytest_thinkingbox.report.html.packing import Details
    from pytest_thinkingbox.report.html.page import html_report
    from pytest_thinkingbox.report.junit import junit_report
    from pytest_thinkingbox.report.markdown import markdown_report
    from pytest_thinkingbox.report.reading import as_left, stored_verdict
    from pytest_thinkingbox.stats.cost import models_of, used_prices

    folder = CampaignFolder.open(find_campaign(options.folder))
    info = as_left(folder.read_info())
    details = Details()
    records = folder.read_records()
    rows = rows_of(details.keep(records) if options.format == "html" else records)
    verdict = stored_verdict(info=info, rows=rows, path=folder.path)
    prices = prices_of(options)
    if prices:
        info = replace(
            info, options={**info.options, "prices": used_prices(prices, models_of(info).values())}
        )
    match options.format:
        case "html":
            parts: Iterable[str] = html_report(
                rows=rows, info=info, verdict=verdict, details=details, folder=folder.path
            )
        case "md":
            parts = [markdown_report(rows=rows, info=info, verdict=verdict)]
        case "json":
            parts = [json_report(rows=rows, info=info, verdict=verdict)]
        case "csv":
            parts = csv_report(rows=rows, info=info)
        case "junit":
            parts = [junit_report(rows=rows, info=info, verdict=verdict)]
        case _:
            parts = _summary(options, rows, info, verdict, folder.path)
    if options.format == "text" and options.output is None:
        return [part.removesuffix("\n") for part in parts]
    return write_parts(parts, options.output)


def _summary(
    options: argparse.Namespace, rows: list[AttemptRow], info: CampaignInfo, verdict: Verdict, path: Path
) -> list[str]:
    from pytest_thinkingbox.report.terminal import summary_lines

    lines = summary_lines(
        rows=rows, info=info, verdict=verdict, folder=path, width=width(), color=has_color(options.color)
    )
    return [f"{line}\n" for line in lines]
