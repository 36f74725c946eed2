"""One campaign in parts, put together again; databases that are kept, and what clean removes."""

from __future__ import annotations

import json
import sqlite3

import pytest

from pytest_thinkingbox.cli import main

TASKS = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]

@shop.task("Close order 1.", solution=CLOSE_1)
def test_bad(changes):
    assert changes == []

def test_ordinary():
    pass
"""


@pytest.fixture
def shards(suite, run, pytester):
    """Both shards of a campaign of two tasks with four attempts each."""
    suite(TASKS)
    runs = [
        run("--tb-attempts=4", f"--tb-shard={number}/2", f"--tb-dir=part{number}", "--tb-min-pass-rate=0.6")
        for number in (1, 2)
    ]
    return runs, [next(pytester.path.glob(f"part{number}/*/campaign.json")).parent for number in (1, 2)]


def test_shards_share_the_attempts_and_leave_the_gate_to_the_merge(shards, capsys, pytester):
    runs, folders = shards
    assert [one.status for one in runs] == [0, 0]
    assert runs[0].counts == {
        "passed": 3,
        "failed": 2,
        "deselected": 4,
    }  # the ordinary test is in the first one
    assert runs[1].counts == {"passed": 2, "failed": 2, "deselected": 5}
    assert "shard     1/2; thinkingbox merge judges the gates" in runs[0].text
    played = [
        {
            (one["task"][-5:], one["attempt"])
            for one in map(json.loads, (folder / "attempts.jsonl").read_text().splitlines())
        }
        for folder in folders
    ]
    assert not played[0] & played[1]
    assert len(played[0] | played[1]) == 8
    capsys.readouterr()
    assert main(["merge", "whole", *map(str, folders)]) == 1
    text = capsys.readouterr().out
    assert "pass rate >= 0.6: fails: 0.500 (4/8 passed, 8 of 8 valid, mean over" in text
    info = json.loads((pytester.path / "whole" / "campaign.json").read_text())
    assert (info["campaign"], info["shard"], info["partial"]) == ("whole", None, None)
    assert info["tasks"] == {"test_shop.py::test_close": 4, "test_shop.py::test_bad": 4}
    assert info["finished"] is not None


def test_a_report_of_a_shard_asks_for_its_own_attempts_only(shards, capsys):
    _, (first, _) = shards
    capsys.readouterr()
    assert main(["report", str(first)]) == 0
    assert "not run" not in capsys.readouterr().out


def test_a_merge_without_all_shards_is_partial_and_can_be_resumed(shards, run, capsys, pytester):
    _, (first, _) = shards
    capsys.readouterr()
    assert main(["merge", "whole", str(first)]) == 8
    assert "shards 2 of 2 are missing" in capsys.readouterr().out
    outcome = run("--tb-attempts=4", "--tb-resume=whole", "--tb-min-pass-rate=0.5")
    assert outcome.status == 0
    assert "4/8 passed, 8 of 8 valid" in outcome.text
    assert "resumed   4 played, 0 graded again, 4 as they were" in outcome.text


def test_what_is_no_part_of_the_same_campaign_is_refused_and_nothing_is_made(shards, run, capsys, pytester):
    _, (first, second) = shards
    run("--tb-attempts=4", "--tb-shard=2/2", "--tb-dir=other", "--tb-seed=1")
    run("--tb-attempts=4", "--tb-dir=unsharded")
    for given, message in (
        ([first, first], "are both shard 1/2"),
        ([first, pytester.path / "other"], "--tb-seed: it was 0, now it is 1"),
        ([first, pytester.path / "unsharded"], "no campaign"),
    ):
        capsys.readouterr()
        assert main(["merge", "whole", *map(str, given)]) == 2
        error = capsys.readouterr().err
        assert message in error or "is no shard" in error or "neither a campaign" in error
    assert not (pytester.path / "whole").exists()
    assert not list(pytester.path.glob(".whole*"))
    capsys.readouterr()
    assert main(["merge", str(first), str(second)]) == 2
    assert "there is something already" in capsys.readouterr().err


def test_a_merge_in_which_attempts_are_missing_is_never_green(suite, run, capsys, pytester):
    suite(TASKS.replace("== []", "== [Updated('orders', 1, status='closed')]"))
    run("--tb-attempts=4", "--tb-shard=1/2", "--tb-dir=part1")
    run("--tb-attempts=4", "--tb-shard=2/2", "--tb-dir=part2", "-k", "close")
    capsys.readouterr()
    assert main(["merge", "whole", "part1", "part2"]) == 8
    text = capsys.readouterr().out
    assert "6/6 passed, 6 of 8 valid, 2 not run" in text
    assert "2 attempts are in no shard" in text
    assert run("--tb-attempts=4", "--tb-resume=whole").status == 0
    assert "8/8 passed" in capsys.readouterr().out


def test_gates_of_one_shard_never_judge_the_others(suite, run, capsys, pytester):
    suite(TASKS)
    for number, rate in ((1, "0.1"), (2, "0.9")):
        run(
            "--tb-attempts=2",
            f"--tb-shard={number}/2",
            f"--tb-dir=part{number}",
            f"--tb-min-pass-rate={rate}",
            f"--tb-max-drop={rate}",
        )
    capsys.readouterr()
    assert main(["merge", "whole", "part1", "part2"]) == 2
    error = capsys.readouterr().err
    assert "--tb-min-pass-rate: 0.1 and 0.9" in error
    assert "--tb-max-drop: 0.1 and 0.9" in error
    assert not (pytester.path / "whole").exists()


@pytest.mark.parametrize("given", ["0/2", "3/2", "2", "a/b", "1/0"])
def test_a_shard_that_is_none_is_a_usage_error(suite, run, given):
    suite(TASKS)
    outcome = run(f"--tb-shard={given}")
    assert outcome.status == 4
    assert f"--tb-shard: {given!r} must be I/N with I from 1 to N" in outcome.text


@pytest.mark.parametrize(("keep", "kept"), [("none", 0), ("failed", 1), ("all", 2)])
def test_databases_are_kept_as_asked_and_cleaned_when_asked(suite, run, pytester, capsys, keep, kept):
    suite(TASKS)
    run(f"--tb-keep={keep}")
    (campaign,) = (path.parent for path in pytester.path.glob(".thinkingbox/*/campaign.json"))
    databases = list(campaign.glob("databases/*.sqlite"))
    assert len(databases) == kept
    for path in databases:
        connection = sqlite3.connect(path)
        assert connection.execute("SELECT status FROM orders WHERE id = 1").fetchall() == [("closed",)]
        connection.close()
    capsys.readouterr()
    main(["show", ".thinkingbox", "test_bad"])
    assert ("database: " in capsys.readouterr().out) is (kept > 0)
    main(["clean"])
    assert len(list(campaign.glob("databases/*.sqlite"))) == kept
    main(["clean", "--databases"])
    assert list(campaign.glob("databases/*.sqlite")) == []
    assert len(list(campaign.glob("attempts.jsonl"))) == 1


def test_clean_keeps_the_latest_proof(pytester, capsys):
    for name in ("20260101-000000-aaaaaa", "20260102-000000-bbbbbb"):
        (pytester.path / ".thinkingbox" / "prove" / name / "survey").mkdir(parents=True)
    assert main(["clean"]) == 0
    assert "removed: .thinkingbox/prove/20260101-000000-aaaaaa" in capsys.readouterr().out
    assert [path.name for path in pytester.path.glob(".thinkingbox/prove/*")] == ["20260102-000000-bbbbbb"]
    assert main(["clean"]) == 0
    assert capsys.readouterr().out == "nothing to remove\n"
