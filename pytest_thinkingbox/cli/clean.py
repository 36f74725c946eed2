"""`thinkingbox clean`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import ROOT, add_command

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands


def add(commands: Commands) -> None:
    parser = add_command(commands, "clean", run, help="remove what is not needed any more")
    parser.add_argument(
        "folder",
        metavar="DIR",
        type=Path,
        nargs="?",
        default=ROOT,
        help="a folder of campaigns, or one campaign (default: .thinkingbox)",
    )
    parser.add_argument(
        "--databases", action="store_true", help="also the databases that --tb-keep kept; records stay"
    )
    parser.add_argument(
        "--server",
        metavar="URL",
        help="also what ended runs left behind on this database server, named as for --tb-backend",
    )


def run(options: argparse.Namespace) -> Iterable[str]:
    """Remove SQLite files that killed runs left behind in memory and in the temporary folder, and all proofs but the
    latest; end the database servers that killed runs started. No record goes, and nothing of a run that has not ended.
    """
    from pytest_thinkingbox.backends import sweep_server, sweep_servers
    from pytest_thinkingbox.folders import sweep_all
    from pytest_thinkingbox.records.clean import remove_databases, remove_proofs

    gone: list[Path | str] = [*sweep_all(), *remove_proofs(options.folder)]
    gone += sweep_servers()
    if options.server is not None:
        gone += sweep_server(options.server)
    if options.databases:
        gone += remove_databases(options.folder)
    return [f"removed: {path}" for path in gone] or ["nothing to remove"]
