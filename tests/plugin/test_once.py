from __future__ import annotations

import re

DOWN = """
    from pytest_thinkingbox.errors import InfrastructureDown

    async def agent(task):
        raise InfrastructureDown("the tool server died")
"""

TASKS = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]

@shop.task("Close order 1.", solution=CLOSE_1)
def test_mistake(changes):
    {}["key"]
"""


def test_attempts_that_are_invalid_alike_are_shown_once_and_counted(suite, run_everywhere, pytester):
    pytester.makepyfile(down=DOWN)
    suite(TASKS)
    outcome = run_everywhere("--tb-attempts=4", "--tb-retry-invalid=0", agent="python:down:agent")
    assert outcome.counts == {"errors": 8}
    shown = outcome.text[: outcome.text.index("short test summary")]
    assert shown.count("ERROR at setup of test_close") == 1
    assert shown.count("4 attempts of this task ended like this") == 2
    assert shown.count("invalid: infrastructure: the tool server died") == 2
    assert "runner.py" not in shown
    lines = re.findall(r"^ERROR \S+ - invalid: infrastructure", outcome.text, re.MULTILINE)
    assert len(lines) == 8


def test_with_v_every_attempt_is_shown(suite, run, pytester):
    pytester.makepyfile(down=DOWN)
    suite(TASKS)
    outcome = run("-v", "--tb-attempts=2", "--tb-retry-invalid=0", agent="python:down:agent")
    assert outcome.text.count("ERROR at setup of test_close") == 2


def test_a_mistake_in_a_checker_is_shown_where_it_is(suite, run):
    suite(TASKS)
    outcome = run("--tb-attempts=3")
    assert outcome.text.count('>       {}["key"]') == 1
    assert outcome.text.count("3 attempts of this task ended like this") == 1
