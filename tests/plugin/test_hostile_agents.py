"""Agents that break what they can reach, on purpose or not: through a whole run of pytest."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.tools import plain_server

CLOSES = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""

IDLE = """
@shop.task("Do nothing.", no_change=True)
def test_idle(changes):
    assert changes == []
"""


def gone(pid: int) -> bool:
    """Whether no process of this number runs any more; one that nobody took away is gone too."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def program(pytester):
    """Write a Python program and give the `--tb-agent` that runs it; `HERE` is the folder of the run."""

    def write(body: str) -> str:
        head = f"import os, subprocess, sys, time\nHERE = {str(pytester.path)!r}\nPROMPT = sys.stdin.read()\n"
        path = pytester.path / "program.py"
        path.write_text(head + body)
        return f"command:{sys.executable} -S {path}"

    return write


def test_t35_what_an_agent_writes_where_it_works_changes_no_verdict(suite, run, program, pytester):
    agent = program(
        """
for name in ("conftest.py", "sitecustomize.py", "usercustomize.py", "x.pth", "test_shop.py", "shop.py"):
    open(name, "w").write("import os; os._exit(0)")
open("pytest.ini", "w").write("[pytest]\\naddopts = --co\\n")
open("pyproject.toml", "w").write("[tool.pytest.ini_options]\\naddopts = '--co'\\n")
open("attempts.jsonl", "w").write('{"outcome": "passed"}\\n')
open("junit.xml", "w").write("<testsuites/>")
open(os.path.join(HERE, "where"), "a").write(os.getcwd() + "\\n")
print("closed")
"""
    )
    suite(CLOSES)
    before = sorted(os.listdir(pytester.path))
    for _ in range(2):
        outcome = run("--tb-attempts=2", "--junitxml=junit.xml", agent=agent)
        assert outcome.status == 1
        assert outcome.outcomes() == ["failed", "failed"]
    after = set(os.listdir(pytester.path)) - set(before)
    assert after <= {"where", "junit.xml", ".thinkingbox", ".pytest_cache", "__pycache__"}
    folders = (pytester.path / "where").read_text().split()
    assert len(set(folders)) == 4
    assert not any(Path(folder).exists() for folder in folders)


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
def test_t32_an_agent_that_outlives_its_time_is_killed_with_its_group(suite, run, program, pytester):
    agent = program(
        """
child = subprocess.Popen([sys.executable, "-S", "-c", "import signal, time; signal.signal(15, 1); time.sleep(60)"])
open(os.path.join(HERE, "pids"), "w").write(f"{os.getpid()} {child.pid}")
time.sleep(60)
"""
    )
    suite(CLOSES)
    began = time.monotonic()
    outcome = run("--tb-timeout=1", agent=agent)
    assert time.monotonic() - began < 20
    (record,) = outcome.records()
    assert (record["outcome"], record["stop_reason"]) == ("failed", "time_limit")
    assert all(gone(int(pid)) for pid in (pytester.path / "pids").read_text().split())


def test_t32_a_process_that_left_the_group_cannot_write_into_what_is_graded(suite, run, program, pytester):
    agent = program(
        """
path = os.environ["THINKINGBOX_DATABASE_URL"].removeprefix("sqlite:///")
late = f'''
import os, sqlite3, time
deadline = time.monotonic() + 20
while not os.path.exists({HERE!r} + "/graded") and time.monotonic() < deadline:
    time.sleep(0.05)
try:
    connection = sqlite3.connect({path!r}, timeout=0.1)
    connection.execute("DELETE FROM orders")
    connection.commit()
except sqlite3.Error as error:
    open({HERE!r} + "/refused", "w").write(str(error))
open({HERE!r} + "/tried", "w").close()
'''
subprocess.Popen([sys.executable, "-S", "-c", late], start_new_session=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("done")
"""
    )
    suite("""
    import pathlib, time

    HERE = pathlib.Path.cwd()
    open_shop = Environment(
        name="open", database=Database(schema=metadata, seed=seed), servers=[Server.functions([add_note])],
        mail=False, agent_database=True,
    )

    @open_shop.task("Do nothing.", no_change=True)
    def test_idle(attempt, changes):
        (HERE / "graded").touch()
        deadline = time.monotonic() + 20
        while not (HERE / "tried").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert len(attempt.rows("orders")) == 5
        assert changes == []
    """)
    # One attempt: the process of a second one would find the mark of the first and write before its own cut.
    outcome = run(agent=agent)
    assert outcome.counts == {"passed": 1}, outcome.text
    assert (pytester.path / "tried").exists()


