"""Requests and files of attempts, through whole runs of pytest."""

from __future__ import annotations

import sys

import pytest

from pytest_thinkingbox.records.store import CampaignFolder, find_campaign
from pytest_thinkingbox.state.received import FileChange

WORLD = """
import urllib.request
from pathlib import Path
from pytest_thinkingbox import File, Reply, ServerContext, Webhook

def notify(context: ServerContext, connection: Connection, event: str, order_id: int) -> str:
    body = ('{"event": "%s", "order": %d}' % (event, order_id)).encode()
    request = urllib.request.Request(context.http_url + "/hooks", data=body, method="POST",
                                     headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        answer = response.read().decode()
    connection.execute(orders.update().where(orders.c.id == order_id).values(status=event))
    return answer

def export(context: ServerContext, name: str) -> str:
    (context.workdir / name).write_text("order;status\\n1;open\\n")
    return "written"

def erase(context: ServerContext, name: str) -> str:
    (context.workdir / name).unlink()
    return "erased"

Path("start").mkdir(exist_ok=True)
Path("start/rates.csv").write_text("10\\n")
world = Environment(
    name="world", database=Database(schema=metadata, seed=seed), mail=False, http=True, workdir="start",
    servers=[Server.functions([notify, export, erase])],
)
TELL = [call("notify", event="closed", order_id=1)]
"""


def test_requests_and_files_are_compared_and_kept_in_the_record(suite, run, pytester):
    suite(
        WORLD
        + """
@world.task("Close and export.", solution=[*TELL, call("export", name="orders.csv")],
            http={"POST /hooks": Reply(202, {"seen": True})})
def test_all(attempt, changes, outbox):
    assert changes == [Updated("orders", 1, status="closed")]
    assert outbox.http == [Webhook(method="POST", path="/hooks", json={"event": "closed", "order": 1})]
    assert outbox.http[0].status == 202
    assert attempt.tool_calls[0].result == '{"seen": true}'
    assert outbox.files == [File("orders.csv", change="added", text="order;status\\n1;open\\n")]
"""
    )
    outcome = run("--tb-attempts=2")
    assert outcome.outcomes() == ["passed", "passed"], outcome.text
    [first, _] = CampaignFolder.open(find_campaign(pytester.path / ".thinkingbox")).read_records()
    assert [(one.method, one.path, one.json) for one in first.http or ()] == [
        ("POST", "/hooks", {"event": "closed", "order": 1})
    ]
    [file] = first.files or ()
    assert isinstance(file, FileChange)
    assert (file.change, file.path, file.size, file.text) == (
        "added", "orders.csv", 20, "order;status\n1;open\n",
    )  # fmt: skip


def test_a_request_and_a_file_that_nobody_accounted_for_fail_the_attempt(suite, run):
    suite(
        WORLD
        + """
@world.task("Close.", solution=TELL)
def test_request(changes):
    assert changes == [Updated("orders", 1, status="closed")]

@world.task("Erase.", solution=[call("erase", name="rates.csv")])
def test_file(outbox):
    assert outbox.http == []

@world.task("Erase.", solution=[call("erase", name="rates.csv")], strict=False)
def test_not_strict(outbox):
    assert outbox.http == []
"""
    )
    outcome = run()
    details = {one["task"].rpartition("::")[2]: one["detail"] for one in outcome.records()}
    assert details["test_request"].startswith("the checker did not account for 1 request:\n    Webhook(")
    assert details["test_file"].startswith(
        'the checker did not account for 1 file:\n    File("rates.csv", change="removed")'
    )
    assert details["test_not_strict"] == ""
    assert outcome.counts == {"failed": 2, "passed": 1}


def test_attempts_do_not_see_each_others_files(suite, run, pytester):
    suite(
        WORLD
        + """
@world.task("Erase.", solution=[call("erase", name="rates.csv")])
def test_file(outbox):
    assert outbox.files == [File("rates.csv", change="removed")]
"""
    )
    outcome = run("--tb-attempts=6")
    assert outcome.outcomes() == ["passed"] * 6, outcome.text
    assert (pytester.path / "start" / "rates.csv").read_text() == "10\n"


