"""A tool that sends mail and calls a webhook from a process of its own, with libraries of others."""

import os
import subprocess
from pathlib import Path

from sqlalchemy import Column, Integer, MetaData, Table

from pytest_thinkingbox import Database, Environment, Mail, Reply, Server, ServerContext, Webhook, call

metadata = MetaData()
Table("bookings", metadata, Column("id", Integer, primary_key=True))


def confirm(context: ServerContext, guest: str) -> str:
    """Tell the guest and the team."""
    script = Path(__file__).with_name("sender.py")
    where = [context.mail_host, str(context.mail_port), context.http_url]
    done = subprocess.run(
        [os.environ["SENDERS_PYTHON"], str(script), *where, guest], capture_output=True, text=True, timeout=60
    )
    if done.returncode:
        raise ValueError(done.stderr)
    return done.stdout.strip()


world = Environment(
    name="senders",
    database=Database(schema=metadata),
    servers=[Server.functions([confirm])],
    http={"POST /services/*": Reply(200, text="ok")},
)


@world.task("Confirm Zoë's booking.", solution=[call("confirm", guest="Zoe")])
def test_both_arrive(attempt, changes):
    assert changes == []
    assert attempt.tool_calls[0].result == "200 ok"
    assert attempt.outbox.http == [
        Webhook(
            method="POST",
            path="/services/T0/B0",
            json={"text": "Zoe is confirmed", "blocks": [{"type": "divider"}]},
        )
    ]
    mail = attempt.outbox.mail.take(
        Mail(
            to="zoe@example.com",
            sender="desk@hotel.example",
            subject="Grüße, Zoe",
            text="Your booking 1042 is confirmed.",
            html="<p>Your booking <b>1042</b> is confirmed.</p>",
            attachments=["bill.csv"],
        )
    )
    assert mail.attachments[0].text == "night;net\n2026-04-06;250,00 €\n"
    assert attempt.outbox.mail == []


@world.task("Do not confirm Zoë's booking.", solution=[call("confirm", guest="Zoe")])
def test_neither_is_accounted_for(changes):
    assert changes == []
