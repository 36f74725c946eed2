"""What left the house: the mails of an attempt, accounted for like changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pytest_thinkingbox.errors import MissingSink
from pytest_thinkingbox.state.accounting import Accounted
from pytest_thinkingbox.state.describe import describe_mail
from pytest_thinkingbox.state.expect import Mail
from pytest_thinkingbox.state.fits import Difference, fits_mail, mail_differences
from pytest_thinkingbox.state.matching import Bindings
from pytest_thinkingbox.state.model import ReceivedMail


class MailBox(Accounted[ReceivedMail, Mail]):
    """The mails that were sent, in order of arrival."""

    noun: ClassVar[str] = "mail"
    accepts: ClassVar[tuple[type, ...]] = (Mail,)

    __slots__ = ()

    def check(self, expectation: Mail) -> None:
        """A mail names nothing that could be unknown."""

    def fits(self, expectation: Mail, item: ReceivedMail) -> Bindings | None:
        return fits_mail(expectation, item)

    def differences(self, expectation: Mail, item: ReceivedMail, bound: Bindings) -> list[Difference] | None:
        return mail_differences(expectation, item, bound)

    def interchangeable(self, one: ReceivedMail, other: ReceivedMail) -> bool:
        fields = ("sender", "recipients", "subject", "text", "html", "attachments")
        return all(getattr(one, field) == getattr(other, field) for field in fields)

    def describe(self, item: ReceivedMail) -> str:
        return describe_mail(item)


class Outbox:
    """The sinks of an attempt. `mail` is None where the environment has no mail sink."""

    __slots__ = ("_mail",)

    def __init__(self, mail: Sequence[ReceivedMail] | None) -> None:
        self._mail = None if mail is None else MailBox(mail)

    @property
    def mail(self) -> MailBox:
        """The mails that were sent; raises MissingSink where there is no sink to tell."""
        if self._mail is None:
            raise MissingSink("outbox.mail: this environment has no mail sink (it says mail=False)")
        return self._mail

    def sinks(self) -> list[tuple[str, MailBox]]:
        """The sinks that there are, with the names by which a checker reaches them."""
        return [] if self._mail is None else [("attempt.outbox.mail", self._mail)]
