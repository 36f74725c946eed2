"""What a trainer asks of a suite: its tasks, a reward for a final state, rewards in TRL's shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_thinkingbox.episodes.final import FinalState
from pytest_thinkingbox.episodes.model import Episode
from pytest_thinkingbox.episodes.outcomes import Verdict, invalid
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.plugin.held import HeldTask
from pytest_thinkingbox.rewards.grader import CHECK_SECONDS, Grader

if TYPE_CHECKING:
    from pytest_thinkingbox.agents.tokens import Engine
    from thinkingbox_trainer.rollout_func import RolloutFunc

Reward = Literal["binary", "credit"]
"""Whether a failed attempt is worth 0, or what its checker gave it with `attempt.credit`."""
_NEEDED = ("torch", "transformers", "accelerate", "trl")


class Suite:
    """The tasks of a suite, and their test functions as rewards. Close it, or use it in a `with`."""

    def __init__(self, grader: Grader) -> None:
        self._grader = grader
        self._opened = ExitStack()
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
        """For TRL's `reward_funcs`: one function, which takes the rewards that `rollout_func` brought, or grades the
        column `episode` that a rollout function of your own returns.

        One and not several: TRL takes a None for a real failure as soon as any other reward function returns a number.
        """

        def thinkingbox_reward(
            *,
            task_id: Sequence[str],
            episode: Sequence[Episode | FinalState | None] | None = None,
            **given: Any,
        ) -> list[float | None]:
            if episode is None:
                return _brought(given, reward=reward)
            return [
                None if one is None else self.reward(task, one, reward=reward)
                for task, one in zip(task_id, episode, strict=True)
            ]

        return [thinkingbox_reward]

    def rollout_func(
        self,
        *,
        longest: int,
        answer: int,
        reward: Reward = "binary",
        refill: Literal["group", "member"] = "group",
        replace_uniform: bool = False,
        most_episodes: int | None = None,
        concurrency: int | None = None,
        seed: int = 0,
        engine: Engine | None = None,
        report: Callable[[Mapping[str, Any]], None] = lambda metrics: None,
    ) -> RolloutFunc:
        """For TRL's `GRPOTrainer(rollout_func=...)`, with `reward_funcs()` and a dataset of rows of `dataset()`.

        It plays the tasks of the prompts that TRL asks for, in groups of `num_generations`, all of a step at once (or
        `concurrency`), with the trainer's model, temperature and cuts, and grades them. A conversation has at most
        `longest` ids, a generation at most `answer`. An invalid member has its `refill` played; with `replace_uniform`
        another task of the dataset takes the place of a group in which all are worth the same. A step begins at most
        `most_episodes` (twice its rows unless said). `engine` is one that has the trainer's weights, where it cannot be
        the model in this process; `policy_version` is set on it. `report` is given the figures of every step.

        Raises ConfigurationError when the training libraries are not there.
        """
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            raise ConfigurationError(
                f"rollout_func needs {', '.join(missing)}: pip install 'pytest-thinkingbox[train]' (on a machine "
                "without a GPU install the CPU wheel of torch first)"
            )
        from thinkingbox_trainer.rollout_func import RolloutFunc  # torch, which a reward does without

        made = RolloutFunc(
            self,
            arguments=self._grader.arguments,
            cwd=self._grader.cwd,
            longest=longest,
            answer=answer,
            reward=reward,
            refill=refill,
            replace_uniform=replace_uniform,
            most_episodes=most_episodes,
            concurrency=concurrency,
            seed=seed,
            engine=engine,
            report=report,
        )
        self._opened.callback(made.close)
        return made

    def process_id(self) -> int:
        """Of the child that grades, begun if there is none."""
        return self._grader.process_id()

    def close(self) -> None:
        """Ends the child that grades, and the rollouts."""
        try:
            self._opened.close()
        finally:
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


def _brought(given: Mapping[str, Any], *, reward: Reward) -> list[float | None]:
    """What a rollout function has graded already, and its figures for TRL's own log. Raises ConfigurationError."""
    if "reward" not in given:
        raise ConfigurationError(
            "the rollout function returned neither `episode` nor `reward`: give GRPOTrainer suite.rollout_func(...), "
            "or return the column `episode`"
        )
    if graded := {one for one in given.get("graded_as", ()) if one != reward}:
        raise ConfigurationError(
            f"reward_funcs(reward={reward!r}), and rollout_func graded with reward={graded.pop()!r}: say the same"
        )
    log = given.get("log_metric")
    if log is not None and given.get("figures"):
        for name, value in given["figures"][0].items():
            log(f"thinkingbox/{name}", value)
    return list(given["reward"])


def _messages(task: HeldTask) -> list[dict[str, str]]:
    system = [{"role": "system", "content": task.instructions}] if task.instructions else []
    return [*system, {"role": "user", "content": task.prompt}]
