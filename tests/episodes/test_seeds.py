from __future__ import annotations

from pytest_thinkingbox.episodes.seeds import derive_seed


def test_a_seed_is_the_same_in_every_process():
    assert derive_seed("policy", 0, "test_a", 1, 1) == 948890201


def test_seeds_differ_between_attempts_tries_and_roles():
    seeds = {
        derive_seed(role, 0, "test_a", attempt, number)
        for role in ("policy", "user")
        for attempt in range(1, 21)
        for number in (1, 2, 3)
    }
    assert len(seeds) == 120


def test_parts_do_not_run_together():
    assert derive_seed("a", "bc") != derive_seed("ab", "c")
    assert derive_seed(1) != derive_seed("1")


def test_a_seed_fits_a_signed_32_bit_integer():
    assert all(0 <= derive_seed(number) < 2**31 for number in range(1000))
