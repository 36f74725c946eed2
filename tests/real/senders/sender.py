"""Runs in an environment of its own: a mail with an attachment through redmail, a webhook through Slack's SDK."""

import sys

from redmail import EmailSender
from slack_sdk.webhook import WebhookClient

host, port, http_url, guest = sys.argv[1:]

EmailSender(host=host, port=int(port), use_starttls=False).send(
    sender="desk@hotel.example",
    receivers=[f"{guest.lower()}@example.com"],
    subject=f"Grüße, {guest}",
    text="Your booking {{ number }} is confirmed.",
    html="<p>Your booking <b>{{ number }}</b> is confirmed.</p>",
    body_params={"number": 1042},
    attachments={"bill.csv": "night;net\n2026-04-06;250,00 €\n".encode()},
)

answer = WebhookClient(f"{http_url}/services/T0/B0").send(
    text=f"{guest} is confirmed", blocks=[{"type": "divider"}]
)
print(answer.status_code, answer.body)
