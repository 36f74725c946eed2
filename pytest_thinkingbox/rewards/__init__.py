"""A suite as a reward: the test functions of a suite grade episodes that a trainer plays."""

from __future__ import annotations

from pytest_thinkingbox.episodes.final import FinalState
from pytest_thinkingbox.episodes.outcomes import Verdict
from pytest_thinkingbox.plugin.held import HeldTask
from pytest_thinkingbox.rewards.grader import CannotGrade, Grader
from pytest_thinkingbox.rewards.suite import Suite, load_suite

__all__ = ["CannotGrade", "FinalState", "Grader", "HeldTask", "Suite", "Verdict", "load_suite"]
