"""Free text is accepted for what it names, and for nothing that only looks like it."""

from __future__ import annotations

import pytest

from example_suites.common.words import Mentions


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("HB-1042", "about booking hb-1042."),
        ("1,450.00", "you get $1450.00 back"),
        ("1450.00", "you get 1,450.00 USD"),
        ("1,234,567.89", "the sum is 1234567.89"),
        ("19", "on 2026-11-19, the 19th"),
        ("19", "19.11.2026"),
        ("KB-8", "see KB-8, KB-80"),
        ("3", "rooms 3,18 and 20"),
        ("Harbour Air Show", "the HARBOUR AIR SHOW's days"),
    ],
)
def test_a_text_that_names_it_is_equal(word: str, text: str) -> None:
    assert text == Mentions(word)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("18", "118 rooms"),
        ("18", "180 rooms"),
        ("KB-8", "see KB-80"),
        ("450.00", "1,450.00"),
        ("172.34", "172.345"),
        ("318", "rooms 3,18"),
        ("HB-1042", "HB-10420"),
        ("1,450.00", "1,45.00"),
    ],
)
def test_a_number_is_not_found_in_another(word: str, text: str) -> None:
    assert text != Mentions(word)


def test_each_of_several_words_must_be_there() -> None:
    assert Mentions("20.00", "HB-1042") == "HB-1042 for 20.00"
    assert Mentions("20.00", "HB-1042") != "HB-1042 for 21.00"


def test_only_text_can_mention() -> None:
    assert Mentions("18") != 18
