"""What left the house: mails, requests and files of an attempt, accounted for like changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pytest_thinkingbox.errors import MissingSink
from pytest_thinkingbox.state.accounting import Accounted
from pytest_thinkingbox.state.describe import describe_mail, describe_received
from pytest_thinkingbox.state.expect import File, Mail, Webhook
from pytest_thinkingbox.state.fields import field_differences, fits_fields
from pytest_thinkingbox.state.fits import Difference, fits_mail, mail_differences
from pytest_thinkingbox.state.matching import Bindings
from pytest_thinkingbox.state.model import ReceivedMail
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest


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


class RequestBox(Accounted[ReceivedRequest, Webhook]):
    """The requests that reached the HTTP sink, in order of arrival."""

    noun: ClassVar[str] = "request"
    accepts: ClassVar[tuple[type, ...]] = (Webhook,)

    __slots__ = ()

    def check(self, expectation: Webhook) -> None:
        """A request names nothing that could be unknown."""

    def fits(self, expectation: Webhook, item: ReceivedRequest) -> Bindings | None:
        return fits_fields(expectation, item)

    def differences(
        self, expectation: Webhook, item: ReceivedRequest, bound: Bindings
    ) -> list[Difference] | None:
        return field_differences(expectation, item, bound)

    def interchangeable(self, one: ReceivedRequest, other: ReceivedRequest) -> bool:
        return request_content(one) == request_content(other)

    def describe(self, item: ReceivedRequest) -> str:
        return describe_received(item)


class FileBox(Accounted[FileChange, File]):
    """The files of the working directory that were added, changed or removed, by path."""

    noun: ClassVar[str] = "file"
    accepts: ClassVar[tuple[type, ...]] = (File,)

    __slots__ = ()

    def check(self, expectation: File) -> None:
        """A file that did not change is simply not there."""

    def fits(self, expectation: File, item: FileChange) -> Bindings | None:
        return fits_fields(expectation, item)

    def differences(self, expectation: File, item: FileChange, bound: Bindings) -> list[Difference] | None:
        return field_differences(expectation, item, bound)

    def interchangeable(self, one: FileChange, other: FileChange) -> bool:
        return one == other

    def describe(self, item: FileChange) -> str:
        return describe_received(item)


def request_content(request: ReceivedRequest) -> tuple[object, ...]:
    """What two requests have to share to say the same: not their headers, which hold clocks and versions."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return request.method, request.path, dict(request.query), kind, request.data


class Outbox:
    """The sinks of an attempt; each is None where the environment does not have it."""

    __slots__ = ("_files", "_http", "_mail")

    def __init__(
        self,
        mail: Sequence[ReceivedMail] | None,
        http: Sequence[ReceivedRequest] | None = None,
        files: Sequence[FileChange] | None = None,
    ) -> None:
        self._mail = None if mail is None else MailBox(mail)
        self._http = None if http is None else RequestBox(http)
        self._files = None if files is None else FileBox(files)

    @property
    def mail(self) -> MailBox:
        """The mails that were sent; raises MissingSink where there is no sink to tell."""
        if self._mail is None:
            raise MissingSink("outbox.mail: this environment has no mail sink (it says mail=False)")
        return self._mail

    @property
    def http(self) -> RequestBox:
        """The requests that reached the HTTP sink; raises MissingSink where there is none."""
        if self._http is None:
            raise MissingSink(
                "outbox.http: this environment has no HTTP sink (give Environment(http=True), or its replies)"
            )
        return self._http

    @property
    def files(self) -> FileBox:
        """What became of the files of the working directory; raises MissingSink where there is none."""
        if self._files is None:
            raise MissingSink(
                "outbox.files: this environment has no working directory (give Environment(workdir=True), "
                "or the path of a folder to start from)"
            )
        return self._files

    def sinks(self) -> list[tuple[str, Sink]]:
        """The sinks that there are, with the names by which a checker reaches them."""
        named = (("mail", self._mail), ("http", self._http), ("files", self._files))
        return [(f"attempt.outbox.{name}", box) for name, box in named if box is not None]


Sink = MailBox | RequestBox | FileBox
