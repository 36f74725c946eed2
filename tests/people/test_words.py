from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_thinkingbox.people.words import says, sentences


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("4711", "My pin is 4711."),
        ("4711", "PIN:4711"),
        ("4711", "It's 4-7-1-1."),
        ("4711", "four digits: 4 7 1 1"),
        ("4711", "٤٧١١"),
        ("4711", "密码是4711"),
        ("4711", "비밀번호는 4711입니다"),
        ("300", "no more than $300, please"),
        ("300", "300.00"),
        ("blue whale", "It is Blue  Whale"),
        ("blue whale", "it is\nBLUE\u00a0WHALE!"),
        ("blue whale", "blue\u200b whale"),
        ("straße", "STRASSE"),
        ("Café Müller", unicodedata.normalize("NFD", "café müller")),
        ("O'Neil", "O\u2019Neil"),
        ("HB-1042", "hb\u20111042"),
        ("+44 20 7946 0958", "call +442079460958"),
        ("+44 20 7946 0958", "call 44-20-7946-0958"),
        ("442079460958", "+44 (20) 7946 0958"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("תל אביב", "אני גר בתל אביב."),
        ("القاهرة", "أسكن بالقاهرة"),
        ("芝麻开门", "我的密码是芝麻开门。"),
        ("Москва", "Это москва."),
    ],
)
def test_a_value_is_found_however_it_is_written(value: str, text: str) -> None:
    assert says(value, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("4711", "14711"),
        ("4711", "47110"),
        ("4711", "4711.50"),
        ("4711", "4,711"),
        ("4711", "A4711"),
        ("711", "4,711"),
        ("300", "1,300"),
        ("Dan", "Dana"),
        ("Ann", "planning"),
        ("blue whale", "bluewhale"),
        ("blue whale", "blue sky, whale"),
        ("דן", "אדון"),
        ("Рим", "Пример"),
        ("4711", ""),
    ],
)
def test_a_part_of_something_else_is_not_the_value(value: str, text: str) -> None:
    assert not says(value, text)


@given(st.text(st.characters(categories=["L", "Nd", "Zs"]), min_size=1).filter(str.strip))
def test_any_value_is_found_among_other_words(value: str) -> None:
    assert says(value, f"- {value} -")
    assert says(value, f"({unicodedata.normalize('NFD', value)})")
    assert says(value, f"x\n{value.replace(' ', '  ')}\u200b.")


def test_numbers_after_a_dot_stay_in_their_sentence() -> None:
    assert sentences("My booking is no. 1042. Is that right? Yes\nGood") == [
        "My booking is no. 1042.",
        "Is that right?",
        "Yes",
        "Good",
    ]
    assert sentences("好的。订单是1042。对吗？") == ["好的。", "订单是1042。", "对吗？"]
