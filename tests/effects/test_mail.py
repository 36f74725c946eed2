from __future__ import annotations

import asyncio
import smtplib
import socket
import time
from collections.abc import Callable
from email.message import EmailMessage

import pytest

from pytest_thinkingbox.effects.mail import MailSink, open_mail_sink
from pytest_thinkingbox.state.model import Attachment, ReceivedMail


def sent(*send: Callable[[smtplib.SMTP], object]) -> list[ReceivedMail]:
    """What a sink holds after these were called, each with a connection of its own, one after the other."""

    async def play() -> list[ReceivedMail]:
        async with open_mail_sink() as sink:
            for one in send:
                await asyncio.to_thread(deliver, sink, one)
        return sink.received

    return asyncio.run(play())


def deliver(sink: MailSink, send: Callable[[smtplib.SMTP], object]) -> None:
    with smtplib.SMTP(sink.host, sink.port, timeout=10) as client:
        send(client)


def mail(text: str = "Hello.", *, to: str = "manager@example.com", subject: str = "Approval") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Desk <desk@example.com>", to, subject
    message.set_content(text)
    return message


def raw(content: bytes) -> Callable[[smtplib.SMTP], object]:
    return lambda client: client.sendmail("a@x.com", ["b@x.com"], content)


def test_a_mail_arrives_with_envelope_subject_text_and_headers() -> None:
    (received,) = sent(lambda client: client.send_message(mail("First line.\nSecond line.")))
    assert received.sender == "desk@example.com"
    assert received.recipients == ("manager@example.com",)
    assert received.subject == "Approval"
    assert received.text == "First line.\nSecond line."
    assert received.html == ""
    assert received.attachments == ()
    assert received.headers["From"] == "Desk <desk@example.com>"


def test_the_recipients_are_those_of_the_envelope_hidden_ones_too() -> None:
    (received,) = sent(
        lambda client: client.send_message(
            mail(), to_addrs=["a@example.com", "b@example.com", "hidden@example.com"]
        )
    )
    assert received.recipients == ("a@example.com", "b@example.com", "hidden@example.com")


def test_the_order_of_arrival_is_kept() -> None:
    received = sent(*(lambda client, n=n: client.send_message(mail(str(n))) for n in range(5)))
    assert [one.text for one in received] == ["0", "1", "2", "3", "4"]


def test_one_connection_may_send_many() -> None:
    def send(client: smtplib.SMTP) -> None:
        for number in range(3):
            client.send_message(mail(str(number)))

    assert [one.text for one in sent(send)] == ["0", "1", "2"]


def test_encoded_subjects_and_bodies_are_decoded() -> None:
    message = mail("Grüße aus Köln \U0001f3e8", subject="Bestätigung für Zoë")
    (received,) = sent(lambda client: client.send_message(message))
    assert received.subject == "Bestätigung für Zoë"
    assert received.text == "Grüße aus Köln \U0001f3e8"


def test_addresses_may_be_written_in_any_script() -> None:
    message = mail(to="дана@пример.рф")
    (received,) = sent(lambda client: client.send_message(message))
    assert received.recipients == ("дана@пример.рф",)


def test_text_html_and_attachments_are_told_apart() -> None:
    message = mail("plain words")
    message.add_alternative("<p>rich words</p>", subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="rechnung märz.pdf")
    message.add_attachment(b"\x00", maintype="image", subtype="png")
    (received,) = sent(lambda client: client.send_message(message))
    assert (received.text, received.html) == ("plain words", "<p>rich words</p>")
    assert received.attachments == (
        Attachment(name="rechnung märz.pdf", type="application/pdf", data=b"%PDF"),
        Attachment(name="image/png", type="image/png", data=b"\x00"),
    )


