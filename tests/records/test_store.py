from __future__ import annotations

import multiprocessing
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_thinkingbox.records.model import AttemptRecord, UsageRecord
from pytest_thinkingbox.records.redact import Redactor
from pytest_thinkingbox.records.schema import BrokenRecords
from pytest_thinkingbox.records.store import CampaignFolder, find_campaign, new_campaign_id, rows_of
from tests.records.builders import TASK, info, record


@pytest.fixture
def folder(tmp_path: Path) -> CampaignFolder:
    return CampaignFolder.create(tmp_path / ".thinkingbox" / "one", info())


def test_records_come_back_in_the_order_of_writing(folder: CampaignFolder) -> None:
    written = [record(attempt=number) for number in (2, 1, 3)]
    for one in written:
        folder.append(one)
    assert list(folder.read_records()) == written


def test_each_record_is_one_ascii_line(folder: CampaignFolder) -> None:
    folder.append(record(response="two\nlines\u2028 and שלום"))
    text = folder.records_path.read_bytes()
    assert text.isascii()
    assert text.count(b"\n") == 1


def test_t26_emoji_surrogates_nul_markup_and_five_megabytes_survive(folder: CampaignFolder) -> None:
    odd = "🙂 \ud800 \udfff \0 </script> \r\n \x1b[31m"
    written = record("failed", detail=odd, response="x" * 5_000_000, messages=({odd: [odd, {"a": odd}]},))
    folder.append(written)
    folder.append(record(attempt=2))
    assert [one.attempt for one in folder.read_records()] == [1, 2]
    assert next(folder.read_records()) == written


# JSON cannot tell a surrogate pair in two pieces from the character that the pair means.
_TEXT = st.text(st.characters(exclude_categories=())).filter(
    lambda text: not re.search("[\ud800-\udbff][\udc00-\udfff]", text)
)


@settings(max_examples=60, deadline=None)
@given(text=_TEXT, content=st.recursive(_TEXT | st.none() | st.booleans() | st.integers(), st.lists))
def test_any_string_survives(tmp_path_factory: pytest.TempPathFactory, text: str, content: object) -> None:
    folder = CampaignFolder.create(tmp_path_factory.mktemp("any") / "one", info())
    written = record(task=text, response=text, messages=({"content": content},))
    folder.append(written)
    assert list(folder.read_records()) == [written]


def tear(folder: CampaignFolder, keep: int) -> None:
    """Cut the last line off after `keep` bytes, as a killed process leaves it."""
    lines = folder.records_path.read_bytes().splitlines(keepends=True)
    folder.records_path.write_bytes(b"".join([*lines[:-1], lines[-1][:keep]]))


@pytest.mark.parametrize("keep", [1, 100, -2])
def test_a_torn_last_line_is_passed_over(folder: CampaignFolder, keep: int) -> None:
    folder.append(record(attempt=1))
    folder.append(record(attempt=2))
    tear(folder, keep)
    assert [one.attempt for one in folder.read_records()] == [1]


def test_a_last_line_that_lacks_only_its_end_counts(folder: CampaignFolder) -> None:
    folder.append(record(attempt=1))
    tear(folder, -1)
    folder.append(record(attempt=2))
    assert [one.attempt for one in folder.read_records()] == [1, 2]


@pytest.mark.parametrize("size", [10, 200_000])
def test_the_next_record_replaces_a_torn_line(folder: CampaignFolder, size: int) -> None:
    folder.append(record(attempt=1))
    folder.append(record(attempt=2, response="x" * size))
    tear(folder, -5)
    folder.append(record(attempt=3))
    assert [one.attempt for one in folder.read_records()] == [1, 3]


def test_a_file_that_is_only_a_torn_line_starts_anew(folder: CampaignFolder) -> None:
    folder.records_path.write_bytes(b'{"version": 1, "camp')
    assert list(folder.read_records()) == []
    folder.append(record())
    assert list(folder.read_records()) == [record()]


def test_a_torn_line_in_the_middle_is_refused_with_file_and_line(folder: CampaignFolder) -> None:
    for number in (1, 2, 3):
        folder.append(record(attempt=number))
    lines = folder.records_path.read_bytes().splitlines(keepends=True)
    folder.records_path.write_bytes(lines[0] + lines[1][:50] + b"\n" + lines[2])
    with pytest.raises(BrokenRecords, match=re.escape(f"{folder.records_path}:2: not JSON")):
        list(folder.read_records())


