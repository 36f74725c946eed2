from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_thinkingbox.declare.faults import Fault, faults_of, parse_faults


def test_a_line_names_tools_and_what_goes_wrong_with_them() -> None:
    assert parse_faults(
        "confirm_*:after_commit=timeout,rate=0.2; send_mail:before=error,times=2,delay=0.5;"
    ) == (
        Fault("confirm_*", after_commit="timeout", rate=0.2, times=None),
        Fault("send_mail", before="error", times=2, delay=0.5),
    )
    assert parse_faults("slow:delay=1,times=all") == (Fault("slow", delay=1.0, times=None),)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("confirm_refund", "names no fault: write TOOL:after_commit=timeout"),
        ("a:before", "'before' in 'a:before'|must be \"error\""),
        ("a:before=later", "before='later' must be"),
        ("a:often=1", "'often=1' in 'a:often=1' must be before=..."),
        ("a:before=error,times=x", "'times=x'"),
        ("a:before=error,rate=2", "rate=2.0 must be a probability"),
        ("a:rate=0.5", "say what goes wrong"),
    ],
)
def test_a_wrong_line_says_what_is_wrong(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_faults(line)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fault("a", before="error", after_commit="timeout"), "not both"),
        (lambda: Fault("a"), "say what goes wrong"),
        (lambda: Fault("", before="error"), "tool='' must be a non-empty string"),
        (lambda: Fault("a", before="error", times=0), "times=0 must be a whole number from 1"),
        (lambda: Fault("a", delay=-1), "delay=-1 must be a number of seconds"),
        (lambda: faults_of("task", Fault("a", before="error")), "must be a list"),
        (lambda: faults_of("task", ["a"]), r"faults item='a' must be a Fault"),
    ],
)
def test_wrong_faults_are_refused_where_they_are_written(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()
