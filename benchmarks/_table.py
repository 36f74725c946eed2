"""What every benchmark prints and how it ends: a table or JSON, and exit status 1 when a target is missed."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line. `at_most` or `at_least` make it a target; without either it is printed for information."""

    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def held(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.at_most is not None:
            return self.value <= self.at_most
        if self.at_least is not None:
            return self.value >= self.at_least
        return None


def parser(description: str) -> argparse.ArgumentParser:
    """Options that all benchmarks have."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    made.add_argument("--quick", action="store_true", help="a shorter run with coarser figures, for CI")
    return made


def finish(title: str, figures: Sequence[Figure], options: argparse.Namespace) -> int:
    """Print all figures; the exit status is 1 when one misses its target."""
    missed = [one for one in figures if one.held is False]
    if options.json:
        lines = [{**asdict(one), "held": one.held} for one in figures]
        about = {"benchmark": title, "quick": options.quick, "machine": _machine()}
        print(json.dumps({**about, "figures": lines, "held": not missed}, indent=2))
    else:
        print(f"{title}  ({_machine()}{', quick' if options.quick else ''})")
        print(_table(figures))
        print("missed: " + "; ".join(one.name for one in missed) if missed else "all targets met")
    return 1 if missed else 0


def _table(figures: Sequence[Figure]) -> str:
    rows = [("", "", "target", "")]
    for one in figures:
        verdict = {None: "", True: "ok", False: "MISSED"}[one.held]
        rows.append((one.name, f"{_number(one.value)} {one.unit}".rstrip(), _target(one), verdict))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        f"{name:<{widths[0]}}  {value:>{widths[1]}}  {target:>{widths[2]}}  {verdict}".rstrip()
        for name, value, target, verdict in rows
    )


def _target(figure: Figure) -> str:
    if figure.at_most is not None:
        return f"<= {_number(figure.at_most)}"
    return "" if figure.at_least is None else f">= {_number(figure.at_least)}"


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _machine() -> str:
    """What it is, and how fast it is just now."""
    speed = min(_million_additions() for _ in range(5))
    system = f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()}"
    return f"{system}, a million additions in {speed * 1000:.0f} ms"


def _million_additions() -> float:
    started = time.process_time()
    total = 0
    for number in range(1_000_000):
        total += number
    return time.process_time() - started