def test_a_killed_agent_is_the_agents_failure_and_the_checker_decides(suite, run, program):
    suite(CLOSES + IDLE)
    outcome = run("--tb-attempts=2", agent=program("os.kill(os.getpid(), 9)\n"))
    found = [
        (one["task"].rpartition("::")[2], one["outcome"], one["stop_reason"]) for one in outcome.records()
    ]
    assert found == [
        ("test_close", "failed", "crashed"),
        ("test_close", "failed", "crashed"),
        ("test_idle", "passed", "crashed"),
        ("test_idle", "passed", "crashed"),
    ]
    assert "signal 9 ended it" in outcome.records()[0]["stop_detail"]
    assert {one["try_number"] for one in outcome.records()} == {1}


def test_an_agent_that_kills_its_tool_server_every_time_is_named_and_fails_gates(suite, run, pytester):
    pytester.makepyfile(
        killer="""
        async def agent(task):
            if "kill" in task.attempt_id:
                return (await task.call_tool("die", {})).text
            return (await task.call_tool("echo", {"text": "hello"})).text
        """
    )
    suite(f"""
    import sys
    piped = Environment(
        name="piped", database=Database(schema=metadata, seed=seed),
        servers=[Server.stdio([sys.executable, "-S", {plain_server.__file__!r}])], mail=False,
    )

    @piped.task("Kill it.", no_change=True)
    def test_kill(changes):
        assert changes == []

    @piped.task("Say hello.", no_change=True)
    def test_hello(changes):
        assert changes == []
    """)
    outcome = run(
        "--tb-attempts=2", "--tb-retry-invalid=1", "--tb-min-pass-rate=0.1", agent="python:killer:agent"
    )
    killed = [one for one in outcome.records() if one["task"].endswith("test_kill")]
    assert [(one["attempt"], one["try_number"], one["cause"], one["final"]) for one in killed] == [
        (1, 1, "infrastructure", False),
        (1, 2, "infrastructure", True),
        (2, 1, "infrastructure", False),
        (2, 2, "infrastructure", True),
    ]
    assert "out of memory, sorry" in killed[0]["detail"]  # the server's last words
    assert "suspected agent-caused" in outcome.text
    assert "pass rate >= 0.1: not enough valid attempts" in outcome.text
    assert outcome.status == 8


@pytest.mark.slow
def test_a_thousand_mails_are_all_kept_and_none_floods_the_terminal(suite, run):
    suite("""
    import smtplib
    from pytest_thinkingbox import Mail, ServerContext

    def flood(context: ServerContext) -> str:
        with smtplib.SMTP(context.mail_host, context.mail_port) as smtp:
            for number in range(1000):
                smtp.sendmail("a@example.com", ["b@example.com"], f"Subject: {number}\\r\\n\\r\\nhello\\r\\n")
        return "sent"

    posting = Environment(name="posting", database=Database(schema=metadata), servers=[Server.functions([flood])])

    @posting.task("Send.", solution=[call("flood")])
    def test_unaccounted(changes):
        assert changes == []

    @posting.task("Send.", solution=[call("flood")])
    def test_one(attempt):
        assert attempt.outbox.mail == [Mail(to="b@example.com", subject="7")]

    @posting.task("Send.", solution=[call("flood")], strict=False)
    def test_all(attempt):
        assert [mail.subject for mail in attempt.outbox.mail] == [str(number) for number in range(1000)]
    """)
    outcome = run()
    found = {one["task"].rpartition("::")[2]: one for one in outcome.records()}
    assert {name: one["outcome"] for name, one in found.items()} == {
        "test_unaccounted": "failed", "test_one": "failed", "test_all": "passed",
    }  # fmt: skip
    assert [one["subject"] for one in found["test_one"]["mail"]] == [str(n) for n in range(1000)]
    assert len(outcome.text.splitlines()) < 300
    assert max(len(one["detail"]) for one in found.values()) < 300_000


