"""`pytest --tb-prove` and `thinkingbox prove` from the outside: what they find and how they end."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.cli import main
from tests.conftest import SHOP

pytestmark = pytest.mark.slow  # two processes for each proof

ROOT = Path(__file__).parents[2]
HEAD = "import pytest\nimport secrets\nfrom shop import *\n"
ONE = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""
HONEST = """
@shop.task("Close order 1.", solution=[*CLOSE_1, call.say("Closed.")])
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]

@pytest.mark.parametrize("order", [2, 3])
@shop.task(
    lambda order: f"Note on order {order}.",
    solution=lambda order: [call("add_note", words=f"order {order}"), call("set_status", order_id=order, status="x")],
)
def test_note(changes, order):
    assert changes == [Inserted("notes", text=f"order {order}"), Updated("orders", order, status="x")]

@shop.task("Close order 1.", solution=[call("run_sql", statement="SELECT 1"), *CLOSE_1], ahead=False)
def test_reads_first(changes):
    assert changes == [Updated("orders", 1, status="closed")]

@shop.task("Do nothing.", solution=[call.say("No.")], no_change=True)
def test_refuse(changes):
    assert changes == []

@pytest.fixture
def absent():
    pytest.skip("not here")

@shop.task("Close order 1.", solution=CLOSE_1)
def test_skipped(changes, absent):
    pass
"""
WEAK = """
@shop.task("Close order 1.", solution=[*CLOSE_1, call("add_note", words="closed")], strict=False)
def test_one_table(attempt):
    assert attempt.row("orders", id=1)["status"] == "closed"

@shop.task("Two notes.", solution=[call("add_note", words="a"), call("add_note", words="b")])
def test_order(attempt, changes):
    assert changes == [Inserted("notes", text="a"), Inserted("notes", text="b")]
    assert attempt.rows("notes")[0]["text"] == "a"

@shop.task("Do nothing.", solution=[call.say("No.")], no_change=True)
def test_blind(changes):
    changes.ignore("notes")
    assert changes == []
"""
REFUSED = """
@shop.task("Close order 1.", solution=CLOSE_1, strict=False)
def test_idle():
    pass

@shop.task("Close order 1.", solution=[*CLOSE_1, call.say("Closed.")], strict=False)
def test_claim(attempt):
    assert attempt.response == "Closed."

def broken():
    raise KeyError("no")
    yield

@shop.task("Raise.", solution=broken)
def test_raises(changes):
    pass

@shop.task("Nothing.", solution=[])
def test_empty(changes):
    pass

@shop.task("Missing.")
def test_missing(changes):
    pass

@shop.task("No trace.", solution=[call("set_status", order_id=1, status="open")])
def test_no_trace(changes):
    assert changes == []

@shop.task("Wrong.", solution=[call("set_status", order_id=2, status="closed")])
def test_wrong(changes):
    assert changes == [Updated("orders", 1, status="closed")]

@shop.task("Note.", solution=lambda: [call("add_note", words=secrets.token_hex(8))])
def test_random(changes):
    assert [one.table for one in changes] == ["notes"]
    changes.ignore("notes")

@shop.task("Note.", solution=[call("add_note", words="hello")])
def test_trips(attempt, changes):
    assert attempt.rows("notes")[0]["text"] == "hello"
    assert changes == [Inserted("notes", text="hello")]
