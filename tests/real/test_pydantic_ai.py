"""Agents of another framework, in this process and as a program with its own MCP client."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from pytest_thinkingbox.declare.user import END
from tests.real.conftest import Campaign
from tests.support.stub_endpoint import StubEndpoint, says

pytestmark = pytest.mark.slow

TASK = "example_suites/hotel/test_approvals.py::test_downgrade_waits_for_approval"
FUNCTION = "python:tests.real.desk_agents:"
PROGRAM = f"command:{sys.executable} tests/real/desk_agents.py "


@pytest.fixture
def guest() -> Iterator[tuple[str, str]]:
    """A user who is served with the first reply."""
    with StubEndpoint(lambda _: says(END)) as stub:
        yield "--tb-user-model=guest", f"--tb-user-base-url={stub.url}"


@pytest.mark.parametrize("way", [FUNCTION, PROGRAM], ids=["function", "program"])
def test_the_right_calls_pass(play: Callable[..., Campaign], guest: tuple[str, str], way: str) -> None:
    campaign = play(TASK, *guest, f"--tb-agent={way}careful", "--tb-attempts=2")
    assert campaign.outcomes() == ["passed", "passed"], campaign.text
    assert campaign.status == 0
    first = campaign.records[0]
    assert [call["name"] for call in first["tool_calls"]][2:] == [
        "get_guest",
        "request_approval",
        "send_mail",
    ]
    assert first["response"] == "Your manager has to approve this first; I have asked her."


@pytest.mark.parametrize("way", [FUNCTION, PROGRAM], ids=["function", "program"])
def test_the_wrong_call_fails(play: Callable[..., Campaign], guest: tuple[str, str], way: str) -> None:
    campaign = play(TASK, *guest, f"--tb-agent={way}hasty")
    assert campaign.outcomes() == ["failed"], campaign.text
    assert campaign.status == 1
    assert 'Inserted("approvals"' in campaign.text


def test_every_tool_called_with_arguments_made_of_its_schema(
    play: Callable[..., Campaign], guest: tuple[str, str]
) -> None:
    campaign = play(TASK, *guest, f"--tb-agent={FUNCTION}everything")
    assert campaign.outcomes() == ["failed"], campaign.text
    assert len({call["name"] for call in campaign.records[0]["tool_calls"]}) >= 20
