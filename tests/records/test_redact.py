from __future__ import annotations

import json

import pytest

from pytest_thinkingbox.records.redact import Redactor

KEY = 'sk-proj-4f"\\é/9'


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {KEY}",
        f"twice {KEY} and {KEY}",
        json.dumps({"key": KEY}),
        "https://host/?key=sk-proj-4f%22%5C%C3%A9%2F9",
    ],
)
def test_a_secret_is_hidden_as_written_in_json_and_in_urls(text: str) -> None:
    redactor = Redactor(secrets=[KEY])
    assert redactor.in_json(json.dumps(text))
    hidden = redactor.text(text)
    assert "[hidden]" in hidden
    assert "sk-proj" not in hidden


def test_secrets_are_hidden_in_keys_and_deep_inside() -> None:
    redactor = Redactor(secrets=["correct-horse"])
    assert redactor.value({"a correct-horse": [{"b": "correct-horse!"}, 5, None, True, 1.5]}) == {
        "a [hidden]": [{"b": "[hidden]!"}, 5, None, True, 1.5]
    }


def test_a_password_of_a_url_is_hidden_as_written_and_decoded() -> None:
    redactor = Redactor(urls=["postgresql://app:p%40ssword-1@db:5432/hotel"])
    assert redactor.text("p@ssword-1 p%40ssword-1") == "[hidden] [hidden]"


def test_a_short_password_is_hidden_in_urls_only() -> None:
    redactor = Redactor(urls=["postgresql://test:test@db/hotel"])
    assert redactor.text("tests/test_a.py: postgresql://test:test@db/hotel") == (
        "tests/test_a.py: postgresql://test:[hidden]@db/hotel"
    )


def test_the_password_of_one_more_url_is_hidden_beside_the_others() -> None:
    known = Redactor(secrets=["correct-horse"], urls=["postgresql://app:administrator@db/hotel"])
    more = known.knowing("postgresql+psycopg://agent:of-one-attempt@db/clone")
    assert more.text("correct-horse administrator of-one-attempt") == "[hidden] [hidden] [hidden]"
    assert known.text("of-one-attempt") == "of-one-attempt"
    assert known.knowing("sqlite:////tmp/a.db") is known
    assert known.knowing(None) is known


def test_a_secret_that_holds_another_one_goes_first() -> None:
    redactor = Redactor(secrets=["abcdefgh", "abcdefgh-and-more"])
    assert redactor.text("abcdefgh-and-more abcdefgh") == "[hidden] [hidden]"


def test_without_secrets_nothing_changes() -> None:
    redactor = Redactor(secrets=["", ""], urls=["sqlite://"])
    assert not redactor.in_json('"anything"')
    assert redactor.text("anything") == "anything"
