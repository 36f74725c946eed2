"""pass@k, pass^k and what else follows from c passes in n valid attempts of one task."""

from __future__ import annotations

from math import comb


def pass_rate(*, passed: int, valid: int) -> float | None:
    """c/n, the estimate of pass@1; None (n/a) without a valid attempt."""
    _check(passed, valid)
    return passed / valid if valid else None


def pass_at_k(*, passed: int, valid: int, k: int) -> float | None:
    """Chance that at least one of k attempts drawn from the n valid ones passed: 1 - C(n-c, k) / C(n, k).

    None (n/a) when k > n.
    """
    _check(passed, valid, k)
    return None if k > valid else 1 - comb(valid - passed, k) / comb(valid, k)


def pass_hat_k(*, passed: int, valid: int, k: int) -> float | None:
    """pass^k, the chance that all of k attempts drawn from the n valid ones passed: C(c, k) / C(n, k).

    None (n/a) when k > n.
    """
    _check(passed, valid, k)
    return None if k > valid else comb(passed, k) / comb(valid, k)


def plug_in_pass_hat_k(*, passed: int, valid: int, k: int) -> float | None:
    """(c/n)^k, biased upwards; shown only under the name "plug-in pass^k". None without a valid attempt."""
    _check(passed, valid, k)
    return (passed / valid) ** k if valid else None


def _check(passed: int, valid: int, k: int = 1) -> None:
    if not 0 <= passed <= valid:
        raise ValueError(f"passed={passed} of valid={valid}: must be 0 <= passed <= valid")
    if k < 1:
        raise ValueError(f"k={k}: must be at least 1")
