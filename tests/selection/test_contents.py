from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_thinkingbox.selection.contents import (
    Contents,
    World,
    contamination,
    grams_of,
    normalised,
    only_ids,
    overlaps,
    shared,
    template_of,
    text_digest,
    words_digest,
)
from tests.selection.builders import LONG, OTHER, contents


def test_only_letters_make_a_text() -> None:
    assert normalised("I'm on booking 1042 - CAFÉ, naïve!") == "i m on booking cafe naive"


def test_vowel_signs_do_not_make_another_text() -> None:
    assert normalised("שָׁלוֹם") == normalised("שלום")


@pytest.mark.parametrize(
    "same",
    ["please  CANCEL\nmy\tbooking", "Please can\u00adcel my book\u200bing.", "Please cancel my book-ing 7"],
)
def test_spaces_capitals_and_what_nobody_sees_do_not_make_another_text(same: str) -> None:
    assert text_digest(same) == text_digest("Please cancel my booking")


def test_what_nobody_sees_does_not_make_other_phrases() -> None:
    assert grams_of(LONG.replace("e", "e\u200b")) == grams_of(LONG)


def test_the_words_of_a_case_are_its_numbers_too() -> None:
    assert words_digest("Card 12, please ") == words_digest("card 12,\nplease")
    assert words_digest("Card 12, please") != words_digest("Card 13, please")


def test_a_text_of_twenty_words_has_eight_phrases_of_thirteen() -> None:
    assert len(LONG.split()) == 20
    assert len(grams_of(LONG)) == 8
    assert grams_of("twelve words are not enough to be told from any other text") == frozenset()


def test_a_text_without_words_is_nobodys() -> None:
    assert text_digest("42 !!") == ""


def test_cases_of_a_function_without_a_tag_are_one_template() -> None:
    assert template_of("t.py::test_a[1]", ("hard",)) == "t.py::test_a"
    assert template_of("t.py::test_a[1]", ("hard", "template:x")) == "template:x"


def test_disjoint_suites_have_nothing_in_common() -> None:
    pool, benchmark = contents("a.py::test_a", text=LONG), contents("b.py::test_b", text=OTHER)
    assert contamination(pool, benchmark) == {}
    assert overlaps(replace_world(pool, "v"), benchmark) == []


def replace_world(one: Contents, name: str, **named: object) -> Contents:
    return Contents(worlds=[replace(one.worlds[0], name=name, **named)], tasks=one.tasks)  # type: ignore[arg-type]


def test_a_task_of_the_same_id_is_found() -> None:
    found = contamination(contents("a.py::test_a"), contents("a.py::test_a"))
    assert found == {"a.py::test_a": ["it is on the benchmark's list"]}


@pytest.mark.parametrize("task", ["hotel/t.py::test_a[1-x/y]", "./bench/hotel/t.py::test_a[1-x/y] "])
def test_an_id_is_the_same_from_whatever_folder_pytest_was_called(task: str) -> None:
    found = contamination(contents("bench/hotel/t.py::test_a[1-x/y]"), only_ids([task], beside=None))
    assert list(found) == ["bench/hotel/t.py::test_a[1-x/y]"]


@pytest.mark.parametrize("task", ["bank/t.py::test_a", "hotel/t.py::test_b", "hotel/u.py::test_a"])
def test_an_id_of_another_folder_file_or_function_is_another(task: str) -> None:
    assert contamination(contents("bench/hotel/t.py::test_a"), only_ids([task], beside=None)) == {}


def test_environments_of_one_name_are_compared_one_by_one() -> None:
    def of(*policies: str) -> Contents:
        tasks = [contents(f"{policies[0][:2]}.py::t{at}").tasks.popitem()[1] for at in range(len(policies))]
        return Contents(
            worlds=[World(name="shop", policy_grams=grams_of(one)) for one in policies],
            tasks={one.task: replace(one, world=at) for at, one in enumerate(tasks)},
        )

    third = " ".join(LONG.split()[::-1])
    assert list(contamination(of(OTHER, LONG), of(LONG, third))) == [f"{OTHER[:2]}.py::t1"]