"""


class Proof:
    """What a proof printed and wrote."""

    @staticmethod
    def write(folder: Path, body: str) -> None:
        (folder / "shop.py").write_text(SHOP)
        (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:randomly -p no:cov -p no:asyncio\n")
        (folder / "test_shop.py").write_text(HEAD + body)

    def __init__(self, folder: Path, body: str, *arguments: str) -> None:
        self.write(folder, body)
        result = subprocess.run(
            [sys.executable, "-m", "pytest_thinkingbox.cli", "prove", *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.status, self.text, self.errors = result.returncode, result.stdout, result.stderr
        self.paths = list(folder.glob(".thinkingbox/prove/*/proof.json"))

    @property
    def data(self) -> dict[str, Any]:
        [path] = self.paths
        data: dict[str, Any] = json.loads(path.read_text())
        return data

    def task(self, name: str) -> dict[str, Any]:
        [task] = [one for one in self.data["tasks"] if one["task"].endswith(f"::{name}")]
        return task

    def problem(self, name: str) -> str:
        """The only reason for which a task is refused."""
        [problem] = self.task(name)["problems"]
        return str(problem)

    def words(self, name: str, fate: str = "survived") -> list[str]:
        return [one["words"] for one in self.task(name)["mutants"] if one["fate"] == fate]

    def unseen(self, name: str, start: str) -> list[str]:
        [found] = [one["unseen"] for one in self.task(name)["mutants"] if one["words"].startswith(start)]
        return list(found)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    return Proof(tmp_path_factory.mktemp("honest"), HONEST, "-p", "no:xdist")


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    return Proof(tmp_path_factory.mktemp("weak"), WEAK, "-p", "no:xdist", "--min-score", "0.2")


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    return Proof(tmp_path_factory.mktemp("refused"), REFUSED, "--min-score=0", "-p", "no:xdist")


def test_honest_checkers_kill_every_mutant(honest: Proof) -> None:
    assert honest.status == 0, honest.text + honest.errors
    assert honest.data["score"] == 1.0
    assert honest.data["holds"] is True
    names = ["test_close", "test_note[2]", "test_note[3]", "test_reads_first", "test_refuse"]
    assert [one["task"].partition("::")[2] for one in honest.data["tasks"]] == names
    assert [honest.words(name) for name in names] == [[]] * 5
    assert "verdict   the checkers can be trusted" in honest.text


def test_only_what_does_the_same_as_the_solution_is_equivalent(honest: Proof) -> None:
    assert honest.words("test_note[2]", "equivalent") == [
        'made twice: call 2, set_status(order_id=2, status="x")',
        'made last: call 1, add_note(words="order 2")',
        'made first: call 2, set_status(order_id=2, status="x")',
        'in each other\'s place: call 1, add_note(words="order 2") and call 2, set_status(order_id=2, status="x")',
    ]


def test_a_task_without_change_is_tried_with_the_writes_of_the_others(honest: Proof, weak: Proof) -> None:
    assert 'one call more: add_note(words="order 2")' in honest.words("test_refuse", "killed")
    assert honest.task("test_refuse")["problems"] == []
    assert 'one call more: add_note(words="closed")' in weak.words("test_blind")
    assert weak.task("test_blind")["remarks"] == [
        "not tried: run_sql: no solution of the suite says with what arguments"
    ]


def test_tools_that_read_do_not_swell_the_figures(honest: Proof) -> None:
    mutants = honest.task("test_reads_first")["mutants"]
    fates = {one["fate"] for one in mutants if "call 1, run_sql" in one["words"]}
    assert fates <= {"killed"}


def test_a_task_that_its_fixtures_skip_is_named(honest: Proof) -> None:
    assert honest.data["skipped"] == ["test_shop.py::test_skipped"]
    assert "skipped   test_shop.py::test_skipped" in honest.text


def test_what_a_checker_does_not_see_survives_and_is_named_with_the_change(weak: Proof) -> None:
    assert 'left out: call 2, add_note(words="closed")' in weak.words("test_one_table")
    missing = 'missing: Inserted("notes", id=1, text="closed")'
    assert weak.unseen("test_one_table", "left out: call 2") == [missing]
    assert 'left out: call 1, set_status(order_id=1, status="closed")' in weak.words(
        "test_one_table", "killed"
    )
    assert "one row of orders changed that the solution does not touch" in weak.words("test_one_table")
    assert "nobody checked that it left behind" in weak.text
    assert missing in weak.text


def test_a_survivor_can_be_shown_whole(weak: Proof, capsys: pytest.CaptureFixture[str]) -> None:
    [line] = [one for one in weak.text.splitlines() if "thinkingbox show" in one]
    arguments = shlex.split(line)[shlex.split(line).index("show") :]
    assert main(arguments) == 0
    assert "test_one_table" in capsys.readouterr().out


def test_a_checker_that_fails_what_did_the_same_is_told_so(weak: Proof, honest: Proof) -> None:
    [remark] = weak.task("test_order")["remarks"]
    assert remark.startswith("3 of 3 mutants that did the same as the solution fail all the same")
    assert weak.words("test_order") == []
    assert remark.split(":")[0] in weak.text
    assert [one["remarks"] for one in honest.data["tasks"][:4]] == [[], [], [], []]


def test_min_score_decides_what_is_enough(weak: Proof) -> None:
    assert 0.2 < weak.data["score"] < 1
    assert weak.status == 0, weak.text


def test_t13_a_task_that_an_idle_agent_passes_is_refused(refused: Proof) -> None:
    assert refused.status == 1
    assert "an agent that does nothing passes" in refused.task("test_idle")["problems"]
    assert "REFUSED" in refused.text


def test_a_task_that_a_claim_passes_is_refused(refused: Proof) -> None:
    assert refused.problem("test_claim") == "an agent that only claims success passes"


def test_t12_a_solution_that_raises_does_nothing_or_is_missing_is_refused(refused: Proof) -> None:
    assert "KeyError" in refused.task("test_raises")["problems"][0]
    assert "no step" in refused.task("test_empty")["problems"][0]
    assert "the task has no solution" in refused.task("test_missing")["problems"][0]
    assert any("leaves no trace" in one for one in refused.task("test_no_trace")["problems"])
    assert "the solution does not pass" in refused.task("test_wrong")["problems"][0]


def test_a_solution_that_does_something_else_each_time_is_refused(refused: Proof) -> None:
    problems = refused.task("test_random")["problems"]
    assert problems[0].startswith("the solution did not do the same when it was played again")


def test_t14_a_checker_that_trips_over_a_mutant_is_reported(refused: Proof) -> None:
    assert any("IndexError" in one for one in refused.task("test_trips")["problems"])


def test_a_suite_that_cannot_run_is_an_error_in_words(tmp_path: Path) -> None:
    proof = Proof(tmp_path, "raise RuntimeError('broken module')", "-p", "no:xdist")
    assert proof.status == 2
    assert "broken module" in proof.errors
    assert proof.paths == []


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_file_that_cannot_be_collected_is_not_left_out_of_the_verdict(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_other.py").write_text("import nothing_of_this_name")
    proof = Proof(tmp_path, ONE, workers)
    assert proof.status == 2
    assert "ERROR test_other.py" in proof.errors
    assert "KeyError" not in proof.errors
    assert proof.paths == []


def test_an_interrupt_ends_both_without_a_traceback(tmp_path: Path) -> None:
    body = "import time\n@shop.task('Wait.', solution=CLOSE_1)\ndef test_x():\n    time.sleep(60)\n"
    Proof.write(tmp_path, body)
    command = [sys.executable, "-m", "pytest_thinkingbox.cli", "prove", "-p", "no:xdist"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # a shell's background jobs ignore it
    ) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".thinkingbox/prove/*/notes/*.rules.json")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors.startswith("thinkingbox: interrupted")
    assert "Traceback" not in errors


def test_an_ini_file_that_keeps_workers_out_or_asks_for_proofs_is_no_obstacle(
    pytester: pytest.Pytester, suite: Any, run: Any
) -> None:
    suite(WEAK)
    pytester.makeini("[pytest]\naddopts = -p no:xdist -p no:asyncio --tb-prove\n")
    outcome = run("-k", "one_table", agent=None, subprocess=True)
    assert outcome.status == 1, outcome.text
    assert "verdict   the score is below 1" in outcome.text


def test_pytest_does_the_same_with_an_option_and_on_several_cores(suite: Any, run: Any) -> None:
    suite(HONEST)
    outcome = run("--tb-prove", "--tb-min-score", "0.9", "-n2", agent=None, subprocess=True)
    assert outcome.status == 0, outcome.text
    assert re.search(r"score +100 %: \d+ of \d+ mutants killed", outcome.text)


SINKS = """
from pathlib import Path
from pytest_thinkingbox import Fault, File, ServerContext, Webhook
import urllib.request

