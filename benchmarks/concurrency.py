"""How many attempts play at once: against an endpoint on this machine that takes 5 x 200 ms for each attempt.

The endpoint is a process of its own; the openai agent asks it five times and makes five tool calls. The ideal rate is
the concurrency divided by the second that the endpoint takes. Measured is from the start of the first episode to the
last record on disk, verdicts included; importing and collecting come before that and are part of `whole command`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from _pytest_run import ROOT, SUITE, run_pytest
from _table import Figure, finish, parser

ANSWERS = [
    {"calls": [{"name": "find_orders", "arguments": {"customer_id": 8}}]},
    {
        "calls": [
            {"name": "get_order", "arguments": {"order_id": 57}},
            {"name": "get_customer", "arguments": {"customer_id": 8}},
        ]
    },
    {"calls": [{"name": "refund_order", "arguments": {"order_id": 57, "amount": 12.5, "reason": "broken"}}]},
    {
        "calls": [
            {"name": "add_note", "arguments": {"order_id": 57, "body": "12.50 refunded: arrived broken"}}
        ]
    },
    {"text": "Refunded."},
]
LATENCY = 0.2
MOST_MEMORY = 500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    concurrency: int
    workers: int
    at_least: float  # percent of the ideal rate

    @property
    def name(self) -> str:
        processes = "one process" if self.workers == 1 else f"-n {self.workers}"
        return f"{self.concurrency} at once, {processes}"


SETTINGS = (
    Setting(concurrency=32, workers=1, at_least=90.0),
    Setting(concurrency=128, workers=1, at_least=60.0),
    Setting(concurrency=32, workers=2, at_least=85.0),
)


def main() -> int:
    made = parser(__doc__ or "")
    made.add_argument("--attempts", type=int, help="attempts of each run (default: 1000; with --quick: 256)")
    options = made.parse_args()
    attempts = options.attempts or (256 if options.quick else 1000)
    figures = []
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        for index, setting in enumerate(SETTINGS):
            folder = Path(name) / str(index)
            folder.mkdir()
            figures += _measure(folder, setting, attempts)
    return finish(f"{attempts} attempts of 5 x {LATENCY * 1000:.0f} ms", figures, options)


def _measure(folder: Path, setting: Setting, attempts: int) -> list[Figure]:
    with _endpoint(folder) as url:
        arguments = [str(SUITE / "test_attempt.py"), "-p", "pytest_thinkingbox.plugin"]
        arguments += [f"--tb-attempts={attempts}", "--tb-model=stub", f"--tb-base-url={url}", "--tb-dir=runs"]
        arguments += [f"--tb-concurrency={setting.concurrency}"]
        if setting.workers > 1:
            arguments += ["-p", "xdist", "-n", str(setting.workers)]
        cost = run_pytest(arguments, environ={"OPENAI_API_KEY": "none-needed"}, folder=folder)
    ideal = setting.concurrency / (len(ANSWERS) * LATENCY)
    rate = attempts / _seconds(folder)
    name = setting.name
    return [
        Figure(
            name=f"{name}: of the ideal rate",
            value=100 * rate / ideal,
            unit="%",
            at_least=setting.at_least,
        ),
        Figure(name=f"{name}: attempts", value=rate, unit="/s"),
        Figure(name=f"{name}: whole command", value=cost.wall, unit="s"),
        Figure(
            name=f"{name}: CPU of an attempt, start included", value=1000 * cost.cpu / attempts, unit="ms"
        ),
        Figure(name=f"{name}: resident", value=cost.peak / 1e6, unit="MB", at_most=MOST_MEMORY),
    ]


def _seconds(folder: Path) -> float:
    """From the start of the first episode to the last record."""
    (records,) = folder.glob("runs/*/attempts.jsonl")
    with records.open(encoding="ascii") as file:
        first = min(datetime.fromisoformat(json.loads(line)["started_at"]) for line in file)
    return records.stat().st_mtime - first.timestamp()


@contextmanager
def _endpoint(folder: Path) -> Iterator[str]:
    script = folder / "script.json"
    script.write_text(json.dumps(ANSWERS), encoding="utf-8")
    command = [sys.executable, "-m", "tests.support.stub_endpoint", f"--latency={LATENCY}"]
    process = subprocess.Popen(
        [*command, f"--script={script}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.terminate()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


if __name__ == "__main__":
    sys.exit(main())