@pytest.mark.parametrize("kind", ["prompt", "user", "checker"])
def test_a_part_of_a_task_that_is_the_same_is_found(kind: str) -> None:
    pool, benchmark = contents("a.py::test_a", **{kind: "x"}), contents("b.py::test_b", **{kind: "x"})
    assert contamination(pool, benchmark) == {"a.py::test_a": [f"same {kind} as b.py::test_b"]}


@pytest.mark.parametrize("kind", ["policy", "seed"])
def test_a_world_that_is_the_same_is_found(kind: str) -> None:
    pool = contents("a.py::test_a", world=World(name="v", **{kind: "x"}))
    benchmark = contents("b.py::test_b", world=World(name="w", **{kind: "x"}))
    assert contamination(pool, benchmark) == {"a.py::test_a": [f"same {kind} as b.py::test_b"]}


def test_what_nobody_has_is_not_the_same() -> None:
    assert contamination(contents("a.py::test_a"), contents("b.py::test_b")) == {}


def test_half_of_the_phrases_make_a_copy() -> None:
    """16 words of the same 20: 4 of the shorter text's 8 phrases."""
    words = LONG.split()
    four, three = " ".join([*words[:16], *OTHER.split()[:4]]), " ".join([*words[:15], *OTHER.split()[:5]])
    benchmark = contents("b.py::test_b", text=LONG)
    found = contamination(contents("a.py::test_a", text=four), benchmark)
    assert found == {
        "a.py::test_a": [
            "the prompt of a.py::test_a shares 4 of 8 phrases of 13 words with the prompt of b.py::test_b"
        ]
    }
    assert contamination(contents("a.py::test_a", text=three), benchmark) == {}


def test_a_short_prompt_inside_of_a_long_one_is_a_copy() -> None:
    found = contamination(
        contents("a.py::test_a", text=f"{OTHER} {LONG} {OTHER}"), contents("b.py::test_b", text=LONG)
    )
    assert "shares 8 of 8 phrases" in found["a.py::test_a"][0]


def test_a_list_of_ids_is_a_benchmark_too() -> None:
    benchmark = only_ids(["a.py::test_a"], beside=contents("b.py::test_b", text=LONG))
    assert list(benchmark.tasks) == ["b.py::test_b", "a.py::test_a"]
    assert list(contamination(contents("a.py::test_a", "c.py::test_c"), benchmark)) == ["a.py::test_a"]
    assert list(contamination(contents("c.py::test_c", text=LONG), benchmark)) == ["c.py::test_c"]


def test_what_two_suites_share_without_being_the_same_is_named() -> None:
    mine = contents("a.py::test_a", world=World(name="v", tools=("find", "close"), policy="x"))
    theirs = contents("b.py::test_b", world=World(name="w", tools=("find",), policy="y"))
    assert shared(mine, theirs) == {
        "tools": ["find"], "schemas": [], "policies": [], "seeds": [], "templates": []
    }  # fmt: skip


def test_a_part_of_a_suite_brings_its_worlds_only() -> None:
    both = Contents(
        worlds=[World(name="v"), World(name="w")],
        tasks=contents("a.py::test_a").tasks | {"b": replace(contents("b").tasks["b"], world=1)},
    )
    part = both.only(["b"])
    assert [one.name for one in part.worlds] == ["w"]
    assert part.tasks["b"].world == 0


def test_contents_survive_the_way_between_processes() -> None:
    world = World(name="v", names=("v", "inn"), tables=("t",), columns={"id INTEGER": "t"}, tools=("find",))
    made = contents("a.py::test_a", text=LONG, tags=("x",), world=world)
    assert Contents.from_json(made.to_json()) == made
