from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.selection.choose import Contaminated, choose, read_exclusions
from pytest_thinkingbox.selection.contents import Contents, only_ids
from pytest_thinkingbox.selection.demonstrations import read_demonstrations
from pytest_thinkingbox.selection.lines import selection_lines, trained_on, training_lines
from pytest_thinkingbox.selection.manifest import (
    Manifest,
    demand_replaceable,
    note_evaluations,
    read_manifest,
    write_manifest,
)
from pytest_thinkingbox.selection.pool import Shares
from pytest_thinkingbox.selection.proofs import read_proof
from tests.selection.builders import LONG, OTHER, campaign, contents
from tests.selection.test_proofs import entry, write

OUTCOMES = {
    "a.py::t1": "ppppffffff",
    "a.py::t2": "pppppppppp",
    "a.py::t3": "pppppffffi",
    "a.py::t4": "pfffffffff",
}
TASKS = tuple(OUTCOMES)


def made(tmp_path: Path, **named: Any) -> Manifest:
    """Of four tasks: 4/10, 10/10, 5/9 and 1/10."""
    defaults: dict[str, Any] = {
        "suite": contents(*TASKS, user="u"),
        "rule": "full",
        "min_valid": 10,
        "shares": Shares(validation=0, held_out=0, unseen=0),
        "seed": 0,
    }
    return choose([campaign(tmp_path, "probe", OUTCOMES)], **defaults | named)


def test_a_pool_is_what_the_rule_keeps_with_its_denominators(tmp_path: Path) -> None:
    pool = made(tmp_path)
    assert {one.task: (one.split, one.reason, one.band) for one in pool.tasks} == {
        "a.py::t1": ("train", None, "hard"),
        "a.py::t2": (None, "band", "nearly always"),
        "a.py::t3": (None, "too few", "middle"),
        "a.py::t4": ("train", None, "hard"),
    }
    assert pool.counts == {
        "probed": 4, "train": 2, "validation": 0, "held-out": 0, "unseen": 0,
        "out: excluded": 0, "out: unsolved": 0, "out: too few": 1, "out: band": 1,
    }  # fmt: skip
    [probe] = pool.probes
    assert (probe.requested, probe.valid, probe.invalid) == (40, 39, 1)


def test_a_manifest_holds_the_hashes_of_what_was_probed(tmp_path: Path) -> None:
    pool = made(tmp_path)
    assert pool.tasks[0].hashes == {
        "prompt": "p-a.py::t1",
        "environment": "e",
        "seed": "s",
        "checker": "c-a.py::t1",
    }
    assert len(pool.probes[0].records) == len(pool.digest) == 64


def test_a_suite_that_changed_since_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match="1 of 4 tasks were changed or removed since they were probed"
    ):
        made(tmp_path, suite=contents(*TASKS[1:]))


def test_ids_and_patterns_are_excluded(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("# known\na.py::t1  # by hand\n*t2\n\n", encoding="utf-8")
    pool = made(tmp_path, excluded=read_exclusions(tmp_path / "list.txt"))
    assert [one.reason for one in pool.tasks] == ["excluded", "excluded", "too few", None]


def test_an_id_with_brackets_excludes_itself(tmp_path: Path) -> None:
    probe = campaign(tmp_path, "probe", {"t[a]": "ppppffffff", "t[b]": "ppppffffff"})
    named: Any = {
        "rule": "full",
        "min_valid": 1,
        "seed": 0,
        "shares": Shares(validation=0, held_out=0, unseen=0),
    }
    pool = choose([probe], suite=contents("t[a]", "t[b]"), excluded=["t[a]"], **named)
    assert pool.of("train") == ["t[b]"]


def test_a_task_on_the_benchmarks_list_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Contaminated) as refused:
        made(tmp_path, benchmark=(["b"], contents("a.py::t1", "b.py::x")))
    assert "a.py::t1: it is on the benchmark's list" in str(refused.value)
    assert "--exclude" in str(refused.value)


