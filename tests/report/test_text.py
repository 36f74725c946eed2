from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_thinkingbox.report.text import (
    bar,
    cut,
    escape,
    escape_lines,
    pad,
    percent,
    shorten_all,
    width_of,
    wrap,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain text, שלום, 日本, 🙂", "plain text, שלום, 日本, 🙂"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc\rd\0", r"a\nb\tc\rd\x00"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("\ud800", r"\ud800"),
        ("\uffff\ufdd0\u0378", "\\uffff\\ufdd0\u0378"),
        ("a\u202eb\u2066c\u2028d", r"a\u202eb\u2066c\u2028d"),
        ("👩\u200d🔬 می\u200cخواهم", "👩\u200d🔬 می\u200cخواهم"),  # joiners belong to words and faces
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, safe: str) -> None:
    assert escape(text) == safe


@given(ANY_TEXT)
def test_escaped_text_is_one_line_that_can_be_encoded(text: str) -> None:
    safe = escape(text)
    safe.encode("utf-8")
    assert len(safe.splitlines()) <= 1
    assert "\x1b" not in safe


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("日本語", 6), ("שלום", 4), ("e\u0301", 1), ("🙂", 2), ("ﾊﾝ", 2), ("", 0)],
)
def test_columns_are_those_of_the_terminal(text: str, columns: int) -> None:
    assert width_of(text) == columns
    assert width_of(pad(text, 10)) == 10


@given(ANY_TEXT.map(escape), st.integers(4, 40))
def test_cut_text_never_takes_more_columns(text: str, width: int) -> None:
    assert width_of(cut(text, width)) <= width


def test_cut_text_says_that_something_is_missing() -> None:
    assert cut("abcdefghij", 10) == "abcdefghij"
    assert cut("abcdefghijk", 10) == "abcdefg..."
    assert cut("日本語日本語", 10) == "日本語..."


def test_long_names_are_shortened_in_the_middle() -> None:
    assert shorten_all(["test_refund_of_a_long_stay[company]", "test_a"], 20) == [
        "test_ref...[company]",
        "test_a",
    ]


def test_names_that_part_only_in_the_middle_stay_different() -> None:
    names = [f"test_of_the_hotel_{word}_and_its_many_guests" for word in ("alpha", "beta", "gamma")]
    short = shorten_all(names, 26)
    assert len(set(short)) == 3
    assert max(map(len, short)) <= 26


def test_names_that_no_cut_tells_apart_are_numbered() -> None:
    names = ["x" * 50 + str(number) + "y" * 50 for number in range(3)]
    assert shorten_all([*names, names[0]], 20) == [
        "xxxxxxx...yyyyyyyy#1",
        "xxxxxxx...yyyyyyyy#2",
        "xxxxxxx...yyyyyyyy#3",
        "xxxxxxx...yyyyyyyy#1",
    ]


@given(st.lists(ANY_TEXT.map(escape), unique=True, max_size=8), st.integers(12, 30))
def test_different_names_stay_different_and_fit(names: list[str], width: int) -> None:
    short = shorten_all(names, width)
    assert len(set(short)) == len(names)
    assert all(width_of(one) <= width for one in short)


@pytest.mark.parametrize(
    ("share", "drawn"),
    [
        (0.0, ".........."),
        (0.001, "#........."),
        (0.5, "#####....."),
        (0.999, "#########."),
        (1.0, "##########"),
    ],
)
def test_a_bar_is_full_only_for_all_and_empty_only_for_none(share: float, drawn: str) -> None:
    assert bar(share, 10) == drawn


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.0, 0, "0 %"),
        (0.001, 0, "1 %"),
        (0.999, 0, "99 %"),
        (1.0, 0, "100 %"),
        (0.99999, 1, "99.9 %"),
        (0.00001, 1, "0.1 %"),
        (0.51696, 1, "51.7 %"),
    ],
)
def test_per_cent_is_100_only_for_all_and_0_only_for_none(share: float, digits: int, text: str) -> None:
    assert percent(share, digits) == text


def test_lines_break_at_spaces_and_long_words_stay_whole() -> None:
    assert wrap("one two three /a/very/long/path end", 9) == ["one two", "three", "/a/very/long/path", "end"]
    assert wrap("  indented", 20) == ["  indented"]


def test_a_block_of_text_keeps_its_lines_and_tabs_and_nothing_else_that_moves() -> None:
    assert escape_lines("a\tb\r\nc\x00\rd\u202e\ud800") == "a\tb\nc\\x00\\rd\\u202e\\ud800"
