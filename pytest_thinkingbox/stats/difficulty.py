"""How hard a task is for the policy that was probed: the band that holds most of the posterior."""

from __future__ import annotations

from typing import Literal

from scipy.special import betainc

Band = Literal["rarely", "hard", "middle", "often", "nearly always"]

BANDS: dict[Band, tuple[float, float]] = {
    "rarely": (0.0, 0.08),
    "hard": (0.08, 0.40),
    "middle": (0.40, 0.60),
    "often": (0.60, 0.90),
    "nearly always": (0.90, 1.0),
}
"""Chance to pass, from and below; the last band includes 1."""


def band_masses(*, passed: int, valid: int) -> dict[Band, float]:
    """Posterior mass of each band, under Beta(c + 1/2, n - c + 1/2)."""
    if not 0 <= passed <= valid:
        raise ValueError(f"passed={passed} of valid={valid}: must be 0 <= passed <= valid")
    a, b = passed + 0.5, valid - passed + 0.5
    return {band: float(betainc(a, b, high) - betainc(a, b, low)) for band, (low, high) in BANDS.items()}


def band(*, passed: int, valid: int) -> Band | None:
    """The band with the largest mass, the harder one of equals; None without a valid attempt."""
    if not valid:
        return None
    masses = band_masses(passed=passed, valid=valid)
    return max(masses, key=lambda one: masses[one])
