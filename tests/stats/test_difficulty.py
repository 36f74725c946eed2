from __future__ import annotations

import pytest
from scipy.stats import beta

from pytest_thinkingbox.stats.difficulty import BANDS, Band, band, band_masses


@pytest.mark.parametrize(
    ("passed", "valid", "expected"),
    [
        (0, 20, "rarely"),
        (1, 20, "rarely"),
        (2, 20, "hard"),
        (8, 20, "hard"),
        (9, 20, "middle"),
        (11, 20, "middle"),
        (12, 20, "often"),
        (18, 20, "often"),
        (19, 20, "nearly always"),
        (20, 20, "nearly always"),
        (1, 4, "hard"),
        (2, 4, "middle"),
        (0, 0, None),
    ],
)
def test_a_task_belongs_to_the_band_with_the_largest_mass(
    passed: int, valid: int, expected: Band | None
) -> None:
    assert band(passed=passed, valid=valid) == expected


def test_masses_are_those_of_the_posterior_and_sum_to_one() -> None:
    posterior = beta(3.5, 17.5)
    masses = band_masses(passed=3, valid=20)
    for name, (low, high) in BANDS.items():
        assert masses[name] == pytest.approx(posterior.cdf(high) - posterior.cdf(low))
    assert sum(masses.values()) == pytest.approx(1)


def test_the_bands_leave_no_gap() -> None:
    edges = list(BANDS.values())
    assert [low for low, _ in edges] == [0.0, 0.08, 0.40, 0.60, 0.90]
    assert [high for _, high in edges] == [0.08, 0.40, 0.60, 0.90, 1.0]


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="must be 0 <= passed <= valid"):
        band(passed=5, valid=4)