def test_a_sink_that_is_not_there_is_never_empty(suite, run):
    suite("""
@shop.task("Close.", solution=CLOSE_1)
def test_http(outbox):
    assert outbox.http == []
""")
    outcome = run()
    assert outcome.outcomes() == ["checker"]
    assert "this environment has no HTTP sink" in outcome.text


def test_a_program_works_in_the_working_directory(suite, run, pytester):
    pytester.makepyfile(worker="print(open('rates.csv').read()); open('answer.txt', 'w').write('11')")
    suite(
        WORLD
        + """
@world.task("Work.", solution=TELL)
def test_file(attempt, outbox):
    assert attempt.response.strip() == "10"
    assert outbox.files == [File("answer.txt", text="11")]
"""
    )
    outcome = run(agent=f"command:{sys.executable} worker.py")
    assert outcome.outcomes() == ["passed"], outcome.text


@pytest.mark.slow
def test_placeholders_lead_programs_to_the_sinks(suite, run, pytester):
    pytester.makepyfile(
        sender="""
import os, sys, urllib.request
from mcp.server.mcpserver import MCPServer
server = MCPServer("sender")

@server.tool()
def send() -> str:
    open(os.path.join(os.environ["WORK"], "sent.txt"), "w").write("yes")
    urllib.request.urlopen(sys.argv[1] + "/ping?n=1", timeout=10).read()
    return "sent"

server.run("stdio")
"""
    )
    suite("""
import sys
from pytest_thinkingbox import File, Webhook

world = Environment(
    name="world", database=Database(schema=metadata, seed=seed), mail=False, http=True, workdir=True,
    servers=[Server.stdio([sys.executable, "sender.py", "{http_url}"], env={"WORK": "{workdir}"})],
)

@world.task("Send.", solution=[call("send")])
def test_sent(outbox):
    assert outbox.http == [Webhook(method="GET", path="/ping", query={"n": "1"})]
    assert outbox.files == [File("sent.txt", text="yes")]
""")
    assert run().outcomes() == ["passed"]


LOAD = """
import smtplib
from email.message import EmailMessage
from pytest_thinkingbox import Mail

def tell(context: ServerContext, connection: Connection, who: str) -> str:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "desk@x.example", f"{who}@x.example", who
    mail.set_content(who)
    with smtplib.SMTP(context.mail_host, context.mail_port, timeout=60) as client:
        client.send_message(mail)
    return notify(context, connection, who, 1)

both = Environment(
    name="both", database=Database(schema=metadata, seed=seed), http=True, servers=[Server.functions([tell])],
)

@both.task("Tell it.")
def test_own_sinks(attempt, changes):
    who = f"n{attempt.number}"
    assert changes == [Updated("orders", 1, status=who)]
    assert attempt.outbox.mail == [Mail(to=f"{who}@x.example", subject=who, text=who)]
    assert attempt.outbox.http == [Webhook(path="/hooks", json={"event": who, "order": 1})]
    assert attempt.response == "256 at once"
"""

ALL_AT_ONCE = """
    import asyncio

    there, full = 0, asyncio.Event()

    async def agent(task):
        global there
        there += 1
        if there == 256:
            full.set()
        await full.wait()
        number = int(task.attempt_id.rpartition("[try")[2].rstrip("]"))
        await task.call_tool("tell", {"who": f"n{number}"})
        return f"{there} at once"
"""


@pytest.mark.slow
def test_256_attempts_at_once_have_two_sinks_each_and_mix_nothing(suite, run, pytester):
    pytester.makepyfile(crowd=ALL_AT_ONCE)
    suite(WORLD + LOAD)
    outcome = run(
        "--tb-attempts=256",
        "--tb-concurrency=256",
        "-p",
        "no:xdist",
        agent="python:crowd:agent",
        subprocess=True,
    )
    assert outcome.outcomes() == ["passed"] * 256, outcome.text[-3000:]