def tell(context: ServerContext, words: str) -> str:
    Path(context.workdir, "told.txt").write_text(words)
    urllib.request.urlopen(f"{context.http_url}/tell", data=words.encode(), timeout=10).read()
    return "told"

world = Environment(name="world", database=Database(schema=metadata, seed=seed), http=True, workdir=True,
                    servers=[Server.functions([tell])])
TELL = dict(solution=[call.failing("tell", words="hi")], faults=[Fault("tell", after_commit="timeout")])

@world.task("Tell.", **TELL)
def test_strict(outbox):
    assert outbox.http == [Webhook(path="/tell", text="hi")]
    assert outbox.files == [File("told.txt", text="hi")]

@world.task("Tell.", strict=False, **TELL)
def test_blind_to_the_rest(outbox):
    assert Webhook(path="/tell", text="hi") in outbox.http
"""


def test_what_nobody_asked_for_in_any_sink_is_tried_and_a_lost_answer_is_no_refusal(tmp_path: Path) -> None:
    proof = Proof(tmp_path, SINKS)
    assert proof.task("test_strict")["score"] == 1.0, proof.text
    killed = proof.words("test_strict", "killed")
    assert {"one mail that nobody asked for", "one request that nobody asked for"} <= set(killed)
    assert "one file that nobody asked for" in killed
    assert [
        words for words in killed if words.startswith("words=")
    ]  # committed, although the answer was lost
    survived = proof.words("test_blind_to_the_rest")
    assert {"one request that nobody asked for", "one file that nobody asked for"} <= set(survived)
    assert [words for words in survived if words.startswith("made twice: call 1, tell")]