def test_a_mail_of_5_mb_arrives() -> None:
    message = mail("x" * 70 + "\n")
    message.add_attachment(b"\x07" * 5_000_000, maintype="application", subtype="zip", filename="a.zip")
    (received,) = sent(lambda client: client.send_message(message))
    (attachment,) = received.attachments
    assert (attachment.name, attachment.data == b"\x07" * 5_000_000) == ("a.zip", True)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", ""),
        (b"no header at all", "no header at all"),
        (b"Subject: x\r\nContent-Type: text/plain; charset=klingon\r\n\r\nnuqneH \xc3\xa9", "nuqneH é"),
        (b"Content-Transfer-Encoding: base64\r\n\r\n!!! not base64 !!!", None),
        (b"Content-Type: multipart/mixed; boundary=x\r\n\r\nno part", None),
        (b"Content-Type: multipart/mixed\r\n\r\nno boundary", None),
        (b"Content-Type: ;;;;\r\nSubject: =?utf-8?q?=zz?= =?klingon?b?eA==?=\r\n\r\nbody", "body"),
        (b"To: <<>>@@,,;;\r\nDate: yesterday\r\nMessage-ID: <\r\n\r\nbody", "body"),
        (b"Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\ndeep", None),
        (b"Subject: a\r\n b\r\nX-\xff: \xfe\r\n\r\n\xff\xfe\x00 raw", None),
        (b"Content-Disposition: attachment; filename*=klingon''%ff\r\n\r\nbody", None),
    ],
)
def test_a_malformed_mail_is_received_all_the_same(content: bytes, text: str | None) -> None:
    received = sent(raw(content), lambda client: client.send_message(mail("after")))
    assert [one.sender for one in received] == ["a@x.com", "desk@example.com"]
    assert received[1].text == "after"
    if text is not None:
        assert received[0].text == text


def test_a_repeated_header_keeps_all_values() -> None:
    (received,) = sent(raw(b"X-Tag: one\r\nX-Tag: two\r\nSUBJECT: loud\r\n\r\nbody"))
    assert received.headers["X-Tag"] == "one, two"
    assert received.subject == "loud"


def test_a_closed_sink_refuses_connections() -> None:
    async def play() -> int:
        async with open_mail_sink() as sink:
            await asyncio.to_thread(deliver, sink, lambda client: client.noop())
        return sink.port

    port = asyncio.run(play())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()


def test_a_session_that_was_open_at_the_close_adds_nothing_more() -> None:
    async def play() -> tuple[list[ReceivedMail], type[Exception] | None]:
        async with open_mail_sink() as sink:
            client = await asyncio.to_thread(smtplib.SMTP, sink.host, sink.port, timeout=10)
            await asyncio.to_thread(client.send_message, mail("in time"))
            await asyncio.to_thread(client.docmd, "MAIL FROM:<a@x.com>")
            await asyncio.to_thread(client.docmd, "RCPT TO:<b@x.com>")
            await asyncio.to_thread(client.docmd, "DATA")
        raised: type[Exception] | None = None
        try:
            client.send(b"Subject: late\r\n\r\ntoo late\r\n.\r\n")
            await asyncio.to_thread(client.getreply)
        except (smtplib.SMTPServerDisconnected, ConnectionError) as error:
            raised = type(error)
        finally:
            client.close()
        return sink.received, raised

    received, raised = asyncio.run(play())
    assert [one.text for one in received] == ["in time"]
    assert raised is not None


def test_sinks_of_attempts_at_the_same_time_are_apart() -> None:
    async def attempt(word: str) -> list[str]:
        async with open_mail_sink() as sink:
            await asyncio.to_thread(deliver, sink, lambda client: client.send_message(mail(word)))
        return [one.text for one in sink.received]

    async def play() -> list[list[str]]:
        return await asyncio.gather(*(attempt(str(n)) for n in range(10)))

    assert asyncio.run(play()) == [[str(n)] for n in range(10)]


def test_a_sink_that_gets_no_mail_costs_about_a_millisecond() -> None:
    async def play() -> float:
        times = []
        for _ in range(20):
            started = time.perf_counter()
            async with open_mail_sink():
                times.append(time.perf_counter() - started)
        return min(times)

    assert asyncio.run(play()) < 0.002
