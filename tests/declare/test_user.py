from __future__ import annotations

import re

import pytest

from pytest_thinkingbox import Fact, Script, User


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: User(" "), "User: context=' ' must be a non-empty string"),
        (
            lambda: User("Dana", private=["4711"]),
            "User: private=['4711'] must be a dictionary of values by name",
        ),
        (lambda: User("Dana", private={"pin": 4711}), "User: private['pin']=4711 must be a non-empty string"),
        (lambda: User("Dana", private={"": "4711"}), "User: private name='' must be a non-empty string"),
        (
            lambda: User("Dana", private={"pin": "47"}),
            "private['pin']='47' must be at least 3 letters or digits",
        ),
        (
            lambda: User("Dana", facts={"booking": 1042}),
            "User: facts['booking']=1042 must be a non-empty string",
        ),
        (
            lambda: User("Dana", facts={"name": "Dana"}),
            "value='Dana' must be a value with digits in it, or come with",
        ),
        (
            lambda: User("Dana", private={"pin": "4711"}, facts={"pin": "4711"}),
            "User: facts['pin']='4711' must be under another name: it is private already",
        ),
        (lambda: User("Dana", end_markers=[]), "User: end_markers=() must be at least one marker"),
        (lambda: User("Dana", end_markers="STOP"), "a list of strings, for example ['STOP']"),
        (lambda: Fact("1042", never="1043"), "Fact: never='1043' must be a list of strings"),
        (lambda: Script([]), "Script: lines=() must be at least one line"),
        (lambda: Script("Hello"), "Script: lines='Hello' must be a list of strings"),
        (lambda: Script(["Hello", ""]), "Script: lines item='' must be a non-empty string"),
    ],
)
def test_a_wrong_argument_is_named(make, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        make()


def test_users_are_equal_when_their_notes_are():
    assert User("Dana", private={"pin": "4711"}) == User("Dana", private={"pin": "4711"})
    assert User("Dana", private={"pin": "4711"}) != User("Dana")


def test_a_fact_in_words_is_checked_by_what_contradicts_it():
    user = User("Dana", facts={"booking": "1042", "manager": Fact("not asked", never=["he agreed"])})
    assert user.checked == {"booking": Fact("1042"), "manager": Fact("not asked", never=["he agreed"])}
