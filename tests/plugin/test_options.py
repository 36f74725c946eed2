"""Options, their ini settings, and the errors that name them."""

from __future__ import annotations

import json

import pytest

from tests.support.stub_endpoint import StubEndpoint, says

CLOSES = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--tb-attempts=0", "--tb-attempts: '0' must be a whole number from 1"),
        ("--tb-attempts=many", "--tb-attempts: 'many' must be a whole number from 1"),
        ("--tb-min-pass-rate=1.5", "--tb-min-pass-rate: '1.5' must be a number from 0 to 1"),
        ("--tb-timeout=0", "--tb-timeout: '0' must be a number of seconds above 0"),
        ("--tb-timeout=nan", "--tb-timeout: 'nan' must be a number of seconds above 0"),
        ("--tb-concurrency=-1", "--tb-concurrency: '-1' must be a whole number from 1"),
        ("--tb-temperature=-1", "--tb-temperature: '-1' must be a number from 0"),
        ("--tb-temperature=hot", "--tb-temperature: 'hot' must be a number from 0"),
        ("--tb-api=soap", "--tb-api: 'soap' must be chat or responses"),
        ("--tb-extra-body=[]", "--tb-extra-body: '[]' must be a JSON object"),
        ("--tb-extra-body={'a': 1}", "must be a JSON object"),
        ('--tb-extra-body={"a": NaN}', "must be a JSON object"),
        ("--tb-temperature=1", "--tb-temperature is for an agent that is a model"),
        ("--tb-extra-body={}", "--tb-extra-body is for an agent that is a model"),
        ("--tb-api=responses", "--tb-api=responses is for --tb-agent=openai, not for solution"),
        ("--tb-retry-invalid=x", "--tb-retry-invalid: 'x' must be a whole number from 0"),
    ],
)
def test_a_wrong_value_is_a_usage_error_that_names_the_option(suite, run, argument, message):
    suite(CLOSES)
    outcome = run(argument)
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert message in outcome.text


def test_every_option_has_an_ini_setting_of_the_same_name(suite, run, pytester):
    suite(CLOSES)
    pytester.makeini("[pytest]\ntb_attempts = 3\ntb_agent = solution\ntb_seed = 7\ntb_audit = true\n")
    outcome = run("-p", "no:asyncio", agent=None)
    assert outcome.counts == {"passed": 3}
    assert {one["seed"] for one in outcome.records()} == {7}


def test_the_command_line_wins_over_the_ini_file(suite, run, pytester):
    suite(CLOSES)
    pytester.makeini("[pytest]\ntb_attempts = 3\n")
    assert run("-p", "no:asyncio", "--tb-attempts=2").counts == {"passed": 2}


def test_a_wrong_ini_value_names_the_file(suite, run, pytester):
    suite(CLOSES)
    pytester.makeini("[pytest]\ntb_attempts = several\n")
    outcome = run("-p", "no:asyncio")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "tb_attempts in" in outcome.text
    assert "tox.ini: 'several' must be a whole number from 1" in outcome.text


def test_without_a_model_or_agent_tasks_are_skipped_and_one_line_says_so(suite, run):
    suite(CLOSES + "\ndef test_ordinary():\n    pass\n")
    outcome = run(agent=None)
    assert outcome.status == 0
    assert outcome.counts == {"passed": 1, "skipped": 1}
    assert outcome.text.count("thinkingbox: 1 task skipped, nobody is to act") == 1
    assert outcome.records() == []


@pytest.mark.parametrize("argument", ["--tb-attempts=20", "--tb-min-pass-rate=0.5"])
@pytest.mark.parametrize("lost", [[], ["--tb-model="]])
def test_t55_a_campaign_without_a_model_is_a_usage_error(suite, run, argument, lost):
    suite(CLOSES)
    outcome = run(argument, *lost, agent=None)
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "nobody is to act" in outcome.text
    assert "--tb-model" in outcome.text


@pytest.mark.parametrize("agent", ["openai", "anthropic"])
def test_an_agent_that_is_a_model_needs_one(suite, run, agent):
    suite(CLOSES)
    outcome = run(agent=agent)
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert f"--tb-agent={agent} needs a model: name it with --tb-model" in outcome.text


def test_a_temperature_that_is_given_twice_is_a_usage_error(suite, run):
    suite(CLOSES)
    body = '--tb-extra-body={"temperature": 0}'
    outcome = run("--tb-model=m", "--tb-temperature=0", body, agent="openai")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "both --tb-temperature and --tb-extra-body set the temperature" in outcome.text