def test_a_benchmark_task_that_was_excluded_is_none(tmp_path: Path) -> None:
    pool = made(tmp_path, benchmark=(["b"], contents("a.py::t1", "b.py::x")), excluded=["a.py::t1"])
    assert pool.of("train") == ["a.py::t4"]
    assert pool.benchmark is not None
    assert pool.benchmark.tasks == ("a.py::t1", "b.py::x")


def test_a_validation_task_is_held_against_the_benchmark_too(tmp_path: Path) -> None:
    shares = Shares(validation=0.9, held_out=0, unseen=0)
    with pytest.raises(Contaminated, match="on the benchmark's list"):
        made(tmp_path, shares=shares, min_valid=1, benchmark=(["b"], contents(*TASKS)))


def test_the_gate_is_a_reference_or_a_proof(tmp_path: Path) -> None:
    reference = campaign(tmp_path, "big", {"a.py::t1": "ff", "a.py::t4": "fp"}, model="large")
    by_model = made(tmp_path, reference=reference)
    assert by_model.of("train") == ["a.py::t4"]
    assert by_model.gate is not None
    assert (by_model.gate.solved, by_model.gate.of) == (1, 4)


def test_a_proof_of_other_hashes_solves_nothing(tmp_path: Path) -> None:
    proof = read_proof(write(tmp_path / "proof", entry("a.py::t1")))
    assert made(tmp_path, proof=proof).counts["out: unsolved"] == 4
    right = entry("a.py::t1") | {
        "hashes": {"prompt": "p-a.py::t1", "environment": "e", "seed": None, "checker": "c-a.py::t1"}
    }
    (tmp_path / "again").mkdir()
    pool = made(tmp_path / "again", proof=read_proof(write(tmp_path / "proof", right)))
    assert pool.of("train") == ["a.py::t1"]


def demonstration(tmp_path: Path, **row: Any) -> Any:
    path = tmp_path / "shown.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return read_demonstrations(path)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"messages": [{"role": "user", "content": LONG}]}, "a text is the prompt of b.py::x"),
        ({"prompt": f"{OTHER} {LONG}", "completion": "yes"}, "a text shares 8 of 8 phrases"),
        ({"messages": [], "task": "b.py::x"}, "it is of b.py::x, which is on the benchmark's list"),
    ],
)
def test_a_demonstration_of_the_benchmark_is_refused(tmp_path: Path, row: Any, said: str) -> None:
    with pytest.raises(Contaminated, match=said):
        made(
            tmp_path, told=[demonstration(tmp_path, **row)], benchmark=(["b"], contents("b.py::x", text=LONG))
        )


def test_a_demonstration_of_a_held_out_task_is_refused(tmp_path: Path) -> None:
    shares = Shares(validation=0, held_out=0.9, unseen=0)
    with pytest.raises(Contaminated, match="which is held out"):
        made(
            tmp_path,
            shares=shares,
            told=[demonstration(tmp_path, messages=[], task=held_of(tmp_path, shares))],
        )


def of_two_prompts(tmp_path: Path, held: str, other: str) -> Contents:
    """The suite, in which the prompt of one held-out task is `held`, and that of all others `other`."""
    shares = Shares(validation=0, held_out=0.3, unseen=0)
    task = held_of(tmp_path, shares)
    whole = contents(*TASKS, text=other)
    return replace(whole, tasks={**whole.tasks, task: contents(task, text=held).tasks[task]})


def test_a_demonstration_of_a_held_out_task_is_refused_without_its_name(tmp_path: Path) -> None:
    shares = Shares(validation=0, held_out=0.3, unseen=0)
    suite = of_two_prompts(tmp_path, "Please renew card 12.", "Please renew card 13.")
    shown = demonstration(tmp_path, messages=[{"role": "user", "content": "please renew  CARD 12."}])
    with pytest.raises(Contaminated, match=r"a text is the prompt of a\.py::t\d, which is held out"):
        made(tmp_path, shares=shares, suite=suite, told=[shown])


