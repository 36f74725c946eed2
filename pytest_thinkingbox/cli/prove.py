"""`thinkingbox prove`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import ROOT, add_command, share, width

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands


def add(commands: Commands) -> None:
    parser = add_command(commands, "prove", run, help="whether the checkers of a suite can be trusted")
    parser.usage = "thinkingbox prove [-h] [--min-score SCORE | --parity DIR] SUITE [OPTIONS OF PYTEST]"
    parser.allow_abbrev = False
    parser.set_defaults(for_pytest=True)
    parser.add_argument(
        "--min-score",
        type=share,
        default=1.0,
        metavar="SCORE",
        help="exit 0 if at least this share of the mutants fails (default: 1.0)",
    )
    parser.add_argument(
        "--parity",
        type=Path,
        metavar="DIR",
        help="play nothing: grade the attempts of this campaign as a trainer does, and demand the same verdicts",
    )


def run(options: argparse.Namespace) -> int:
    """Play each task's solution, an agent that does nothing, and mutants of the solution: only the first may pass.

    SUITE and all other options are for pytest: -k, -m, -n, --tb-backend. Exit status 0 when every checker holds,
    1 when one does not, 2 when pytest cannot run the suite.
    """
    if options.parity is not None:
        return _parity(options.parity, options.others)
    from pytest_thinkingbox.proof.drive import prove

    return prove(options.others, directory=ROOT, min_score=options.min_score, width=width())


def _parity(campaign: Path, arguments: list[str]) -> int:
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign
    from pytest_thinkingbox.rewards.parity import compare
    from pytest_thinkingbox.rewards.suite import load_suite

    folder = CampaignFolder.open(find_campaign(campaign))
    with load_suite(*arguments) as suite:
        parity = compare(folder.read_records(), suite)
    print("\n".join(parity.lines()))
    return 0 if parity.holds else 1
