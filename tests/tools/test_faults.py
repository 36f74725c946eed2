from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.declare.faults import Fault
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.tools.faults import FaultyTools, check_faults


class Till:
    """A tool that pays each time that it is called, and refuses amounts below 1."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    async def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolOutput:
        assert isinstance(arguments, Mapping)
        if arguments["amount"] < 1:
            return ToolOutput("too little", error=True)
        self.paid.append(arguments["amount"])
        return ToolOutput("paid", value={"paid": arguments["amount"]})


def played(*faults: Fault, amounts: tuple[int, ...] = (1, 2, 3), seed: int = 1, name: str = "pay") -> Any:
    """The till, and the answers to calls one after the other."""
    till = Till()

    async def go() -> list[ToolOutput]:
        tools = FaultyTools(till.call, faults, tools=["pay"], seed=seed, seconds=0.3)
        return [await tools.play(name, {"amount": amount}, tools.draw(name)) for amount in amounts]

    return till, asyncio.run(go())


def test_a_call_that_fails_before_is_not_made() -> None:
    till, answers = played(Fault("pay", before="error"))
    assert till.paid == [2, 3]
    assert answers[0] == ToolOutput(
        "Error executing tool pay: the service is temporarily unavailable.", error=True, fault="before=error"
    )
    assert answers[1] == ToolOutput("paid", value={"paid": 2})


def test_t34_a_call_whose_answer_is_lost_has_committed() -> None:
    till, answers = played(Fault("pay", after_commit="timeout"), amounts=(5, 5))
    assert till.paid == [5, 5]
    assert answers[0] == ToolOutput(
        "pay did not answer within 0.3 s. It may have taken effect or not.",
        error=True,
        fault="after_commit=timeout",
    )
    assert answers[1].text == "paid"


def test_a_lost_connection_looks_the_same_before_and_after() -> None:
    _, (before, *_) = played(Fault("pay", before="disconnect"))
    _, (after, *_) = played(Fault("pay", after_commit="disconnect"))
    assert (
        before.text == after.text == "The connection was lost while pay ran. It may have taken effect or not."
    )
    assert (before.fault, after.fault) == ("before=disconnect", "after_commit=disconnect")


def test_what_the_tool_refused_committed_nothing_and_uses_up_no_fault() -> None:
    till, answers = played(Fault("pay", after_commit="timeout"), amounts=(0, 7))
    assert (answers[0].text, answers[0].fault) == ("too little", "")
    assert answers[1].fault == "after_commit=timeout"
    assert till.paid == [7]


def test_as_many_calls_are_hit_as_it_says() -> None:
    _, answers = played(Fault("pay", before="error", times=2))
    assert [one.error for one in answers] == [True, True, False]
    _, answers = played(Fault("p*", before="error", times=None))
    assert [one.error for one in answers] == [True, True, True]
    _, answers = played(Fault("refund", before="error", times=None))
    assert [one.error for one in answers] == [False, False, False]


def test_two_faults_of_one_tool_follow_upon_each_other() -> None:
    _, answers = played(Fault("pay", before="error"), Fault("pay", after_commit="timeout"))
    assert [one.fault for one in answers] == ["before=error", "after_commit=timeout", ""]


def test_a_rate_hits_about_so_many_calls_the_same_ones_for_a_seed() -> None:
    fault = Fault("pay", before="error", rate=0.3, times=None)

    def hits(seed: int) -> list[bool]:
        return [one.error for one in played(fault, amounts=(1,) * 400, seed=seed)[1]]

    assert hits(1) == hits(1)
    assert hits(1) != hits(2)
    assert 90 <= sum(hits(1)) <= 150


def test_a_late_answer_comes_and_one_that_is_too_late_is_a_timeout() -> None:
    started = time.monotonic()
    till, answers = played(Fault("pay", delay=0.1), Fault("pay", delay=9), amounts=(1, 2))
    assert 0.4 <= time.monotonic() - started < 5
    assert (answers[0].text, answers[0].error, answers[0].fault) == ("paid", False, "delay=0.1")
    assert answers[1].text.startswith("pay did not answer within 0.3 s.")
    assert till.paid == [1, 2]


def test_a_fault_that_can_hit_no_tool_is_an_error_with_the_tools() -> None:
    check_faults([Fault("p*", before="error")], ["pay"], where="here")
    with pytest.raises(ConfigurationError, match=r"here: Fault\('pya'\) hits no tool; the tools are: pay"):
        check_faults([Fault("pya", before="error")], ["pay"], where="here")


def test_a_tool_that_does_not_exist_is_hit_by_nothing() -> None:
    _, answers = played(Fault("*", before="error"), amounts=(0,), name="pai")
    assert answers == [ToolOutput("too little", error=True)]