@pytest.mark.slow
def test_ten_thousand_rows_and_huge_values_do_not_flood_the_terminal(suite, run):
    suite("""
    def flood(connection: Connection) -> str:
        connection.execute(insert(notes), [{"text": f"note {n}"} for n in range(10_000)])
        connection.execute(insert(notes).values(text="x" * 5_000_000))
        return "done"

    flooded = Environment(
        name="flooded", database=Database(schema=metadata, seed=seed), servers=[Server.functions([flood])], mail=False
    )

    @flooded.task("Flood.", solution=[call("flood")])
    def test_unaccounted(attempt):
        pass

    @flooded.task("Flood.", solution=[call("flood")])
    def test_expected(changes):
        assert changes == [Inserted("notes", text="note 7")]
    """)
    began = time.monotonic()
    outcome = run()
    assert time.monotonic() - began < 60
    assert outcome.outcomes() == ["failed", "failed"]
    assert len(outcome.text.splitlines()) < 300
    assert len(outcome.text) < 100_000
    assert max(len(one["detail"]) for one in outcome.records()) < 300_000


def test_rows_and_names_of_tables_do_not_reach_the_terminal_as_commands(suite, run):
    suite("""
    EVIL = "\\x1b[2J\\x1b]0;owned\\x07\\r\\u202e"

    @shop.task("Write.", solution=[call("add_note", words=EVIL)])
    def test_row(changes):
        assert changes == []

    @shop.task("Write.", solution=[call("add_note", words=EVIL)])
    def test_unaccounted(changes):
        pass

    @shop.task("Create.", solution=[call("run_sql", statement=f'CREATE TABLE "{EVIL}" (id INTEGER)')])
    def test_table(changes):
        assert changes == []

    @shop.task("Say.", solution=[call.say(EVIL)], no_change=True)
    def test_answer(attempt, changes):
        print(attempt.response)
        assert attempt.response == "", attempt.response
    """)
    outcome = run("--color=yes", "-v")
    assert outcome.outcomes() == ["failed"] * 4
    for command in ("\x1b[2J", "\x1b]0;", "\x07", "\u202e"):
        assert command not in outcome.text
    assert "\\x1b[2J" in outcome.text


@pytest.mark.parametrize(
    "how",
    [
        "sys.exit(3)",
        "raise KeyboardInterrupt",
        "raise asyncio.CancelledError",
        "raise BaseException('no')",
        "raise RecursionError",
        "raise MemoryError",
    ],
)
@pytest.mark.parametrize("kind", ["async def", "def"])
def test_a_function_that_ends_in_any_way_is_a_crashed_agent(suite, run, pytester, kind, how):
    pytester.makepyfile(
        rude=f"""
        import asyncio, sys

        {kind} agent(task):
            if "close" in task.attempt_id:
                {how}
            return "done"
        """
    )
    suite(CLOSES + IDLE)
    outcome = run("--tb-attempts=2", agent="python:rude:agent")
    assert [(one["outcome"], one["stop_reason"]) for one in outcome.records()] == [
        ("failed", "crashed"),
        ("failed", "crashed"),
        ("passed", "done"),
        ("passed", "done"),
    ], outcome.text
    assert outcome.status == 1


