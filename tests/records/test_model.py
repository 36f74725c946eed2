from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_thinkingbox.records.model import AttemptRow, UsageRecord, add_usage, attempt_name, first_line
from tests.records.builders import record, row


def test_a_row_survives_the_wire_as_ascii_whatever_its_text() -> None:
    sent = row(
        "failed",
        detail="\ud800 \0 שלום 🙂 </script>",
        tags=("a", "b"),
        usage={"user": UsageRecord(requests=2)},
    )
    text = sent.to_json()
    assert text.isascii()
    assert AttemptRow.from_json(text) == sent


def test_a_row_adds_the_tokens_and_seconds_of_earlier_tries() -> None:
    earlier = record(
        "invalid",
        final=False,
        usage={"agent": UsageRecord(requests=1, input_tokens=10, output_tokens=5)},
        seconds={"agent": 2.0},
    )
    last = record(
        try_number=2,
        usage={"agent": UsageRecord(requests=2, input_tokens=30, output_tokens=7)},
        seconds={"acquire": 0.5, "agent": 1.0},
    )
    light = last.row(earlier=[earlier])
    assert light.usage == {"agent": UsageRecord(requests=3, input_tokens=40, output_tokens=12)}
    assert light.seconds == 3.5
    assert light.tries == 2
    assert light.outcome == "passed"


def test_tokens_that_one_try_did_not_tell_are_unknown_in_the_sum() -> None:
    known = UsageRecord(requests=1, input_tokens=10)
    unknown = UsageRecord(requests=1)
    assert add_usage([{"agent": known}, {"agent": unknown}])["agent"] == UsageRecord(requests=2)


def test_a_try_without_requests_leaves_the_sum_known() -> None:
    assert add_usage([{"agent": UsageRecord()}, {"agent": UsageRecord(requests=1, input_tokens=3)}]) == {
        "agent": UsageRecord(requests=1, input_tokens=3)
    }


def test_a_detail_travels_as_its_first_line_with_text_in_it() -> None:
    assert first_line("\n  \n  assert 1 == 2\nmore") == "assert 1 == 2"
    assert first_line("") == ""


def test_five_megabytes_on_one_line_do_not_travel() -> None:
    assert len(record("failed", detail="x" * 5_000_000).row().to_json()) < 1_000


@pytest.mark.parametrize(
    ("task", "requested", "name"),
    [
        ("t.py::test_a", 20, "t.py::test_a[try3]"),
        ("t.py::test_a[easy]", 20, "t.py::test_a[easy-try3]"),
        ("t.py::test_a[easy]", 1, "t.py::test_a[easy]"),
    ],
)
def test_an_attempt_is_named_as_pytest_names_its_item(task: str, requested: int, name: str) -> None:
    assert attempt_name(task=task, attempt=3, requested=requested) == name


def test_an_invalid_attempt_without_a_cause_is_refused() -> None:
    with pytest.raises(ValueError, match="only invalid has a cause"):
        record("invalid", cause=None)


def test_a_failed_attempt_with_a_cause_is_refused() -> None:
    with pytest.raises(ValueError, match="only invalid has a cause"):
        record("failed", cause="user")


def test_an_invalid_attempt_has_no_reward() -> None:
    with pytest.raises(ValueError, match="only invalid has none"):
        record("invalid", reward=0.0)


def test_attempts_count_from_one() -> None:
    with pytest.raises(ValueError, match="count from 1"):
        record(attempt=0)


def test_rows_and_their_counts_load_nothing_heavy() -> None:
    code = (
        "import sys, pytest_thinkingbox.records.model, pytest_thinkingbox.stats.counts;"
        "print(sorted({'pydantic', 'scipy', 'numpy', 'sqlalchemy', 'mcp', 'httpx', 'filelock'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_first_line_that_only_announces_takes_the_next_one_along() -> None:
    detail = 'the checker did not account for 1 change:\n    Updated("orders", 1, total=5)\nall that happened'
    assert record("failed", detail=detail).row().detail == (
        'the checker did not account for 1 change: Updated("orders", 1, total=5)'
    )
    assert record("failed", detail="nothing follows:\n").row().detail == "nothing follows:"
