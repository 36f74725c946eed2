"""A campaign as large as the largest published one: 507 tasks, twenty attempts each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_thinkingbox.records.model import ToolCallRecord, UsageRecord
from pytest_thinkingbox.records.redact import Redactor
from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.records.wire import dump, record_data
from tests.records.builders import info, record

pytestmark = pytest.mark.slow

TASKS, ATTEMPTS = 507, 20

# Not ru_maxrss: that starts at the peak of the process that forked this one.
MEASURE = """
import re, sys, time
from pathlib import Path
from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.report.reading import stored_verdict
from pytest_thinkingbox.report.terminal import summary_lines

started = time.process_time()
folder = CampaignFolder.open(Path(sys.argv[1]))
info = folder.read_info()
rows = folder.read_rows()
verdict = stored_verdict(info=info, rows=rows, path=folder.path)
print(len(rows), sum(row.outcome == "passed" for row in rows), verdict.exit_status)
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1)
print(time.process_time() - started, peak)
"""


def write(folder: CampaignFolder) -> None:
    """5,242 attempts pass. A line has twelve calls and messages, about 12 kB."""
    calls = tuple(
        ToolCallRecord(
            id=f"call_{number}",
            name="search_bookings",
            arguments={"guest": f"Guest {number}", "nights": number},
            result='{"rows": [' + ", ".join(f'{{"id": {one}}}' for one in range(20)) + "]}",
            error=False,
            seconds=0.01,
        )
        for number in range(12)
    )
    messages = tuple({"role": "assistant", "content": "I looked at the booking. " * 15} for _ in range(12))
    usage = {
        "agent": UsageRecord(
            requests=12, input_tokens=20_000, cached_tokens=0, output_tokens=900, reasoning_tokens=0
        )
    }
    change = {
        "kind": "update",
        "table": "bookings",
        "key": [1042],
        "before": {"status": "a"},
        "after": {"status": "b"},
    }
    with folder.records_path.open("w", encoding="ascii") as file:
        for number in range(TASKS * ATTEMPTS):
            task, attempt = divmod(number, ATTEMPTS)
            one = record(
                "passed" if number < 5_242 else "failed",
                task=f"suites/test_{task % 13}.py::test_task_{task}",
                attempt=attempt + 1,
                requested=ATTEMPTS,
                detail="" if number < 5_242 else "assert changes differ",
                messages=messages,
                tool_calls=calls,
                changes={"rows": [change] * 5, "schema": []},
                usage=usage,
            )
            file.write(dump(record_data(one), redactor=Redactor()) + "\n")


def test_10_140_records_load_and_aggregate_in_three_seconds_and_300_mb(tmp_path: Path) -> None:
    tasks = {f"suites/test_{task % 13}.py::test_task_{task}": ATTEMPTS for task in range(TASKS)}
    folder = CampaignFolder.create(tmp_path / "large", info(tasks=tasks))
    write(folder)
    assert folder.records_path.stat().st_size > 80_000_000
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(folder.path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    counts, measured = done.stdout.splitlines()
    assert counts == "10140 5242 1"
    seconds, kilobytes = map(float, measured.split())
    assert seconds < 3.0  # of the processor, for the machine may have other things to do
    assert kilobytes < 300_000
