"""The sinks with what people send mails and webhooks with, in another process."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from pytest_thinkingbox.effects.http import open_http_sink
from pytest_thinkingbox.effects.mail import open_mail_sink
from pytest_thinkingbox.state.expect import Mail, Webhook
from pytest_thinkingbox.state.outbox import Outbox

SENDER = """
import asyncio, sys
from email.message import EmailMessage

import aiosmtplib
import apprise

mail_host, mail_port, http_host, http_port = sys.argv[1:]

message = EmailMessage()
message["From"] = "Hotel <desk@hotel.example>"
message["To"] = "Zoë <zoe@example.com>"
message["Bcc"] = "audit@hotel.example"
message["Subject"] = "Rückerstattung für 1042 ✓"
message.set_content("172,34 € gehen zurück.")
message.add_attachment(b"%PDF-1.7", maintype="application", subtype="pdf", filename="beleg.pdf")
asyncio.run(aiosmtplib.send(message, hostname=mail_host, port=int(mail_port), start_tls=False))

plain = f"mailto://{mail_host}:{mail_port}?from=desk@hotel.example&to=priya@example.com&mode=insecure&format=text"
assert apprise.Apprise([plain]).notify(title="Approval needed", body="HB-1042")

hooks = [f"json://{http_host}:{http_port}/hooks/1?+X-Source=desk", f"form://{http_host}:{http_port}/forms"]
for hook in hooks:
    assert apprise.Apprise([hook]).notify(title="Refund", body="grün, 172.34")
"""


def test_an_smtp_library_and_a_sender_of_webhooks_in_another_process_reach_the_sinks() -> None:
    async def sent() -> Outbox:
        async with open_mail_sink() as mail, open_http_sink({}) as http:
            words = [mail.host, str(mail.port), http.host, str(http.port)]
            done = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-c", SENDER, *words],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        return Outbox(mail.received, http.received)

    outbox = asyncio.run(sent())
    [first, _] = outbox.mail
    [attachment] = first.attachments
    assert (attachment.name, attachment.type, attachment.data) == (
        "beleg.pdf",
        "application/pdf",
        b"%PDF-1.7",
    )
    assert outbox.mail == [
        Mail(
            to=["zoe@example.com", "audit@hotel.example"],
            subject="Rückerstattung für 1042 ✓",
            text="172,34 € gehen zurück.",
            sender="desk@hotel.example",
        ),
        Mail(to="priya@example.com", subject="Approval needed", text="HB-1042"),
    ]
    fields = {"title": "Refund", "message": "grün, 172.34", "type": "info"}
    [hook, _] = outbox.http
    assert {name: hook.json[name] for name in fields} == fields
    assert [hook.headers["x-source"], hook.headers["content-type"]] == ["desk", "application/json"]
    assert outbox.http == [
        Webhook(method="POST", path="/hooks/1", json=hook.json),
        Webhook(method="POST", path="/forms", form={"version": "1.0", **fields}),
    ]
