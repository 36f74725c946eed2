"""What several commands share: arguments, and how wide and colourful the terminal is."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.whole import whole

ROOT = Path(".thinkingbox")

Result = int | Iterable[str]
"""An exit status, or the lines to print."""

if TYPE_CHECKING:
    from pytest_thinkingbox.stats.prices import Prices

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], Result], *, help: str
) -> argparse.ArgumentParser:
    """A parser for one command; the docstring of `run` describes it."""
    parser = commands.add_parser(name, help=help, description=run.__doc__)
    parser.set_defaults(run=run)
    return parser


def add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="DIR",
        type=Path,
        help="a campaign's folder, or the folder of campaigns (.thinkingbox) for the latest one",
    )


def add_color(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--color", choices=("auto", "yes", "no"), default="auto", help="auto: on a terminal (default)"
    )


def add_prices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prices",
        metavar="FILE",
        type=Path,
        help="what tokens cost, a TOML file (default: the prices that each campaign was run with)",
    )


def prices_of(options: argparse.Namespace) -> Prices:
    """The table that was named, or none. Raises BrokenPrices."""
    from pytest_thinkingbox.stats.prices import read_prices

    return {} if options.prices is None else read_prices(options.prices)


def share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} must be a number from 0 to 1")
    return value


def natural(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text} must be a whole number from 0")
    return int(text)


def files_of(tasks: Iterable[str]) -> list[str]:
    """The files that these tasks of a campaign are in, from the folder that pytest ran in."""
    files = list(dict.fromkeys(task.partition("::")[0] for task in tasks))
    for file in files:
        if not Path(file).is_file():
            raise ThinkingboxError(
                f"{file} of the campaign is not there: go to the folder that pytest ran in, or name the suite"
            )
    return files


def width() -> int:
    return min(max(shutil.get_terminal_size().columns, 60), 120)


def has_color(wanted: str) -> bool:
    if wanted != "auto":
        return wanted == "yes"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def write_parts(parts: Iterable[str], path: Path | None) -> int:
    """Write text as UTF-8 to a file, whole or not at all, or to standard output; the exit status."""
    if path is None:
        try:
            for part in parts:
                sys.stdout.buffer.write(part.encode("utf-8"))
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # `| head` has seen enough
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the interpreter flushes it at exit
        return 0
    with whole(path) as half, half.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(parts)
    print(f"written: {path}")
    return 0
