"""What a person reads of a proof."""

from __future__ import annotations

from pytest_thinkingbox.proof.judge import Fate, Mutant, SuiteProof, TaskProof
from pytest_thinkingbox.proof.model import Mutation
from pytest_thinkingbox.proof.report import as_json, lines_of


def mutant(fate: Fate, words: str = "left out: call 1, pay()", unseen: tuple[str, ...] = ()) -> Mutant:
    return Mutant(mutation=Mutation(kind="drop", at=1), attempt=1, fate=fate, words=words, unseen=unseen)


def task(
    *fates: Fate, name: str = "suites/hotel/test_a.py::test_x", problems: tuple[str, ...] = ()
) -> TaskProof:
    return TaskProof(task=name, mutants=[mutant(one) for one in fates], problems=problems)


def printed(*tasks: TaskProof, min_score: float = 1.0) -> str:
    return "\n".join(lines_of(SuiteProof(tasks=tasks), min_score=min_score))


def test_the_score_counts_killed_and_survived_only() -> None:
    proof = task("killed", "killed", "killed", "survived", "equivalent", "refused")
    assert proof.score == 0.75
    assert (
        "75 %: 3 of 4 mutants killed, 1 survived (1 did the same as the solution, 1 were refused"
        in printed(proof)
    )


def test_one_survivor_of_many_is_never_rounded_away() -> None:
    proof = SuiteProof(tasks=[task(*["killed"] * 999, "survived")])
    assert "score     99 %" in "\n".join(lines_of(proof, min_score=1.0))
    assert not proof.holds(1.0)
    assert proof.holds(0.999)


def test_a_problem_refuses_a_task_whatever_its_score() -> None:
    proof = SuiteProof(tasks=[task("killed", problems=("an agent that does nothing passes",))])
    assert not proof.holds(0.0)
    text = "\n".join(lines_of(proof, min_score=0.0))
    assert "REFUSED" in text
    assert "refused: an agent that does nothing passes" in text
    assert "1 of 1 tasks are refused" in text


def test_nothing_is_proved_without_tasks() -> None:
    assert not SuiteProof(tasks=[]).holds(0.0)
    assert "no task was found" in printed()


def test_a_task_without_mutants_has_no_score() -> None:
    assert task("equivalent").score is None
    assert SuiteProof(tasks=[task("equivalent")]).holds(1.0)


def test_a_folder_that_all_tasks_share_is_written_once() -> None:
    text = printed(task("killed"), task("killed", name="suites/hotel/sub/test_b.py::test_y"))
    assert text.splitlines()[0].startswith("task in suites/hotel/ ")
    assert text.splitlines()[2].startswith("sub/test_b.py::test_y ")
    assert printed(task("killed", name="test_b.py::test_y")).startswith("task ")


def test_what_agents_wrote_cannot_move_the_cursor() -> None:
    proof = TaskProof(task="t.py::test_x", mutants=[mutant("survived", unseen=("more: \x1b[2J\u202e",))])
    assert "\x1b" not in printed(proof)
    assert "\u202e" not in printed(proof)


def test_programs_read_everything() -> None:
    data = as_json(SuiteProof(tasks=[task("killed", "survived")], skipped=["t"]), min_score=0.5)
    assert (data["holds"], data["score"], data["skipped"]) == (True, 0.5, ["t"])
    assert [one["fate"] for one in data["tasks"][0]["mutants"]] == ["killed", "survived"]
