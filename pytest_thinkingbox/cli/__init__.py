"""The command `thinkingbox`: reads campaigns that pytest wrote, and starts pytest where that is what a command does.

A command is a module with `add(commands)`, which declares it, and a function that runs it: it takes the options and
returns the lines to print, or the exit status if it printed by itself. Listing it in `COMMANDS` is all else.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pytest_thinkingbox.cli import (
    clean,
    compare,
    export,
    imports,
    merge,
    prove,
    regrade,
    report,
    select,
    serve,
    show,
)
from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.report.text import escape_lines

COMMANDS = (report, compare, show, prove, select, regrade, merge, export, imports, clean, serve)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0, or 2 with a message when the records cannot be read or the attempt is not there."""
    parser = _parser()
    options, others = parser.parse_known_args(arguments)
    if others and not options.for_pytest:
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    options.others = others
    # What others wrote may hold characters that this terminal cannot show: escaped is better than a crash.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        result = options.run(options)
    except (ThinkingboxError, OSError) as error:
        print(f"thinkingbox: {escape_lines(str(error))}", file=sys.stderr)  # it may quote what others wrote
        return 2
    if isinstance(result, int):
        return result
    try:
        print("\n".join(result), flush=True)
    except BrokenPipeError:  # `| head` has seen enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the interpreter flushes it at exit
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="thinkingbox",
        description="Read the campaigns that pytest --tb-attempts wrote, prove and regrade suites, serve a model.",
    )
    parser.set_defaults(for_pytest=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add(commands)
    return parser