def test_a_whole_last_line_that_is_no_record_is_refused(folder: CampaignFolder) -> None:
    folder.records_path.write_bytes(b"nonsense\n")
    with pytest.raises(BrokenRecords, match=r"attempts\.jsonl:1: not JSON"):
        list(folder.read_records())


def test_bytes_that_are_no_text_are_refused(folder: CampaignFolder) -> None:
    folder.records_path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(BrokenRecords, match=r"attempts\.jsonl:1: not UTF-8"):
        list(folder.read_records())


def append_many(path: Path, worker: int) -> None:
    folder = CampaignFolder.open(path)
    for number in range(1, 101):
        folder.append(record(task=f"t{worker}", attempt=number, response="x" * 20_000))


def test_processes_that_write_at_once_tear_nothing(folder: CampaignFolder) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=append_many, args=(folder.path, worker)) for worker in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    read = [(one.task, one.attempt) for one in folder.read_records()]
    assert sorted(read) == [(f"t{worker}", number) for worker in range(3) for number in range(1, 101)]


def test_secrets_reach_neither_file(tmp_path: Path) -> None:
    redactor = Redactor(secrets=["sk-0123456789"], urls=["postgresql://app:hunter2-hunter2@db/x"])
    folder = CampaignFolder.create(
        tmp_path / "one", info(options={"base_url": "http://sk-0123456789@host"}), redactor=redactor
    )
    folder.append(record("failed", detail="refused: sk-0123456789", response="hunter2-hunter2"))
    stored = folder.info_path.read_text() + folder.records_path.read_text()
    assert "sk-0123456789" not in stored
    assert "hunter2" not in stored
    assert stored.count("[hidden]") == 3


def test_the_latest_campaign_of_a_folder_of_another_name_is_found_by_its_name(tmp_path: Path) -> None:
    for name in ("20260102-030405-ffffff", "20260103-000000-000000"):
        CampaignFolder.create(tmp_path / "runs" / name, info(campaign=name))
    assert find_campaign(tmp_path / "runs").name == "20260103-000000-000000"


def test_git_ignores_the_root_and_latest_points_to_the_new_campaign(tmp_path: Path) -> None:
    root = tmp_path / ".thinkingbox"
    CampaignFolder.create(root / "one", info())
    two = CampaignFolder.create(root / "two", info())
    assert (root / ".gitignore").read_text() == "*\n"
    assert find_campaign(root) == two.path
    assert find_campaign(root / "one") == root / "one"


def test_folders_of_other_names_are_left_alone(tmp_path: Path) -> None:
    CampaignFolder.create(tmp_path / "results" / "one", info())
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["one"]


def test_no_temporary_file_stays(folder: CampaignFolder) -> None:
    folder.write_info(info(partial="-x"))
    assert folder.read_info() == info(partial="-x")
    assert sorted(path.name for path in folder.path.iterdir()) == ["attempts.jsonl", "campaign.json"]


def test_a_second_campaign_in_the_same_folder_is_refused(folder: CampaignFolder) -> None:
    with pytest.raises(BrokenRecords, match="there is a campaign already; name another folder"):
        CampaignFolder.create(folder.path, info())


def test_a_folder_without_a_campaign_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BrokenRecords, match=r"no campaign here \(campaign\.json is missing\)"):
        CampaignFolder.open(tmp_path)
    with pytest.raises(BrokenRecords, match="neither a campaign nor a folder of campaigns"):
        find_campaign(tmp_path)


def test_campaign_names_sort_by_time_and_differ() -> None:
    names = {new_campaign_id() for _ in range(50)}
    assert len(names) == 50
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", name) for name in names)


def test_the_last_final_try_decides_and_all_tries_are_paid() -> None:
    usage = {"agent": UsageRecord(requests=1, input_tokens=10)}
    tries = [
        record("invalid", final=False, usage=usage, seconds={"agent": 1.0}),
        record("invalid", try_number=2, usage=usage, seconds={"agent": 1.0}),
        record("passed", try_number=3, usage=usage, seconds={"agent": 2.0}),
        record("failed", attempt=2),
    ]
    first, second = rows_of(tries)
    assert (first.outcome, first.tries, first.seconds) == ("passed", 3, 4.0)
    assert first.usage == {"agent": UsageRecord(requests=3, input_tokens=30)}
    assert (second.attempt, second.outcome) == (2, "failed")


