"""A model of 135 million parameters behind a real endpoint. It fails tasks; it must not fail the house."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.real.conftest import MODEL, Campaign

pytestmark = pytest.mark.slow

CONTEXT = 8192  # tokens: all that the model was trained for
SHORT_CONTEXT = 1024  # less than the hotel's policy
LONGEST_ANSWER = 64  # tokens


@pytest.fixture(scope="module")
def serve(installed: Callable[..., Path]) -> Iterator[Callable[[int], str]]:
    """The URL of a server of the model with a context of so many tokens. Each is started once and ended at the end."""
    # Its declared dependencies, which are not needed here, would compile for minutes.
    python = installed("model", MODEL, dependencies=False) / "python"
    running: list[subprocess.Popen[str]] = []

    @cache
    def start(context: int) -> str:
        server = subprocess.Popen(
            [python, Path(__file__).with_name("model_server.py"), str(context), str(LONGEST_ANSWER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        running.append(server)
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert url, f"the model's server ended with status {server.wait(timeout=10)}"
        return f"{url}/v1"

    yield start
    for server in running:
        try:
            server.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.communicate()


def options(url: str, *agent: str) -> list[str]:
    agent = agent or ("--tb-agent=openai",)
    return [*agent, "--tb-model=smollm2", f"--tb-base-url={url}", "--tb-concurrency=2"]


@pytest.mark.parametrize(
    "agent",
    [
        ["--tb-agent=openai"],
        ["--tb-agent=openai", "--tb-api=responses"],
        # What a request asks for goes before what the server was started with.
        ["--tb-agent=anthropic", f'--tb-extra-body={{"max_tokens": {LONGEST_ANSWER}}}'],
    ],
    ids=["chat", "responses", "messages"],
)
def test_it_fails_tasks_and_every_attempt_is_valid(
    play: Callable[..., Campaign], serve: Callable[[int], str], agent: list[str]
) -> None:
    campaign = play(
        "tests/real/desk_tasks.py",
        "--tb-attempts=2",
        *options(serve(CONTEXT), *agent),
        OPENAI_API_KEY="",
        seconds=600,
    )
    assert campaign.status == 1, campaign.text
    assert len(campaign.records) == 4
    for record in campaign.records:
        assert record["outcome"] in ("passed", "failed"), record
        assert record["stop_reason"] in (
            "done",
            "output_limit",
            "turn_limit",
            "time_limit",
            "context_overflow",
        )
        if record["stop_reason"] in ("done", "output_limit"):
            usage = record["usage"]["agent"]
            assert usage["input_tokens"] > 1000, record  # the policy alone is more than that
            assert 0 < usage["output_tokens"] <= LONGEST_ANSWER * usage["requests"]
    assert "failed" in campaign.outcomes()
    tokens = next(line for line in campaign.text.splitlines() if line.startswith("tokens"))
    assert "n/a" not in tokens


def test_a_user_that_it_plays_breaks_nothing_but_its_own_attempt(
    play: Callable[..., Campaign], serve: Callable[[int], str]
) -> None:
    campaign = play(
        "example_suites/hotel/test_approvals.py::test_downgrade_waits_for_approval",
        "--tb-timeout=20",
        "--tb-retry-invalid=0",
        *options(serve(CONTEXT)),
        seconds=600,
    )
    # On a machine with nothing to spare the endpoint is slow, and no word of the model's counts.
    assert campaign.outcomes() in (["failed"], ["user"], ["provider"]), campaign.text
    assert campaign.status == (1 if campaign.outcomes() == ["failed"] else 8)


def test_as_a_judge_it_answers_in_the_form_that_is_asked_for_or_breaks_nothing_but_the_attempt(
    play: Callable[..., Campaign], serve: Callable[[int], str]
) -> None:
    judge = ["--tb-judge-model=smollm2", f"--tb-judge-base-url={serve(CONTEXT)}"]
    campaign = play(
        "tests/real/judged_tasks.py", "--tb-agent=solution", *judge, OPENAI_API_KEY="", seconds=600
    )
    print(campaign.text)
    assert len(campaign.records) == 2
    for record in campaign.records:
        usage = record["usage"]["judge"]
        assert 1 <= usage["requests"] <= 3
        assert 0 < usage["output_tokens"] <= LONGEST_ANSWER * usage["requests"]
        if record["cause"] is None:
            (ruling,) = record["rulings"]
            assert ruling["answer"] == ("yes" if record["outcome"] == "passed" else "no")
        else:
            assert record["cause"] == "judge", record
            assert "in 3 requests; the last time its answer" in record["detail"]


def test_t18_a_context_that_the_policy_does_not_fit_in_is_the_agents_failure(
    play: Callable[..., Campaign], serve: Callable[[int], str]
) -> None:
    """Nobody plays it again: the outcome would be the same."""
    url = serve(SHORT_CONTEXT)
    campaign = play("tests/real/desk_tasks.py", *options(url), seconds=300)
    assert campaign.status == 1, campaign.text
    assert [(one["outcome"], one["stop_reason"]) for one in campaign.records] == [
        ("failed", "context_overflow")
    ] * 2
