"""What a trainer asks of a suite: its tasks, a reward for a final state, rewards in TRL's shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from pytest_thinkingbox.episodes.final import FinalState
from pytest_thinkingbox.episodes.model import Episode
from pytest_thinkingbox.episodes.outcomes import Verdict, invalid
from pytest_thinkingbox.plugin.held import HeldTask
from pytest_thinkingbox.rewards.grader import CHECK_SECONDS, Grader

Reward = Literal["binary", "credit"]
"""Whether a failed attempt is worth 0, or what its checker gave it with `attempt.credit`."""


class Suite:
    """The tasks of a suite, and their test functions as rewards. Close it, or use it in a `with`."""

    def __init__(self, grader: Grader) -> None:
        self._grader = grader
        self.tasks: dict[str, HeldTask] = {task.id: task for task in grader.tasks()}

    def grade(self, episode: Episode | FinalState) -> Verdict:
        """Passed, failed or invalid. An episode that is invalid itself stays so, unasked."""
        if isinstance(episode, FinalState):
            return self._grader.grade(episode)
        if episode.cause is not None:
            return invalid(episode.cause, episode.detail)
        return self._grader.grade(FinalState.of(episode))

    def reward(
        self, task_id: str, episode: Episode | FinalState, *, reward: Reward = "binary"
    ) -> float | None:
        """1.0 passed, 0.0 failed (its credit with `reward="credit"`), None when nothing was learnt of the policy.

        Raises ValueError when the episode is one of another task.
        """
        played = episode.task_id if isinstance(episode, FinalState) else episode.request.task_id
        if played != task_id:
            raise ValueError(f"this is an episode of {played!r}, not of {task_id!r}")
        return reward_of(self.grade(episode), reward=reward)

    def dataset(self, *, repeat: int = 1) -> list[dict[str, Any]]:
        """A row for each task: `prompt` (chat messages), `task_id`, `tags`. `datasets.Dataset.from_list` takes it.

        `repeat` gives each task several rows. A trainer that wants more prompts a step than there are rows may train
        nothing at all in silence: TRL does.
        """
        rows = [
            {"prompt": _messages(task), "task_id": task.id, "tags": list(task.tags)}
            for task in self.tasks.values()
        ]
        return [dict(row) for _ in range(repeat) for row in rows]

    def reward_funcs(self, *, reward: Reward = "binary") -> list[Callable[..., list[float | None]]]:
        """For TRL's `reward_funcs`: one function, which reads the column `episode` that a rollout function returns.

        One and not several: TRL takes a None for a real failure as soon as any other reward function returns a number.
        """

        def thinkingbox_reward(
            *, task_id: Sequence[str], episode: Sequence[Episode | FinalState | None], **_: Any
        ) -> list[float | None]:
            return [
                None if one is None else self.reward(task, one, reward=reward)
                for task, one in zip(task_id, episode, strict=True)
            ]

        return [thinkingbox_reward]

    def process_id(self) -> int:
        """Of the child that grades, begun if there is none."""
        return self._grader.process_id()

    def close(self) -> None:
        self._grader.close()

    def __enter__(self) -> Suite:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load_suite(
    *paths: str | PathLike[str],
    arguments: Sequence[str] = (),
    seconds: float = CHECK_SECONDS,
    cwd: Path | None = None,
) -> Suite:
    """Collect a suite with pytest, in a child process that stays and grades.

    `paths` and `arguments` are pytest's (`arguments=["-k", "refund"]`), `seconds` is how long one check may take.
    Raises CannotGrade with what pytest said when it cannot collect them.
    """
    grader = Grader([*(fspath(path) for path in paths), *arguments], seconds=seconds, cwd=cwd)
    try:
        return Suite(grader)
    except BaseException:
        grader.close()
        raise


def reward_of(verdict: Verdict, *, reward: Reward = "binary") -> float | None:
    """None for an invalid attempt: it is no failure, and no number stands for it."""
    if verdict.outcome == "failed" and reward == "binary":
        return 0.0
    return verdict.reward


def _messages(task: HeldTask) -> list[dict[str, str]]:
    system = [{"role": "system", "content": task.instructions}] if task.instructions else []
    return [*system, {"role": "user", "content": task.prompt}]