@pytest.mark.parametrize("how", ["sys.exit(3)", "raise KeyboardInterrupt", "raise asyncio.CancelledError"])
@pytest.mark.parametrize("kind", ["async def", "def"])
def test_a_tool_that_ends_in_any_way_is_an_error_of_that_call(suite, run, pytester, kind, how):
    pytester.makepyfile(
        tries="""
        async def agent(task):
            output = await task.call_tool("rude", {})
            assert output.error, output
            return (await task.call_tool("add_note", {"words": output.text})).text
        """
    )
    suite(f"""
    import asyncio, sys

    {kind} rude() -> str:
        {how}

    rough = Environment(
        name="rough", database=Database(schema=metadata, seed=seed), servers=[Server.functions([rude, add_note])],
        mail=False,
    )

    @rough.task("Try.")
    def test_try(changes):
        assert changes == [Inserted("notes", text="Error executing tool rude")]
    """)
    outcome = run("--tb-attempts=2", agent="python:tries:agent")
    assert outcome.counts == {"passed": 2}, outcome.text


ODD = {
    "a circle": "task.conversation.messages.append(CIRCLE)",
    "keys that JSON has not": "task.conversation.messages.append({('a', 1): 2, None: 3, 4.5: 6, True: 7})",
    "no number": "task.conversation.messages.append({'role': 'assistant', 'content': float('nan')})",
    "no text": "task.conversation.messages.append({'role': 'assistant', 'content': Mute()})",
    "bytes and sets": "task.conversation.messages.append({'content': b'x', 'role': {1, 2}})",
    "depth": "task.conversation.messages.append(DEEP)",
    "arguments": "await task.call_tool('add_note', {'words': Mute(), ('a', 1): CIRCLE})",
    "half a character": "task.conversation.messages.append({'\\ud800': '\\udc00'})",
}


@pytest.mark.parametrize("what", ODD)
def test_a_record_survives_whatever_the_agent_puts_into_the_conversation(suite, run, pytester, what):
    pytester.makepyfile(
        odd=f"""
        CIRCLE = {{"role": "assistant"}}
        CIRCLE["content"] = [CIRCLE]
        DEEP = []
        for _ in range(100_000):
            DEEP = [DEEP]

        class Mute:
            def __str__(self):
                raise RuntimeError("no words")
            __repr__ = __str__

        async def agent(task):
            {ODD[what]}
            return "done"
        """
    )
    suite(IDLE)
    outcome = run("--tb-attempts=2", agent="python:odd:agent")
    assert outcome.counts == {"passed": 2}, outcome.text
    assert [one["response"] for one in outcome.records()] == ["done", "done"]


def test_a_folder_for_records_that_is_a_file_is_a_usage_error(suite, run):
    suite(CLOSES)
    outcome = run("--tb-dir=shop.py")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "--tb-dir" in outcome.text
    assert "Traceback" not in outcome.text
    assert "INTERNALERROR" not in outcome.text


BREAKS = {
    "removed": "os.unlink(path)",
    "a folder": "os.unlink(path); os.mkdir(path)",
    "a full folder": "os.unlink(path); os.mkdir(path); open(path + '/x', 'w').close()",
    "a pipe": "os.unlink(path); os.mkfifo(path)",
    "a link to nowhere": "os.unlink(path); os.symlink('/nowhere/at/all.db', path)",
    "a link to itself": "os.unlink(path); os.symlink(path, path)",
    "no database": "open(path, 'wb').write(b'x' * 10_000)",
    "empty": "open(path, 'wb').close()",
    "half": "os.truncate(path, 5_000)",
    "a folder for its journal": "os.mkdir(path + '-journal')",
    "a folder for its log": "os.mkdir(path + '-wal')",
}