def test_words_that_a_task_to_train_on_has_too_tell_nothing(tmp_path: Path) -> None:
    shares = Shares(validation=0, held_out=0.3, unseen=0)
    suite = of_two_prompts(tmp_path, "Please renew card 13.", "Please renew card 13.")
    shown = demonstration(tmp_path, messages=[{"role": "user", "content": "Please renew card 13."}])
    assert len(made(tmp_path, shares=shares, suite=suite, told=[shown]).demonstrations) == 1


def test_a_benchmark_without_a_task_compares_nothing_and_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"--benchmark ids.txt: no task is there"):
        made(tmp_path, benchmark=(["ids.txt"], only_ids([], beside=None)))


def test_an_excluded_id_is_meant_from_whatever_folder_it_was_written_down(tmp_path: Path) -> None:
    assert made(tmp_path, excluded=["suites/a.py::t1"]).of("train") == ["a.py::t4"]


def test_a_list_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "ids.txt"
    path.write_text("a.py::t1\n", encoding="utf-8-sig")
    assert read_exclusions(path) == ["a.py::t1"]


def test_looks_at_held_out_tasks_cannot_be_taken_out_unseen(tmp_path: Path) -> None:
    path = tmp_path / "pool.json"
    write_manifest(made(tmp_path), path)
    note_evaluations(path, ["one", "two"], at="2026-01-01")
    data = json.loads(path.read_text("ascii"))
    path.write_text(json.dumps({**data, "evaluations": data["evaluations"][:1]}), encoding="ascii")
    with pytest.raises(ConfigurationError, match="it was changed by hand"):
        read_manifest(path)


def test_a_manifest_that_notes_such_looks_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "pool.json"
    demand_replaceable(path)
    write_manifest(made(tmp_path), path)
    demand_replaceable(path)
    note_evaluations(path, ["one"], at="2026-01-01")
    with pytest.raises(ConfigurationError, match=r"pool.json notes 1 campaigns .* is not written over"):
        demand_replaceable(path)


def test_a_file_that_is_no_manifest_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("[run]\n", encoding="ascii")
    with pytest.raises(ConfigurationError, match=r"recipe.toml is no manifest .* It is not written over"):
        demand_replaceable(path)


def held_of(tmp_path: Path, shares: Shares) -> str:
    (tmp_path / "look").mkdir()
    return made(tmp_path / "look", shares=shares).of("held-out")[0]


def test_a_demonstration_of_something_else_is_noted(tmp_path: Path) -> None:
    shown = demonstration(tmp_path, messages=[{"role": "user", "content": OTHER}])
    pool = made(tmp_path, told=[shown], benchmark=(["b"], contents("b.py::x", text=LONG)))
    [told] = pool.demonstrations
    assert (told.file, told.conversations, len(told.digest)) == ("shown.jsonl", 1, 64)


def test_a_line_that_is_no_conversation_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"shown.jsonl:1: neither `messages` nor `prompt`"):
        demonstration(tmp_path, text="hello")


# ---------------------------------------- the file


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    pool = made(tmp_path, benchmark=(["b"], contents("b.py::x")))
    write_manifest(pool, tmp_path / "pool.json")
    assert read_manifest(tmp_path / "pool.json") == pool


def test_a_manifest_that_was_edited_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pool.json"
    write_manifest(made(tmp_path), path)
    path.write_text(path.read_text("ascii").replace('"split": null', '"split": "train"', 1), encoding="ascii")
    with pytest.raises(ConfigurationError, match="changed by hand"):
        read_manifest(path)


