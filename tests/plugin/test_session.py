"""A whole run: selection, interruption, configuration errors, gates and exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

TWO = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_bad(changes):
    assert changes == []

@shop.task("Close order 1.", solution=CLOSE_1)
def test_good(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""


def test_t41_x_stops_after_the_first_failure_and_the_campaign_is_partial(suite, run):
    suite(TWO)
    outcome = run("-x", "--tb-attempts=3", "--tb-min-pass-rate=0.1")
    assert outcome.counts == {"failed": 1}
    assert outcome.status != 0
    assert "cannot tell" in outcome.text
    assert "partial" in outcome.text
    assert outcome.outcomes() == ["failed"]


def test_t41_maxfail_counts_attempts(suite, run):
    suite(TWO)
    assert run("--maxfail=2", "--tb-attempts=3").counts == {"failed": 2}


def test_t41_k_selects_tasks_and_attempts(suite, run):
    suite(TWO)
    assert run("-k", "good and try2", "--tb-attempts=3").counts == {"passed": 1, "deselected": 5}


def test_t41_lf_runs_the_failed_attempts_and_is_partial(suite, run):
    suite(TWO)
    assert run("--tb-attempts=2").counts == {"failed": 2, "passed": 2}
    outcome = run("--lf", "--tb-attempts=2", "--tb-min-pass-rate=0")
    assert outcome.counts["failed"] == 2
    assert "passed" not in outcome.counts
    assert "cannot tell: the campaign is partial" in outcome.text
    assert outcome.status != 0


def test_t41_sw_stops_and_is_partial(suite, run):
    suite(TWO)
    outcome = run("--sw", "--tb-attempts=2")
    assert outcome.counts["failed"] == 1
    assert "partial" in outcome.text


def test_a_gate_makes_failures_figures(suite, run_everywhere):
    suite(TWO)
    outcome = run_everywhere("--tb-attempts=2", "--tb-min-pass-rate=0.5")
    assert outcome.counts == {"passed": 2, "failed": 2}
    assert outcome.status == 0
    assert "holds" in outcome.text


def test_a_gate_that_fails_is_exit_1(suite, run):
    suite(TWO)
    assert run("--tb-attempts=2", "--tb-min-pass-rate=0.6").status == 1


def test_a_tasks_own_gate_counts(suite, run):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1, min_pass_rate=0.0)
    def test_bad(changes):
        assert changes == []
    """)
    assert run("--tb-attempts=2").status == 0


def test_t54_an_ordinary_failure_is_exit_1_while_every_gate_holds(suite, run_everywhere):
    suite(TWO + "\ndef test_ordinary():\n    assert False\n")
    outcome = run_everywhere("--tb-attempts=2", "--tb-min-pass-rate=0.5")
    assert outcome.status == 1
    assert "ordinary test" in outcome.text


def test_t2_a_task_without_a_valid_attempt_is_invalid_and_told_apart(suite, run_everywhere):
    suite("""
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close():
        raise KeyError
    """)
    outcome = run_everywhere("--tb-attempts=2", "--tb-min-pass-rate=0")
    assert outcome.status == 8
    assert "INVALID" in outcome.text
    assert outcome.counts == {"errors": 2}


def test_a_fixture_that_skips_is_a_skip_and_the_task_is_not_missing(suite, run):
    suite("""
    @pytest.fixture
    def windows():
        pytest.skip("only on Windows")

    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(windows):
        pass
    """)
    outcome = run("--tb-attempts=2")
    assert outcome.counts == {"skipped": 2}
    assert outcome.status == 0


@pytest.mark.parametrize("xdist", [[], pytest.param(["-n2"], marks=pytest.mark.slow)])
def test_t37_a_seed_that_does_not_load_stops_the_campaign(suite, run, pytester, xdist):
    pytester.makefile(
        ".sql", broken="INSERT INTO orders VALUES (1, 'open', 1);\nINSERT INTO nowhere VALUES (1);\n"
    )
    suite("""
    broken = Environment(
        name="broken", database=Database(schema=metadata, seed="broken.sql"), servers=list(shop.servers), mail=False
    )

    @broken.task("Close order 1.", solution=CLOSE_1)
    def test_close(changes):
        pass
    """)
    outcome = run("--tb-attempts=20", *xdist)
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "nowhere" in outcome.text
    assert outcome.records() == []


