"""What is looked at every few steps, and ends a run when it is not so: that the sampler has the weights that are
trained, and that passed episodes passed. No reward is worse than a false green."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_thinkingbox.agents.tokens import Generation
from pytest_thinkingbox.backends.base import AuditMismatch
from pytest_thinkingbox.episodes.final import FinalState
from pytest_thinkingbox.episodes.model import Episode
from pytest_thinkingbox.episodes.outcomes import Verdict, invalid
from pytest_thinkingbox.episodes.seeds import derive_seed
from pytest_thinkingbox.errors import InfrastructureDown, ThinkingboxError
from pytest_thinkingbox.rewards.suite import Suite
from pytest_thinkingbox.state.diff import same
from thinkingbox_trainer.fixed import EVERY

SEED = 1
"""Of the sequence that sampler and trainer are asked about."""


class PoliciesDiffer(ThinkingboxError):
    """The sampler does not sample from the policy that is trained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A sequence by the sampler; `logprobs` of each of its `ids`."""

    prompt: list[int]
    ids: list[int]
    logprobs: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One sequence, always from the same prompt and seed: what the sampler says of the ids that it writes is compared
    with what the trainer says of them."""

    prompt: Sequence[int]
    write: Callable[[Sequence[int]], Generation]
    tolerance: float

    def ask(self) -> Said:
        """What the sampler writes. Raises PoliciesDiffer when it does not say how likely that was."""
        written = self.write(self.prompt)
        if written.logprobs is None:
            raise PoliciesDiffer(
                "the sampler says no log-probabilities, so that nobody can tell whether it has the weights that are "
                "trained"
            )
        return Said(prompt=list(self.prompt), ids=list(written.ids), logprobs=list(written.logprobs))

    def compare(self, step: int, said: Said, trained: Sequence[float]) -> float:
        """The largest difference. Raises PoliciesDiffer."""
        differences = [abs(one - other) for one, other in zip(said.logprobs, trained, strict=True)]
        largest = max(differences, key=lambda one: math.inf if math.isnan(one) else one)
        if not largest <= self.tolerance:
            at = differences.index(largest)
            raise PoliciesDiffer(
                f"step {step}: sampler and trainer differ by {largest:.4g} in the log-probability of token {at} of a "
                f"fixed sequence, more than {self.tolerance:g}: the sampler has other weights than those that are "
                "trained"
            )
        return largest


class WrongVerdict(ThinkingboxError):
    """A passed episode is not what it was taken for."""


def is_sampled(*, seed: int, step: int, task: str, member: int, size: int) -> bool:
    """One member of each group, chosen before anything is known of it; it is graded again if it passed."""
    return step % EVERY == 0 and derive_seed(seed, "regrade", step, task) % size + 1 == member


def looked_again(suite: Suite, episode: Episode, verdict: Verdict) -> Verdict:
    """`verdict`, or an invalid one where an outage kept us from looking. `episode` still has its database. Raises
    WrongVerdict."""
    assert episode.lease is not None
    task = episode.request.task_id
    try:
        changes = episode.lease.read_changes(audit=True)
    except AuditMismatch as error:
        raise WrongVerdict(
            f"{task}: the changes of a passed episode differ by full comparison:\n{error}"
        ) from error
    except InfrastructureDown as error:
        return invalid("infrastructure", str(error))
    if episode.diff is None or not same(changes, episode.diff):
        raise WrongVerdict(f"{task}: a second reading of a passed episode found other changes: {changes}")
    again = suite.grade(replace(FinalState.of(episode), diff=changes))
    if again.outcome == "invalid":
        return again
    if (again.outcome, again.reward) != (verdict.outcome, verdict.reward):
        raise WrongVerdict(
            f"{task}: graded {verdict.outcome}, and {again.outcome} when graded again: {again.detail}"
        )
    return verdict
