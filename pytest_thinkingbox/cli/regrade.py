"""`thinkingbox regrade`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import add_command, add_folder, files_of

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands

_CLOSING = 60.0
"""Seconds that an interrupted pytest gets to end."""


def add(commands: Commands) -> None:
    parser = add_command(commands, "regrade", run, help="grade a campaign again with the checkers of today")
    parser.usage = "thinkingbox regrade [-h] DIR [SUITE] [OPTIONS OF PYTEST]"
    parser.allow_abbrev = False
    parser.set_defaults(for_pytest=True)
    add_folder(parser)


def run(options: argparse.Namespace) -> int:
    """Play nothing: make the final state of every attempt again from the seed and its stored changes, and let the
    checkers of today judge it. No model is asked, and on SQLite no server is needed; a judge only answers questions
    that it was not asked then.

    SUITE (by default the files of the campaign's tasks) and all other options are for pytest: -k, -n. What was
    invalid because something broke stays invalid. Exit status as of the campaign itself.
    """
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign

    folder = CampaignFolder.open(find_campaign(options.folder))
    others: list[str] = options.others
    named = any(Path(one.partition("::")[0]).exists() for one in others if not one.startswith("-"))
    suite = [] if named else files_of(folder.read_info().tasks)
    command = [sys.executable, "-m", "pytest", f"--tb-regrade={folder.path}", *suite, *others]
    with subprocess.Popen(command) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:  # pytest has heard it too: let it close what it opened
            process.wait(timeout=_CLOSING)
            raise
        finally:
            process.kill()