def test_a_try_that_was_to_be_played_again_does_not_undo_a_decision() -> None:
    (only,) = rows_of([record("passed"), record("invalid", try_number=2, final=False)])
    assert (only.outcome, only.tries) == ("passed", 2)


def test_a_try_that_was_graded_again_is_paid_once_and_its_last_line_decides() -> None:
    usage = {"agent": UsageRecord(requests=1, input_tokens=10)}
    tries = [
        record("invalid", final=False, usage=usage),
        record("failed", try_number=2, usage=usage),
        record("passed", try_number=2, usage=usage, regraded_at="2026-01-02T03:04:06+00:00"),
    ]
    (only,) = rows_of(tries)
    assert (only.outcome, only.tries) == ("passed", 2)
    assert only.usage == {"agent": UsageRecord(requests=2, input_tokens=20)}


def test_an_attempt_killed_between_two_tries_is_invalid() -> None:
    (only,) = rows_of([record("invalid", final=False, cause="provider")])
    assert (only.outcome, only.cause) == ("invalid", "provider")


def test_rows_come_by_task_and_attempt() -> None:
    tries = [record(task=task, attempt=attempt) for task, attempt in (("b", 2), ("a", 1), ("b", 1))]
    assert [(row.task, row.attempt) for row in rows_of(tries)] == [("b", 1), ("b", 2), ("a", 1)]


@pytest.mark.parametrize("name", [f"{TASK}[try2]", "test_refund[try2]", "test_hotel.py::test_refund[try2]"])
def test_an_attempt_is_found_by_its_node_id_or_the_end_of_it(folder: CampaignFolder, name: str) -> None:
    tries = [record("invalid", attempt=2, final=False), record(attempt=2, try_number=2)]
    for one in (record(attempt=1), *tries, record(attempt=12)):
        folder.append(one)
    assert folder.find_attempt(name) == tries


def test_a_name_that_means_two_attempts_or_none_is_refused(folder: CampaignFolder) -> None:
    for task in ("a.py::test_x", "b.py::test_x"):
        folder.append(record(task=task))
    with pytest.raises(
        BrokenRecords, match=r"more than one attempt ends with 'test_x\[try1\]'.*a\.py::test_x\[try1\], b"
    ):
        folder.find_attempt("test_x[try1]")
    with pytest.raises(
        BrokenRecords, match=r"there is no attempt 'test_y'\. Known are: a\.py::test_x\[try1\]"
    ):
        folder.find_attempt("test_y")


def many(number: int) -> AttemptRecord:
    conversation = tuple({"role": "assistant", "content": "word " * 80} for _ in range(20))
    return record(task=f"t{number // 20}", attempt=number % 20 + 1, requested=20, messages=conversation)


LOAD = """
import re, sys, time
from pathlib import Path
from pytest_thinkingbox.records.store import CampaignFolder

started = time.process_time()
rows = CampaignFolder.open(Path(sys.argv[1])).read_rows()
# Not ru_maxrss: that starts at the peak of the process that forked this one.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1)
print(len(rows), time.process_time() - started, peak)
"""


@pytest.mark.slow
def test_ten_thousand_records_load_in_three_seconds_and_300_megabytes(tmp_path: Path) -> None:
    folder = CampaignFolder.create(tmp_path / "one", info())
    for number in range(10_140):
        folder.append(many(number))
    assert folder.records_path.stat().st_size > 80_000_000
    loaded = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder.path)], capture_output=True, text=True, check=True
    )
    number, seconds, kilobytes = loaded.stdout.split()
    assert int(number) == 10_140
    assert float(seconds) < 3
    assert int(kilobytes) < 300 * 1024


def test_appending_a_record_takes_a_fraction_of_a_millisecond(folder: CampaignFolder) -> None:
    written = many(1)
    costs = []
    for _ in range(200):
        started = time.process_time()
        folder.append(written)
        costs.append(time.process_time() - started)
    assert sorted(costs)[len(costs) // 4] < 0.0003  # the quieter quarter: other processes share the caches
