"""Steps of rows without a training library: real episodes, real checkers, an engine that says what it is told to."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_thinkingbox.agents.tokens import Generation, TokensAgent
from pytest_thinkingbox.errors import ProviderDown
from pytest_thinkingbox.rewards import Suite, load_suite
from pytest_thinkingbox.rewards.player import Player
from tests.rewards.suites import forgotten, write_suite
from tests.tokens.tokenizer import END, ByteTokenizer
from thinkingbox_trainer.groups import Cursor, Rules
from thinkingbox_trainer.ledger import Ledger
from thinkingbox_trainer.rollout import Rollouts, StalePolicy, Step, Traces, TrainingStopped

CLOSE = '<tool_call>{"name": "set_status", "arguments": {"order_id": 1, "status": "%s"}}</tool_call>'
TASKS = [f"test_shop.py::{name}" for name in ("test_close", "test_rows", "test_async", "test_subtests")]


class Policy:
    """Closes the order in every second episode and loses it in the others, or does nothing there when it is `idle`;
    every `down`th request fails. `versions` are those of the weights, in turn; `kills` is a process that is ended at
    the fifth request."""

    def __init__(
        self,
        *,
        down: int = 0,
        always: str | None = None,
        idle: bool = False,
        versions: tuple[int | None, ...] = (None,),
        kills: int | None = None,
    ) -> None:
        self._versions = versions
        self._kills = kills
        self._down = down
        self._idle = idle
        self._always = always
        self._requests = 0

    async def generate(self, ids, *, seed, most):
        self._requests += 1
        if self._down and self._requests % self._down == 0:
            raise ProviderDown("the engine is down")
        version = self._versions[self._requests % len(self._versions)]
        if self._kills is not None and self._requests == 5:
            os.kill(self._kills, signal.SIGKILL)
        answered = ids.count(257) > 3  # by a tool
        if answered or (self._idle and seed % 2 == 0):
            return Generation(ByteTokenizer().encode(f"Done.{END}"), policy_version=version)
        status = self._always or ("closed" if seed % 2 else "lost")
        return Generation(ByteTokenizer().encode(CLOSE % status + END), policy_version=version)

    async def aclose(self):
        """Nothing is held."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = write_suite(tmp_path_factory.mktemp("suite"))
    with forgotten(made):
        yield made


@pytest.fixture(scope="module")
def suite(folder) -> Iterator[Suite]:
    with load_suite(cwd=folder, seconds=20) as loaded:
        yield loaded


class Engine:
    """The engine of all tests: each sets its policy."""

    policy = Policy()

    async def generate(self, ids, *, seed, most):
        return await self.policy.generate(ids, seed=seed, most=most)

    async def aclose(self):
        """Nothing is held."""


@pytest.fixture(scope="module")
def played(folder) -> Iterator[tuple[Engine, Player, Traces]]:
    engine, traces = Engine(), Traces()
    agent = TokensAgent(engine, ByteTokenizer(), longest=20_000, answer=1000, keep=traces.keep)
    player = Player([], agent, name="t", concurrency=8, cwd=folder)
    yield engine, player, traces
    player.close()


@pytest.fixture
def rollouts(suite, played):
    """Makes `Rollouts` for a policy, and closes them."""
    engine, player, traces = played
    opened = []

    def make(policy: Policy, *, reward="binary", ledger: Ledger | None = None, **rules) -> Rollouts:
        engine.policy = policy
        given = {"groups": 2, "size": 4, "most_episodes": 60, "refill": "member", "replace_uniform": True}
        made = Rollouts(
            suite=suite,
            player=player,
            traces=traces,
            cursor=Cursor(TASKS, seed=1),
            rules=Rules(**{**given, **rules}),
            reward=reward,
            seed=1,
            filler=256,
            ledger=ledger,
        )
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.close()


def rewards(step: Step) -> list[float | None]:
    return [row.reward for row in step.rows]


def test_a_step_has_a_row_for_each_member_of_each_group(rollouts):
    step = rollouts(Policy()).step(0)
    assert len(step.rows) == 8
    assert set(rewards(step)) == {0.0, 1.0}
    for row in step.rows:
        assert len(row.completion) == len(row.mask)
        told = [one for one, mask in zip(row.completion, row.mask, strict=True) if not mask]
        assert "<tool_response>\ndone\n</tool_response>" in ByteTokenizer().decode(told)
    assert {step.rows[at].task for at in range(4)} == {step.rows[0].task}
    assert not step.skip


def test_the_same_seed_makes_the_same_step(rollouts):
    assert rollouts(Policy()).step(3) == rollouts(Policy()).step(3)


