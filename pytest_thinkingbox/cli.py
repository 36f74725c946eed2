"""The command `thinkingbox`: reads campaigns that pytest wrote."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_thinkingbox.errors import ThinkingboxError

_ROOT = Path(".thinkingbox")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0, or 2 with a message when the records cannot be read or the attempt is not there."""
    options, others = _parser().parse_known_args(arguments)
    if others and options.command != "prove":
        _parser().error(f"unrecognized arguments: {' '.join(others)}")
    # What others wrote may hold characters that this terminal cannot show: escaped is better than a crash.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        if options.command == "prove":
            return _prove(options, others)
        lines = _show(options) if options.command == "show" else _report(options)
    except (ThinkingboxError, OSError) as error:
        print(f"thinkingbox: {error}", file=sys.stderr)
        return 2
    try:
        print("\n".join(lines), flush=True)
    except BrokenPipeError:  # `| head` has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the interpreter flushes it at exit
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="thinkingbox", description="Read the campaigns that pytest --tb-attempts wrote."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    report = commands.add_parser("report", help="the summary of a campaign", description=_report.__doc__)
    _folder(report)
    show = commands.add_parser("show", help="all there is on one attempt", description=_show.__doc__)
    _folder(show)
    show.add_argument(
        "attempt", metavar="ATTEMPT", help="its node id, or the end of it, such as 'test_refund[try3]'"
    )
    prove = commands.add_parser(
        "prove",
        help="whether the checkers of a suite can be trusted",
        description=_prove.__doc__,
        usage="thinkingbox prove [-h] [--min-score SCORE] SUITE [OPTIONS OF PYTEST]",
        allow_abbrev=False,
    )
    prove.add_argument(
        "--min-score",
        type=_share,
        default=1.0,
        metavar="SCORE",
        help="exit 0 if at least this share of the mutants fails (default: 1.0)",
    )
    for command in (report, show):
        command.add_argument(
            "--color", choices=("auto", "yes", "no"), default="auto", help="auto: on a terminal (default)"
        )
    return parser


def _folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="DIR",
        type=Path,
        help="a campaign's folder, or the folder of campaigns (.thinkingbox) for the latest one",
    )


def _report(options: argparse.Namespace) -> list[str]:
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
        width=_width(),
        color=_color(options.color),
    )


def _show(options: argparse.Namespace) -> list[str]:
    """Print the conversation, tool calls, changes, mail and outcome of one attempt."""
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign
    from pytest_thinkingbox.report.show import show_lines

    folder = CampaignFolder.open(find_campaign(options.folder))
    return show_lines(tries=folder.find_attempt(options.attempt), width=_width(), color=_color(options.color))


def _prove(options: argparse.Namespace, others: list[str]) -> int:
    """Play each task's solution, an agent that does nothing, and mutants of the solution: only the first may pass.

    SUITE and all other options are for pytest: -k, -m, -n, --tb-backend. Exit status 0 when every checker holds,
    1 when one does not, 2 when pytest cannot run the suite.
    """
    from pytest_thinkingbox.proof.drive import prove

    return prove(others, directory=_ROOT, min_score=options.min_score, width=_width())


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} must be a number from 0 to 1")
    return value


def _width() -> int:
    return min(max(shutil.get_terminal_size().columns, 60), 120)


def _color(wanted: str) -> bool:
    if wanted != "auto":
        return wanted == "yes"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


if __name__ == "__main__":
    sys.exit(main())
