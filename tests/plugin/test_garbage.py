"""The garbage collector has other thresholds while attempts are played, and its own again afterwards."""

from __future__ import annotations

import gc

import pytest


@pytest.mark.parametrize(("own", "expected"), [(700, 50_000), (80_000, 80_000), (0, 0)])
def test_the_threshold_is_raised_for_the_run_and_never_lowered(suite, run, own, expected):
    suite(f"""
    import gc

    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(changes):
        assert changes == [Updated("orders", 1, status="closed")]
        assert gc.get_threshold()[0] == {expected}
    """)
    before = gc.get_threshold()
    gc.set_threshold(own, *before[1:])
    try:
        assert run().outcomes() == ["passed"]
        assert gc.get_threshold() == (own, *before[1:])
    finally:
        gc.set_threshold(*before)


def test_a_run_without_tasks_keeps_it(suite, run):
    before = gc.get_threshold()
    suite(f"def test_plain():\n    import gc\n    assert gc.get_threshold() == {before}\n")
    run().result.assert_outcomes(passed=1)