def test_other_steps_have_other_seeds(rollouts):
    one = rollouts(Policy())
    assert [rewards(one.step(number)) for number in range(3)] != [rewards(one.step(0))] * 3


def test_an_invalid_episode_is_played_again_and_is_in_no_row(rollouts):
    step = rollouts(Policy(down=9)).step(0)
    assert step.metrics["invalid_share"] > 0
    assert set(rewards(step)) == {0.0, 1.0}
    assert step.metrics["episodes"] > 8


def test_what_is_missing_is_filled_up_with_rows_under_a_mask(rollouts):
    step = rollouts(Policy(always="closed")).step(0)
    assert rewards(step) == [None] * 8
    assert [row.mask for row in step.rows] == [[0]] * 8
    assert step.skip
    assert step.metrics["groups_uniform"] == 4
    assert math.isnan(step.metrics["reward"])


def test_the_second_step_in_a_row_without_enough_groups_ends_the_run(rollouts):
    one = rollouts(Policy(always="closed"))
    one.step(0)
    with pytest.raises(
        TrainingStopped, match=r"step 1 is the 2\. in a row .* worth the same for every member"
    ):
        one.step(1)


def test_t15_a_batch_that_is_mostly_invalid_ends_the_run(rollouts):
    with pytest.raises(TrainingStopped, match="episodes were invalid; look at what is down"):
        rollouts(Policy(down=1)).step(0)


def test_credit_is_a_reward_only_where_it_is_asked_for(rollouts, monkeypatch):
    monkeypatch.setattr("tests.trainer.test_rollout.TASKS", ["test_shop.py::test_credit"])
    assert set(rewards(rollouts(Policy(idle=True), groups=1).step(0))) == {0.0, 1.0}
    assert set(rewards(rollouts(Policy(idle=True), groups=1, reward="credit").step(0))) == {0.25, 1.0}


def test_a_grading_process_that_is_killed_is_begun_again_and_no_reward_is_made_up(rollouts, suite, tmp_path):
    """Every episode deserves 1. The one whose verdict was lost is invalid, and played again."""
    killed = suite.process_id()
    ledger = Ledger(tmp_path / "ledger.jsonl", step=0)
    one = rollouts(Policy(always="closed", kills=killed), replace_uniform=False, ledger=ledger)
    step = one.step(0)
    ledger.close()
    assert rewards(step) == [1.0] * 8
    assert suite.process_id() != killed
    assert step.metrics["episodes"] == 9
    spent = ledger.totals().kept
    assert (spent.begun, spent.ended, spent.invalid, spent.unknown) == (9, 9, 1, 0)


def test_the_ledger_counts_what_the_model_was_shown_and_wrote(rollouts, tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl", step=0)
    step = rollouts(Policy(), replace_uniform=False, ledger=ledger).step(0)
    ledger.close()
    spent = ledger.totals().kept
    assert (spent.begun, spent.ended) == (8, 8)
    assert spent.output_tokens == step.metrics["tokens_written"]
    assert spent.input_tokens > spent.output_tokens


@pytest.mark.parametrize(
    ("step", "versions"), [(3, (4,)), (5, (4,)), (7, (6, 7))], ids=["new", "old", "mixed"]
)
def test_an_episode_of_other_weights_is_an_error(rollouts, step, versions):
    with pytest.raises(StalePolicy, match=f"must have those after {step} before the step begins"):
        rollouts(Policy(versions=versions)).step(step)


def test_episodes_of_the_weights_of_the_step_are_taken(rollouts):
    assert not rollouts(Policy(versions=(3,))).step(3).skip


def test_rollouts_go_on_where_others_stood(rollouts):
    straight = rollouts(Policy())
    straight.step(0)
    other = rollouts(Policy())
    other.restore(straight.state())
    assert other.step(1) == straight.step(1)


@pytest.mark.slow
def test_fifty_steps_with_faults_leave_nothing_behind(rollouts, played):
    """Each tenth request fails, and an episode makes two: a fifth of the episodes is invalid."""
    _, player, traces = played
    one = rollouts(Policy(down=10), replace_uniform=False)
    one.step(0)
    before = remains(player)
    for number in range(1, 51):
        one.step(number)
    assert remains(player) == before
    assert before[0] == 0
    assert traces._kept == {}


def remains(player: Player) -> tuple[int, set[str], int]:
    """Databases that are held, child processes and open files."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return len(player._pool._world.backend._leases), set(children), len(os.listdir("/proc/self/fd"))
