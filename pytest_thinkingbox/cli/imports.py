"""`thinkingbox import`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import add_color, add_command, has_color, width

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands


def add(commands: Commands) -> None:
    parser = add_command(commands, "import", run, help="make a campaign of the result rows of ThinkingBox")
    parser.add_argument("rows", metavar="FILE", type=Path, help="the JSONL file that `tb infer` wrote")
    parser.add_argument("target", metavar="TARGET", type=Path, help="the new campaign's folder")
    parser.add_argument("--model", metavar="MODEL", help="the model that acted: the rows do not say")
    add_color(parser)


def run(options: argparse.Namespace) -> list[str]:
    """Make a campaign of result rows, so that it can be reported and compared. Rows of system errors are invalid."""
    from pytest_thinkingbox.compat.imports import import_rows
    from pytest_thinkingbox.report.reading import stored_verdict
    from pytest_thinkingbox.report.terminal import summary_lines

    folder = import_rows(options.rows, options.target, model=options.model)
    info, rows = folder.read_info(), folder.read_rows()
    return summary_lines(
        rows=rows,
        info=info,
        verdict=stored_verdict(info=info, rows=rows, path=folder.path),
        folder=folder.path,
        width=width(),
        color=has_color(options.color),
    )
