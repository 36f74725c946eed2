from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import ANY

import pytest

from pytest_thinkingbox.errors import MissingSink
from pytest_thinkingbox.state.expect import Inserted, Mail, Same
from pytest_thinkingbox.state.outbox import MailBox, Outbox
from tests.state.world import mail

MANAGER, GUEST = "manager@example.com", "dana@example.com"


def test_mails_are_compared_in_any_order_and_stay_in_order_of_arrival() -> None:
    box = MailBox([mail(MANAGER), mail(GUEST)])
    assert box == [Mail(to=GUEST), Mail(to=MANAGER)]
    assert [one.recipients for one in box] == [(MANAGER,), (GUEST,)]


def test_fields_that_are_not_named_are_free() -> None:
    assert MailBox([mail(MANAGER)]) == [Mail()]
    assert MailBox([mail(MANAGER)]) == [
        Mail(to=MANAGER, subject="Hi", text="Hello", sender="agent@hotel.example")
    ]


@pytest.mark.parametrize(
    "wrong", [{"to": GUEST}, {"subject": "Ho"}, {"text": "Hello there"}, {"sender": GUEST}]
)
def test_every_named_field_is_compared(wrong: dict[str, Any]) -> None:
    assert MailBox([mail(MANAGER)]) != [Mail(**wrong)]


def test_to_names_all_recipients_in_any_order() -> None:
    box = MailBox([mail(MANAGER, GUEST)])
    assert box == [Mail(to=[GUEST, MANAGER])]
    assert box != [Mail(to=MANAGER)]
    assert box != [Mail(to=[MANAGER])]
    assert box != [Mail(to=[MANAGER, GUEST, GUEST])]
    assert box != [Mail(to=[MANAGER, MANAGER])]
    assert box == [Mail(to=[ANY, MANAGER])]
    assert box == [Mail(to=[Same("someone"), MANAGER], subject="Hi")]


def test_the_domain_of_an_address_has_no_case_and_the_name_has() -> None:
    box = MailBox([mail("Manager@Example.com")])
    assert box == [Mail(to="Manager@example.COM")]
    assert box != [Mail(to="manager@example.com")]


def test_how_lines_end_is_not_the_text() -> None:
    box = MailBox([mail(GUEST, text="Dear Dana,\r\nyes.\r\n")])
    assert box == [Mail(text="Dear Dana,\nyes.")]
    assert box != [Mail(text="Dear Dana, yes.")]


def test_any_object_may_stand_for_a_field() -> None:
    class Contains:
        def __init__(self, part: str) -> None:
            self.part = part

        def __eq__(self, other: object) -> bool:
            return isinstance(other, str) and self.part in other

        __hash__ = None  # type: ignore[assignment]

    box = MailBox([mail(GUEST, text="Your booking 1042 is cancelled.")])
    assert box == [Mail(to=ANY, text=Contains("1042"))]
    assert box != [Mail(text=Contains("1043"))]


def test_same_links_mails() -> None:
    assert MailBox([mail(MANAGER, subject="A"), mail(GUEST, subject="A")]) == [
        Mail(to=MANAGER, subject=Same("s")),
        Mail(to=GUEST, subject=Same("s")),
    ]
    assert MailBox([mail(MANAGER, subject="A"), mail(GUEST, subject="B")]) != [
        Mail(to=MANAGER, subject=Same("s")),
        Mail(to=GUEST, subject=Same("s")),
    ]


def test_mails_obey_the_same_accounting() -> None:
    box = MailBox([mail(MANAGER), mail(GUEST)])
    assert box != [Mail(to=MANAGER)]
    assert len(box.unaccounted()) == 2
    assert box.take(Mail(to=MANAGER)) == mail(MANAGER)
    assert box.unaccounted() == [mail(GUEST)]
    assert box == [Mail(to=GUEST)]
    assert box.unaccounted() == []


def test_take_raises_when_mails_differ_in_what_was_sent() -> None:
    box = MailBox([mail(GUEST, text="a"), mail(GUEST, text="b")])
    with pytest.raises(AssertionError, match="2 mails are"):
        box.take(Mail(to=GUEST))
    same = MailBox([mail(GUEST), replace(mail(GUEST), headers={"Message-ID": "2"})])
    assert same.take(Mail(to=GUEST)) == mail(GUEST)


def test_only_mails_can_be_expected() -> None:
    with pytest.raises(TypeError, match="is no Mail, so it can be no mail"):
        MailBox([mail(GUEST)]).__eq__([Inserted("mails")])
    with pytest.raises(TypeError, match="mails are compared with a list of Mail, not with str"):
        MailBox([]).__eq__(GUEST)


def test_no_mail_equals_an_empty_list() -> None:
    assert Outbox([]).mail == []


def test_the_mailbox_remembers_what_was_accounted_for() -> None:
    outbox = Outbox([mail(GUEST)])
    assert outbox.mail == [Mail()]
    assert outbox.mail.unaccounted() == []


def test_a_sink_that_is_not_there_raises_and_is_never_empty() -> None:
    with pytest.raises(MissingSink, match="this environment has no mail sink"):
        _ = Outbox(None).mail