@pytest.mark.parametrize("how", BREAKS)
def test_an_agent_that_breaks_its_database_file_has_failed_and_the_next_attempt_is_clean(
    suite, run, program, how
):
    agent = program(
        f"""
path = os.environ["THINKINGBOX_DATABASE_URL"].removeprefix("sqlite:///")
if "Break" in PROMPT:
    {BREAKS[how]}
print("done")
"""
    )
    suite("""
    shared = Environment(
        name="shared", database=Database(schema=metadata, seed=seed), servers=[Server.functions([add_note])],
        mail=False, agent_database=True,
    )

    @shared.task("Break it.")
    def test_a(attempt):
        pass

    @shared.task("Do nothing.", no_change=True)
    def test_b(attempt, changes):
        assert len(attempt.rows("orders")) == 5
        assert changes == []
    """)
    outcome = run("--tb-attempts=2", "--tb-concurrency=1", "--tb-retry-invalid=0", agent=agent)
    assert outcome.outcomes() == ["failed", "failed", "passed", "passed"], outcome.text


@pytest.mark.parametrize("how", ["sys.exit(3)", "raise KeyboardInterrupt", "raise asyncio.CancelledError"])
@pytest.mark.parametrize("kind", ["async def", "def"])
def test_the_same_holds_for_a_server_of_the_authors_own(suite, run, pytester, kind, how):
    pytester.makepyfile(
        tries="""
        async def agent(task):
            first = await task.call_tool("rude", {})
            second = await task.call_tool("echo", {"text": "still there"})
            return f"{first.error} {second.text}"
        """
    )
    suite(f"""
    import asyncio, sys
    from mcp.server.mcpserver import Context, MCPServer

    def build(context):
        server = MCPServer("own")

        @server.tool()
        {kind} rude() -> str:
            {how}

        @server.tool()
        async def echo(text: str, session: Context) -> str:
            return text

        return server

    own = Environment(
        name="own", database=Database(schema=metadata, seed=seed), servers=[Server.in_process(build)], mail=False
    )

    @own.task("Try.", no_change=True)
    def test_try(attempt, changes):
        assert changes == []
        assert attempt.response == "True still there"
    """)
    outcome = run("--tb-attempts=2", agent="python:tries:agent")
    assert outcome.counts == {"passed": 2}, outcome.text


def test_tasks_that_an_agent_leaves_running_call_no_tool_and_write_nothing_down(suite, run, pytester):
    pytester.makepyfile(
        leaves="""
        import asyncio, pathlib

        STRAY = set()

        async def agent(task):
            async def stray():
                while True:
                    await asyncio.sleep(0.02)
                    output = await task.call_tool("record", {"words": "late"})
                    task.conversation.messages.append({"role": "assistant", "content": "late"})
                    task.conversation.response = "late"
                    task.conversation.stop_reason = "crashed"
                    if "the attempt is over" in output.text:
                        pathlib.Path("refused").touch()

            STRAY.add(asyncio.create_task(stray()))
            return "done"
        """
    )
    suite("""
    import time
    from pytest_thinkingbox import ServerContext

    CALLS = []

    def record(context: ServerContext, words: str) -> str:
        CALLS.append(context.attempt_id)
        with context.engine.begin() as connection:
            connection.execute(insert(notes).values(text=words))
        return "done"

    leaky = Environment(
        name="leaky", database=Database(schema=metadata, seed=seed), servers=[Server.functions([record])], mail=False
    )

    @leaky.task("Do nothing.", no_change=True)
    def test_idle(attempt, changes):
        before = len(CALLS)
        time.sleep(0.3)
        assert len(CALLS) == before
        assert changes == []
        assert (attempt.response, attempt.stop_reason, len(attempt.tool_calls)) == ("done", "done", 0)
    """)
    outcome = run("--tb-attempts=3", "--tb-concurrency=1", agent="python:leaves:agent")
    assert outcome.counts == {"passed": 3}, outcome.text
    assert [one["response"] for one in outcome.records()] == ["done"] * 3
    assert [len(one["messages"]) for one in outcome.records()] == [2, 2, 2]
    assert (pytester.path / "refused").exists()
