"""The comparison of a page's output with the real one would find what is missing, wrong or unsaid."""

from __future__ import annotations

from tests.pages import Block, commands_of, difference


def test_equal_lines_fit() -> None:
    assert difference(["one", "two"], ["one", "two"]) is None


def test_a_line_that_is_not_there_is_named() -> None:
    assert difference(["one", "three"], ["one", "two"]) == "not in the output after line 1: 'three'"


def test_a_line_left_out_without_saying_so_is_found() -> None:
    assert difference(["one", "three"], ["one", "two", "three"]) is not None
    assert difference(["one", "...", "three"], ["one", "two", "three"]) is None


def test_an_end_left_out_without_saying_so_is_found() -> None:
    assert difference(["one"], ["one", "two"]) == "the page does not show: 'two'"
    assert difference(["one", "..."], ["one", "two"]) is None


def test_dots_in_a_line_stand_for_any_text_and_the_rest_for_itself() -> None:
    assert difference(["time  ... in 20 attempts"], ["time  1.5 s in 20 attempts"]) is None
    assert difference(["time  ... in 20 attempts"], ["time  1.5 s in 19 attempts"]) is not None


def test_a_console_block_is_commands_with_their_output() -> None:
    block = Block("console", "$ pytest -k 'a b'\none\n$ thinkingbox report .thinkingbox\n")
    first, second = commands_of(block)
    assert (first.words, first.expected) == (["pytest", "-k", "a b"], ["one"])
    assert (second.words, second.expected) == (["thinkingbox", "report", ".thinkingbox"], [])


def test_a_block_that_begins_with_a_file_name_is_that_file() -> None:
    assert Block("python", "# shop/test_one.py\nimport pytest\n").file == "shop/test_one.py"
    assert Block("python", "import pytest\n").file is None
    assert Block("yaml", "# ci.toml\n").file is None
