"""From test functions to attempts."""

from __future__ import annotations

CLOSES = """
@shop.task("Close order 1.", solution=CLOSE_1)
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]
"""


def test_attempts_are_items_named_try(suite, run):
    suite(CLOSES)
    outcome = run("--tb-attempts=2", "--collect-only", "-q")
    assert "test_shop.py::test_close[try1]" in outcome.text
    assert "test_shop.py::test_close[try2]" in outcome.text
    assert outcome.records() == []


def test_a_single_attempt_has_the_plain_name(suite, run):
    suite(CLOSES)
    assert "test_shop.py::test_close\n" in run("--collect-only", "-q").text


def test_t5_parametrized_cases_are_tasks_of_their_own(suite, run):
    suite("""
    @pytest.mark.parametrize("order_id, status", [(1, "closed"), (2, "open")], ids=["easy", "hard"])
    @shop.task(
        prompt=lambda order_id: f"Close order {order_id}.",
        solution=lambda order_id, status: [call("set_status", order_id=order_id, status=status)],
    )
    def test_close(changes, order_id, status):
        assert changes == [Updated("orders", order_id, status="closed")]
    """)
    outcome = run("--tb-attempts=4")
    assert outcome.status == 1
    assert outcome.counts == {"passed": 4, "failed": 4}
    assert [(one["task"], one["attempt"], one["outcome"]) for one in outcome.records()] == [
        *(("test_shop.py::test_close[easy]", n, "passed") for n in (1, 2, 3, 4)),
        *(("test_shop.py::test_close[hard]", n, "failed") for n in (1, 2, 3, 4)),
    ]


def test_a_prompt_that_names_an_unknown_parameter_is_a_collection_error(suite, run):
    suite("""
    @shop.task(prompt=lambda guest: f"Hello {guest}")
    def test_close(changes):
        pass
    """)
    outcome = run()
    assert outcome.status == 2
    assert "prompt takes guest, which the test has no parameter for (it has: none)" in outcome.text


def test_methods_of_unittest_are_refused(suite, run):
    suite("""
    import unittest

    class TestOrders(unittest.TestCase):
        @shop.task("Close order 1.", solution=CLOSE_1)
        def test_close(self):
            pass
    """)
    outcome = run()
    assert outcome.status == 2
    assert "methods of unittest.TestCase cannot be repeated" in outcome.text


def test_the_marker_sets_the_number_of_attempts(suite, run):
    suite("@pytest.mark.thinkingbox(attempts=3)" + CLOSES)
    assert run("--tb-attempts=5").counts == {"passed": 3}


def test_the_marker_refuses_what_it_does_not_know(suite, run):
    suite("@pytest.mark.thinkingbox(tries=3)" + CLOSES)
    outcome = run()
    assert outcome.status == 2
    assert "takes attempts=N and nothing else, not tries" in outcome.text


def test_the_marker_on_an_ordinary_function_is_refused(suite, run):
    suite("@pytest.mark.thinkingbox\ndef test_plain():\n    pass\n")
    outcome = run()
    assert outcome.status == 2
    assert "decorate the function with @environment.task(...) too" in outcome.text


def test_m_selects_tasks(suite, run):
    suite(CLOSES + "\ndef test_ordinary():\n    pass\n")
    assert run("-m", "thinkingbox").counts == {"passed": 1, "deselected": 1}


def test_t50_the_flaky_marker_is_refused(suite, run):
    suite("@pytest.mark.flaky(reruns=2)" + CLOSES)
    outcome = run("-o", "markers=flaky: x")
    assert outcome.status == 2
    assert "would repeat an attempt until it passes" in outcome.text


def test_one_function_is_one_task(suite, run):
    suite("@shop.task('Again.')" + CLOSES)
    outcome = run()
    assert outcome.status == 2
    assert "is a task already" in outcome.text


def test_a_function_that_is_no_task_cannot_use_the_fixtures(suite, run):
    suite("def test_plain(changes):\n    pass\n")
    outcome = run()
    assert outcome.status == 1
    assert "is no task: decorate it with @environment.task(...)" in outcome.text


def test_a_fixture_may_be_overridden_and_asked_for_by_name(suite, run):
    suite("""
    @pytest.fixture
    def changes(changes, request):
        return changes, request.getfixturevalue("attempt").number

    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(changes):
        assert changes == ([Updated("orders", 1, status="closed")], 1)

    class TestOrders:
        @shop.task("Close order 1.", solution=CLOSE_1)
        def test_close(self, changes, attempt):
            assert attempt.changes is changes[0]
            assert changes[0] == [Updated("orders", 1, status="closed")]
    """)
    assert run().counts == {"passed": 2}