SLOW = """
import asyncio, os, pathlib

async def agent(task):
    pathlib.Path("started").touch()
    await asyncio.sleep(60)
    return "late"
"""


@pytest.mark.parametrize("xdist", [[], pytest.param(["-n2"], marks=pytest.mark.slow)])
def test_ctrl_c_ends_at_once_and_says_what_is_missing(suite, pytester, xdist):
    suite(TWO)
    pytester.makepyfile(slow=SLOW)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--tb-agent=python:slow:agent", "--tb-attempts=4", *xdist],
        cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )  # fmt: skip
    _wait_for(pytester.path / "started")
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    text, _ = process.communicate(timeout=30)
    assert time.monotonic() - began < 20
    assert process.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "KeyboardInterrupt" in text


@pytest.mark.slow
def test_a_killed_worker_is_an_invalid_attempt_with_cause_crash(suite, run, pytester):
    suite("""
    import os, signal

    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_deadly(attempt):
        if attempt.number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        assert attempt.changes == [Updated("orders", 1, status="closed")]
    """)
    outcome = run("-n2", "--tb-attempts=4", "--tb-min-pass-rate=0.7")
    assert outcome.counts == {"passed": 3, "failed": 1}
    assert "crash" in outcome.text
    assert "3 of 4 valid" in outcome.text
    assert outcome.status == 0


def test_ahead_false_starts_after_the_fixtures(suite, run, pytester):
    pytester.makepyfile(
        watch="import pathlib\nasync def agent(task):\n    return 'yes' if pathlib.Path('ready').exists() else 'no'\n"
    )
    suite("""
    import pathlib

    @pytest.fixture
    def ready():
        pathlib.Path("ready").touch()
        yield
        pathlib.Path("ready").unlink()

    @shop.task("Are we ready?", ahead=False, no_change=True)
    def test_alone(changes, attempt, ready):
        assert changes == []
        assert attempt.response == "yes"

    @shop.task("Are we ready?", no_change=True)
    def test_ahead(changes, attempt, ready):
        assert changes == []
        assert attempt.response == "no"
    """)
    assert run("--tb-attempts=2", agent="python:watch:agent").counts == {"passed": 4}


def test_what_an_episode_logs_is_not_in_the_test_that_runs_meanwhile(suite, run, pytester):
    pytester.makepyfile(
        chatty="import logging\nasync def agent(task):\n    logging.getLogger('agent').error('from far away')\n"
    )
    suite("""
    import time

    def test_ordinary(caplog):
        time.sleep(0.5)
        assert caplog.text == ""
        assert False

    @shop.task("Talk.", no_change=True)
    def test_talk(changes):
        assert changes == []
    """)
    outcome = run("-p", "no:xdist", agent="python:chatty:agent")
    assert "from far away" not in outcome.text


def _wait_for(path, seconds=30):
    until = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not appear"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_low_limit_of_open_files_is_raised(suite, pytester):
    suite(TWO.replace("assert changes == []", "pass"))
    limited = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096)); "
        "sys.argv[0] = 'pytest'; runpy.run_module('pytest', run_name='__main__')"
    )
    result = subprocess.run(
        [sys.executable, "-c", limited, "--tb-agent=solution", "--tb-attempts=60", "--tb-concurrency=60",
         "-k", "good", "-q", "-p", "no:cacheprovider"],
        cwd=pytester.path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    assert "60/60 passed, 60 of 60 valid" in result.stdout


def test_workers_play_what_could_be_collected_and_the_run_is_red(suite, run_everywhere, pytester):
    suite(TWO)
    pytester.path.joinpath("test_broken.py").write_text("import nothing_of_this_name")
    outcome = run_everywhere("--continue-on-collection-errors", "-k", "good")
    assert (outcome.status, outcome.outcomes()) == (1, ["passed"])
    assert "1 ordinary test failed" in outcome.text


@pytest.mark.slow
def test_a_file_that_cannot_be_collected_breaks_no_attempt_of_a_worker(suite, run, pytester):
    suite(TWO)
    pytester.path.joinpath("test_broken.py").write_text("import nothing_of_this_name")
    outcome = run("-n2", "-k", "good")  # workers play the others, whatever pytest alone would do
    assert (outcome.status, outcome.outcomes()) == (1, ["passed"])
    assert "KeyError" not in outcome.text