def test_a_file_that_is_no_manifest_is_named(tmp_path: Path) -> None:
    (tmp_path / "pool.json").write_text('{"version": 1}', encoding="ascii")
    with pytest.raises(
        ConfigurationError, match=r"pool.json is no manifest of a pool: created: Field required"
    ):
        read_manifest(tmp_path / "pool.json")


def test_each_campaign_counts_once_as_an_evaluation(tmp_path: Path) -> None:
    path = tmp_path / "pool.json"
    write_manifest(made(tmp_path), path)
    note_evaluations(path, ["base", "new"], at="2026-01-02")
    noted = note_evaluations(path, ["new", "newer"], at="2026-01-03")
    assert [one.campaign for one in noted.evaluations] == ["base", "new", "newer"]
    assert read_manifest(path) == noted


def test_a_pool_complains_of_tasks_that_changed_or_are_on_the_benchmarks_list(tmp_path: Path) -> None:
    pool = made(tmp_path, benchmark=(["b"], contents("b.py::x")))
    today = {task: {"prompt": f"p-{task}", "environment": "e", "checker": f"c-{task}"} for task in TASKS}
    assert pool.complaints(today) == []
    assert pool.benchmark is not None
    slipped = pool.model_copy(
        update={"benchmark": pool.benchmark.model_copy(update={"tasks": ("a.py::t4",)})}
    )
    changed = {"a.py::t1": {**today["a.py::t1"], "checker": "x"}}
    assert slipped.complaints(changed) == [
        "1 tasks of the pool are on the benchmark's list: a.py::t4",
        "1 of 2 tasks are not in the suite: a.py::t4",
        "1 of 2 tasks were changed since they were probed: a.py::t1",
    ]


# ---------------------------------------- what people read


def test_every_figure_is_printed_with_its_denominators(tmp_path: Path) -> None:
    lines = selection_lines(made(tmp_path, benchmark=(["suites"], contents("b.py::x"))), width=100)
    assert "probe      probe, openai small: 4 tasks, 39 of 40 attempts valid, 1 invalid" in lines
    assert "rule       full: hard, middle, often; 10 valid probes or more" in lines
    assert "train           4     2              1            1" in lines
    assert "of 4 tasks probed; 0 excluded, 0 solved by no reference" in lines
    assert any(line.startswith("benchmark  suites: 1 task; none of them") for line in lines)


def test_a_pool_that_was_held_against_nothing_says_so(tmp_path: Path) -> None:
    lines = selection_lines(made(tmp_path))
    assert "benchmark  NOT COMPARED: no --benchmark was named" in lines
    assert "solvable   not asked: neither --reference nor --proof was named" in lines


def test_what_training_and_evaluation_share_is_named(tmp_path: Path) -> None:
    pool = made(tmp_path)
    new = campaign(tmp_path, "new", {"a.py::t1": "p", "b.py::x": "p"}, purpose="evaluation")
    lines = training_lines(pool, contents("a.py::t1", "b.py::x", user="u"), [new.side])
    assert lines == [
        "tasks: of 2, 1 train, 0 validation, 0 held-out, 0 unseen",
        "tools: none; schemas: none; policies: none; templates: 1 (a.py::t1)",
        "simulator: none",
        "judge: none",
    ]


def test_tasks_that_taught_or_chose_an_agent_say_nothing_of_it(tmp_path: Path) -> None:
    pool = made(tmp_path, shares=Shares(validation=0.5, held_out=0, unseen=0), min_valid=1)
    taught, chose = pool.of("train")[0], pool.of("validation")[0]

    def keys(purpose: str, *tasks: str) -> list[str]:
        side = campaign(tmp_path, f"{purpose}{len(tasks)}", dict.fromkeys(tasks, "p"), purpose=purpose).side
        return [one.key for one in trained_on(pool, [side])]

    assert keys("evaluation", taught, chose) == ["trained", "validation"]
    assert keys("validation", taught, chose) == ["trained"]
    assert keys("validation", chose) == []
    assert keys("evaluation", "b.py::x") == []