def test_sampling_in_the_ini_file_is_for_the_runs_with_a_model(suite, run, pytester):
    suite(CLOSES)
    pytester.makeini("[pytest]\ntb_temperature = 0.7\ntb_api = responses\n")
    assert run("-p", "no:asyncio").counts == {"passed": 1}


def test_the_model_is_asked_as_the_options_say_and_the_campaign_remembers_how(suite, run, pytester):
    suite(CLOSES)
    with StubEndpoint(lambda _: says("Done.")) as stub:
        run(
            "--tb-model=m",
            f"--tb-base-url={stub.url}",
            "--tb-temperature=0.7",
            '--tb-extra-body={"top_p": 0.9}',
            agent="openai",
        )
    sent = stub.received[0].json
    assert (sent["temperature"], sent["top_p"]) == (0.7, 0.9)
    [path] = pytester.path.glob(".thinkingbox/*/campaign.json")
    options = json.loads(path.read_text())["options"]
    assert (options["api"], options["temperature"], options["extra_body"]) == ("chat", 0.7, {"top_p": 0.9})


@pytest.mark.parametrize("xdist", [[], pytest.param(["-n2"], marks=pytest.mark.slow)])
def test_an_unknown_agent_is_a_usage_error_before_anything_runs(suite, run, xdist):
    suite(CLOSES)
    outcome = run("--tb-attempts=5", *xdist, agent="wizard")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "wizard" in outcome.text
    assert "solution" in outcome.text


def test_an_unknown_backend_is_a_usage_error(suite, run):
    suite(CLOSES)
    outcome = run("--tb-backend=abacus")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "abacus" in outcome.text


def test_t50_reruns_in_addopts_are_a_usage_error(suite, run, pytester):
    pytest.importorskip("pytest_rerunfailures", reason="runs in the job with many plugins")
    suite(CLOSES)
    pytester.makeini("[pytest]\naddopts = --reruns 2 -p no:asyncio\n")
    outcome = run()
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "--reruns would repeat an attempt until it passes" in outcome.text


def test_setup_only_is_refused_because_it_would_pay_for_nothing(suite, run):
    suite(CLOSES)
    outcome = run("--setup-only")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "use --setup-plan" in outcome.text


def test_setup_plan_plays_no_episode(suite, run):
    suite(CLOSES)
    outcome = run("--setup-plan", "--tb-attempts=2")
    assert outcome.records() == []
    assert "SETUP    F attempt" in outcome.text or "_thinkingbox_attempt" in outcome.text


def test_help_lists_every_option(pytester):
    text = pytester.runpytest_inprocess("--help").stdout.str()
    for option in (
        "attempts",
        "agent",
        "model",
        "base-url",
        "backend",
        "concurrency",
        "retry-invalid",
        "timeout",
    ):
        assert f"--tb-{option}" in text
    for option in ("dir", "seed", "audit", "min-pass-rate", "user-model"):
        assert f"--tb-{option}" in text


PRICES = "[models.stub]\ninput = 1.0\noutput = 2.0\n[models.other]\ninput = 1.0\noutput = 2.0\n"


@pytest.mark.parametrize("given", ["option", "ini"])
def test_the_campaign_keeps_the_prices_of_the_models_it_asks(suite, run, pytester, given):
    suite(CLOSES)
    pytester.path.joinpath("prices.toml").write_text(PRICES)
    arguments = ["--tb-prices=prices.toml"]
    if given == "ini":
        arguments = []
        pytester.makeini("[pytest]\ntb_prices = prices.toml\n")
    assert run("--tb-model=stub", "-p", "no:asyncio", *arguments).status == 0
    (folder,) = pytester.path.glob(".thinkingbox/*/campaign.json")
    stored = json.loads(folder.read_text())["options"]["prices"]
    assert stored == {"stub": {"input": 1.0, "cached_input": None, "output": 2.0}}


def test_a_broken_price_table_is_a_usage_error_before_anything_runs(suite, run, pytester):
    suite(CLOSES)
    pytester.path.joinpath("prices.toml").write_text("[models.stub]\ninput = 1.0\n")
    outcome = run("--tb-prices=prices.toml")
    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert "--tb-prices: " in outcome.text
    assert "prices.toml: models.stub: output is missing" in outcome.text
