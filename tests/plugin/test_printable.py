"""What agents wrote, in the terminal and on the wire."""

from __future__ import annotations

import pytest

from pytest_thinkingbox.plugin.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nin lines, זועי, \U0001f600", "plain\ttext\nin lines, זועי, \U0001f600"),
        ("\x1b[2Jcleared", "\\x1b[2Jcleared"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("bell \a, back \b, home \r, nul \0", "bell \\x07, back \\x08, home \\r, nul \\x00"),
        ("half \ud800", "half \\ud800"),
        ("turned \u202e round", "turned \\u202e round"),
        ("line\u2028line", "line\\u2028line"),
        ("\x9b31m", "\\x9b31m"),
    ],
)
def test_what_a_terminal_would_obey_is_written_as_an_escape(text, shown):
    assert printable(text) == shown


def test_colors_stay_where_they_are_allowed_and_nothing_else_does():
    text = "\x1b[1;31mred\x1b[0m \x1b[2J \x1b]0;title\a"
    assert printable(text, colors=True) == "\x1b[1;31mred\x1b[0m \\x1b[2J \\x1b]0;title\\x07"


def test_kept_characters_stay():
    assert printable("50 %\r60 %\0", keep="\r") == "50 %\r60 %\\x00"


def test_the_colors_of_pytests_own_explanations_survive(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(attempt):
        assert {"a": 1, "b": "\\x1b[2J"} == {"a": 2, "b": "\\x1b[2J"}
    """)
    text = run("--color=yes", "-vv").text
    assert "\x1b[2J" not in text
    assert "\\x1b[" not in text.replace("\\x1b[2J", "")
    assert "\x1b[31m" in text
