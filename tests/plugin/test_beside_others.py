"""Tasks beside the plugins that projects have. Each is switched on alone; those that are not installed are skipped."""

from __future__ import annotations

import json

import pytest

OTHERS = ("asyncio", "cov", "django", "randomly", "rerunfailures", "timeout", "xdist")
GOOD = (
    "@shop.task('Close order 1', solution=CLOSE_1)\ndef test_good(changes):\n    changes.ignore('orders')\n"
)
BAD = "@shop.task('Close order 1', solution=CLOSE_1)\ndef test_bad(changes):\n    assert changes == []\n"


@pytest.fixture
def beside(suite, run, pytester):
    """Run tasks with one other plugin, which is skipped for when it is absent."""
    suite(GOOD + BAD)

    def go(plugin, *arguments, module=None, **named):
        pytest.importorskip(module or f"pytest_{plugin}", reason="runs in the job with many plugins")
        off = " ".join(f"-p no:{name}" for name in OTHERS if name != plugin)
        pytester.makeini(f"[pytest]\naddopts = {off}\n")
        return run("--tb-attempts=3", *arguments, **named)

    return go


def verdicts(outcome):
    return [(one["task"].rpartition(":")[2], one["attempt"], one["outcome"]) for one in outcome.records()]


EXPECTED = [
    *(("test_bad", number, "failed") for number in (1, 2, 3)),
    *(("test_good", number, "passed") for number in (1, 2, 3)),
]


def test_shuffled_attempts_have_the_same_verdicts(beside):
    outcome = beside("randomly", "-p", "randomly", "-p", "no:cacheprovider", "--randomly-seed=7")
    assert verdicts(outcome) == EXPECTED
    assert outcome.counts == {"passed": 3, "failed": 3}


def test_coverage_sees_the_tools_that_episodes_call(beside, pytester):
    outcome = beside("cov", "--cov=shop", "--cov-report=json", subprocess=True)
    assert verdicts(outcome) == EXPECTED
    covered = json.loads(pytester.path.joinpath("coverage.json").read_text())["files"]["shop.py"]
    lines = pytester.path.joinpath("shop.py").read_text().splitlines()
    [body] = [number for number, line in enumerate(lines, 1) if "values(status=status)" in line]
    assert body in covered["executed_lines"]


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_an_event_loop_per_test_is_not_ours(beside, mode):
    outcome = beside("asyncio", f"--asyncio-mode={mode}", "-o", "asyncio_default_fixture_loop_scope=function")
    assert verdicts(outcome) == EXPECTED


@pytest.mark.parametrize("method", ["signal", "thread"])
def test_a_time_limit_that_nobody_reaches_changes_nothing(beside, method):
    outcome = beside("timeout", "--timeout=60", f"--timeout-method={method}")
    assert verdicts(outcome) == EXPECTED


@pytest.mark.slow
def test_a_checker_that_hangs_is_stopped_and_the_campaign_goes_on(beside, suite):
    suite(
        GOOD
        + "import time\n@shop.task('x', solution=CLOSE_1)\ndef test_hangs(changes):\n    time.sleep(30)\n"
    )
    outcome = beside("timeout", "--timeout=1", "--timeout-method=signal")
    assert [one["outcome"] for one in outcome.records() if "good" in one["task"]] == ["passed"] * 3
    assert len(outcome.records()) == 6


def test_the_database_fixture_of_django_stays_djangos(beside, suite, pytester):
    pytest.importorskip("django", reason="runs in the job with many plugins")
    suite(
        GOOD
        + BAD
        + "\ndef test_ordinary(db):\n    from django.db import connection\n\n    connection.ensure_connection()\n"
    )
    pytester.makepyfile(
        site_settings="DATABASES = {'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}}\n"
        "SECRET_KEY = 'x'\nINSTALLED_APPS = []\nUSE_TZ = True\n"
    )
    outcome = beside("django", "--ds=site_settings", subprocess=True)
    assert verdicts(outcome) == EXPECTED
    assert outcome.counts == {"passed": 4, "failed": 3}


def test_a_plugin_that_could_rerun_but_was_not_asked_to_changes_nothing(beside):
    assert verdicts(beside("rerunfailures")) == EXPECTED


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--reruns=2"], "--reruns"),
        (["--force-reruns=2"], "--force-reruns"),
        (["-o", "reruns=2"], "reruns in"),
    ],
)
def test_t50_every_way_to_ask_for_reruns_is_a_usage_error(beside, arguments, named):
    outcome = beside("rerunfailures", *arguments)
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {named}" in outcome.text
    assert "would repeat an attempt until it passes" in outcome.text
    assert outcome.records() == []


@pytest.mark.slow
@pytest.mark.parametrize("dist", ["worksteal", "loadfile", "loadscope", "loadgroup", "each"])
def test_every_way_of_xdist_to_hand_out_tests_gives_the_same_verdicts(beside, dist):
    outcome = beside("xdist", "-n2", f"--dist={dist}", module="xdist")
    assert verdicts(outcome) == (sorted(EXPECTED * 2) if dist == "each" else EXPECTED)
