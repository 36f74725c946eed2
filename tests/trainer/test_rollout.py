"""Steps of rows without a training library: real episodes, real checkers, an engine that says what it is told to."""

from __future__ import annotations

import asyncio
import math
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import pytest

from pytest_thinkingbox.agents.tokens import Generation, TokensAgent
from pytest_thinkingbox.episodes.final import FinalState
from pytest_thinkingbox.episodes.outcomes import invalid
from pytest_thinkingbox.episodes.seeds import derive_seed
from pytest_thinkingbox.errors import InfrastructureDown, ProviderDown
from pytest_thinkingbox.rewards import Suite, load_suite
from pytest_thinkingbox.rewards.player import Player
from pytest_thinkingbox.state.model import StateDiff
from tests.rewards.suites import forgotten, write_suite
from tests.support.processes import children
from tests.tokens.tokenizer import END, ByteTokenizer
from thinkingbox_trainer.checks import WrongVerdict
from thinkingbox_trainer.groups import Cursor, Rules
from thinkingbox_trainer.ledger import Ledger
from thinkingbox_trainer.reprobe import PoolTooSmall, Reprobe
from thinkingbox_trainer.rollout import Rollouts, StalePolicy, Step, Traces, TrainingStopped

CLOSE = '<tool_call>{"name": "set_status", "arguments": {"order_id": 1, "status": "%s"}}</tool_call>'
LEARNT = "test_shop.py::TestClass::test_new_object"  # its checker passes whatever became of the orders
TASKS = [f"test_shop.py::{name}" for name in ("test_close", "test_rows", "test_async", "test_subtests")]


class Policy:
    """Closes the order in every second episode and loses it in the others, or does nothing there when it is `idle`;
    every `down`th request fails, or with `up` all but every so manyth first request of an episode, or with `unlucky`
    that of every episode whose seed it divides. `versions` are those of the weights, in turn, else those of the step;
    `kills` is a process that is ended at the fifth request."""

    step = 0

    def __init__(
        self,
        *,
        down: int = 0,
        up: int = 0,
        unlucky: int = 0,
        always: str | None = None,
        idle: bool = False,
        seconds: float = 0.0,
        versions: tuple[int | None, ...] = (),
        kills: int | None = None,
    ) -> None:
        self._versions = versions
        self._kills = kills
        self._down = down
        self._up = up
        self._unlucky = unlucky
        self._seconds = seconds
        self._idle = idle
        self._always = always
        self._requests = 0

    async def generate(self, ids, *, seed, most):
        self._requests += 1
        number = self._requests
        version = self._versions[number % len(self._versions)] if self._versions else self.step
        if self._kills is not None and number == 5:
            os.kill(self._kills, signal.SIGKILL)
        await asyncio.sleep(self._seconds)
        answered = ids.count(257) > 3  # by a tool
        out = self._up and not answered and number % self._up
        if self._unlucky and not answered and seed % self._unlucky == 0:
            out = True
        if out or (self._down and number % self._down == 0):
            raise ProviderDown("the engine is down")
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

    def of(self, task):
        return self

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

    def make(
        policy: Policy,
        *,
        reward="binary",
        report=lambda metrics: None,
        look=lambda number: {},
        ledger=None,
        **rules,
    ) -> Rollouts:
        engine.policy = policy

        def looked(number: int):
            engine.policy.step = number
            return look(number)

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
            report=report,
            look=looked,
        )
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.close()


def rewards(step: Step) -> list[float | None]:
    return [row.reward for row in step.rows]


@pytest.mark.slow
def test_a_step_has_a_row_for_each_member_of_each_group(rollouts):
    step = rollouts(Policy()).step(0)
    assert len(step.rows) == 8
    assert set(rewards(step)) == {0.0, 1.0}
    for row in step.rows:
        assert len(row.completion) == len(row.mask)
        told = [one for one, mask in zip(row.completion, row.mask, strict=True) if not mask]
        assert "<tool_response>\ndone\n</tool_response>" in ByteTokenizer().decode(told)
    assert {step.rows[at].task for at in range(4)} == {step.rows[0].task}
    assert (step.skip, step.metrics["skipped"]) == (False, 0)


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
    assert (step.skip, step.metrics["skipped"]) == (True, 1)
    assert step.metrics["groups_uniform"] == 4
    assert math.isnan(step.metrics["reward"])


def test_the_second_step_in_a_row_without_enough_groups_ends_the_run(rollouts):
    one = rollouts(Policy(always="closed"))
    one.step(0)
    with pytest.raises(
        TrainingStopped, match=r"step 1 is the 2\. in a row .* worth the same for every member"
    ):
        one.step(1)


def test_t15_nine_tenths_of_a_batch_invalid_are_no_rewards_and_end_the_run(rollouts):
    """The 20 requests of the four episodes that would pass are too few: 9 of 10 requests fail."""
    told = []
    one = rollouts(Policy(up=10), groups=2, size=5, most_episodes=10, report=told.append)
    with pytest.raises(TrainingStopped, match=r"step 0: 9 of 10 episodes were invalid; look at what is down"):
        one.step(0)
    [metrics] = told
    assert (metrics["episodes"], metrics["episodes_invalid"], metrics["invalid_share"]) == (10, 9, 0.9)
    assert (metrics["groups"], metrics["groups_given_up"]) == (0, 2)
    assert math.isnan(metrics["reward"])  # and not 0.0
    assert sum(count for turns in metrics["invalid"].values() for count in turns.values()) == 9


def test_up_to_half_of_a_batch_may_be_invalid(rollouts):
    step = rollouts(Policy(unlucky=3), most_episodes=1000).step(0)
    assert 0.2 < step.metrics["invalid_share"] <= 0.5
    assert None not in rewards(step)


def test_t40_a_group_all_passed_or_all_failed_is_replaced_in_training(rollouts):
    """Where a recipe keeps it, it is there, and counted all the same."""
    for status, reward in (("closed", 1.0), ("lost", 0.0)):
        kept = rollouts(Policy(always=status), replace_uniform=False).step(0)
        assert rewards(kept) == [reward] * 8
        assert (kept.metrics["groups_uniform"], kept.metrics["groups_replaced"]) == (2, 0)
        assert (kept.metrics["groups_played"], kept.metrics["uniform_share"]) == (2, 1.0)
        replaced = rollouts(Policy(always=status)).step(0)
        assert rewards(replaced) == [None] * 8
        assert (replaced.metrics["groups_uniform"], replaced.metrics["groups_replaced"]) == (4, 2)


def test_invalid_episodes_are_counted_by_task_and_by_turns_that_they_survived(rollouts):
    step = rollouts(Policy(down=9)).step(0)
    turns = [int(turn) for counts in step.metrics["invalid"].values() for turn in counts]
    assert set(step.metrics["invalid"]) <= set(TASKS)
    assert set(turns) <= {0, 1}  # it has two turns, and one that was answered twice is valid
    counted = sum(sum(counts.values()) for counts in step.metrics["invalid"].values())
    assert counted == step.metrics["episodes_invalid"] > 0


def test_lengths_of_refilled_groups_are_told_from_those_of_clean_ones(rollouts):
    clean = rollouts(Policy()).step(0)
    assert math.isnan(clean.metrics["length_refilled"])
    lengths = [len(row.completion) for row in clean.rows]
    assert clean.metrics["length_clean"] == sum(lengths) / 8
    refilled = rollouts(Policy(unlucky=7), refill="group", most_episodes=1000).step(0)
    assert refilled.metrics["groups_refilled"] == 1
    lengths = {sum(len(row.completion) for row in refilled.rows[at : at + 4]) / 4 for at in (0, 4)}
    assert {refilled.metrics["length_clean"], refilled.metrics["length_refilled"]} == lengths


def test_a_step_says_where_its_time_went(rollouts):
    metrics = rollouts(Policy(seconds=0.05)).step(1).metrics
    assert 16 * 0.05 <= metrics["seconds_model"] < 16 * 0.5
    assert 0 < metrics["seconds_tools"] < 5
    assert 0 < metrics["seconds_grading"] < 5
    assert metrics["seconds_user"] == 0


def test_a_step_says_how_long_users_let_it_wait(rollouts):
    metrics = rollouts(Policy(), replace_uniform=False).step(1, repeat("test_shop.py::test_user")).metrics
    assert 8 * 0.2 <= metrics["seconds_user"] < 8 * 2


def test_a_passed_member_of_each_group_is_graded_again_in_step_nought(rollouts):
    one = rollouts(Policy(), replace_uniform=False)
    assert 1 <= one.step(0).metrics["regraded"] <= 2
    assert one.step(1).metrics["regraded"] == 0


def test_a_passed_episode_that_differs_by_full_comparison_ends_the_run(rollouts, monkeypatch):
    monkeypatch.setattr(
        "pytest_thinkingbox.backends.sqlite.lease.SqliteLease._full", lambda lease, judge: StateDiff()
    )
    with pytest.raises(WrongVerdict, match="the changes of a passed episode differ by full comparison"):
        rollouts(Policy(always="closed"), replace_uniform=False).step(10)


def down(*_: object, **__: object):
    raise InfrastructureDown("the disk is gone")


def test_an_outage_in_the_second_look_is_an_invalid_episode_and_not_the_end(rollouts, monkeypatch):
    monkeypatch.setattr("pytest_thinkingbox.backends.sqlite.lease.SqliteLease._full", down)
    step = rollouts(Policy(always="closed"), replace_uniform=False, most_episodes=8).step(0)
    assert (step.metrics["episodes_invalid"], step.metrics["regraded"]) == (2, 0)
    assert None not in [row.reward for row in step.rows if row.task is not None]


def test_a_checker_that_breaks_in_the_second_look_is_invalid_and_no_wrong_verdict(
    rollouts, suite, monkeypatch
):
    def grade(episode):
        verdict = Suite.grade(suite, episode)
        return invalid("checker", "it hung") if isinstance(episode, FinalState) else verdict

    monkeypatch.setattr(suite, "grade", grade)
    step = rollouts(Policy(always="closed"), replace_uniform=False, most_episodes=8).step(0)
    assert (step.metrics["episodes_invalid"], step.metrics["regraded"]) == (2, 0)


def test_what_is_looked_at_before_a_step_is_among_its_figures(rollouts):
    one = rollouts(Policy(), look=lambda number: {"seen": number})
    assert one.step(3).metrics["seen"] == 3


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


def test_an_episode_of_weights_of_which_nobody_knows_is_an_error(rollouts):
    with pytest.raises(StalePolicy, match="after nobody says how many updates"):
        rollouts(Policy(versions=(None,))).step(0)


def test_episodes_of_the_weights_of_the_step_are_taken(rollouts):
    assert not rollouts(Policy(versions=(3,))).step(3).skip


def test_rollouts_go_on_where_others_stood(rollouts):
    straight = rollouts(Policy())
    straight.step(0)
    other = rollouts(Policy())
    other.restore(straight.state())
    assert other.step(1) == straight.step(1)


def reprobe(suite, played, tmp_path, **changed) -> Reprobe:
    _, player, traces = played
    given = {
        "every": 5, "attempts": 4, "tasks": TASKS, "rule": "full", "groups": 2, "seed": 1, "suite": suite,
        "player": player, "traces": traces, "cursor": Cursor(TASKS, seed=1), "ledger": None,
    }  # fmt: skip
    return Reprobe(**{**given, **changed})


def test_probing_again_leaves_out_what_the_policy_has_learnt(suite, played, tmp_path):
    """What it solves half of the time stays, what always passes goes."""
    engine, _, traces = played
    ledger = Ledger(tmp_path / "ledger.jsonl", step=0)
    probing = reprobe(suite, played, tmp_path, ledger=ledger, attempts=8, tasks=[*TASKS, LEARNT])
    engine.policy = Policy(versions=(5,))
    probing.cursor.left_out = frozenset(TASKS[:1])  # it comes back
    assert probing.before(4) == {}
    figures = probing.before(5)
    assert probing.cursor.left_out == {LEARNT}
    assert (figures["pool"], figures["reprobe_episodes"], figures["reprobe_invalid"]) == (4, 40, 0)
    # Of its own episodes: those of an earlier test that was ended may still be playing.
    probed = {
        derive_seed(1, "reprobe", 5, task, member, 1) for task in probing.tasks for member in range(1, 9)
    }
    assert [key for key in traces._kept if key[2] in probed] == []
    spent = ledger.totals()
    ledger.close()
    assert (spent.reprobed.begun, spent.reprobed.ended, spent.kept.begun, spent.discarded.begun) == (
        40,
        40,
        0,
        0,
    )
    assert spent.reprobed.output_tokens == figures["reprobe_tokens"] > 0
    assert "apart from 40 that probed the pool again" in str(spent)


def test_too_few_tasks_after_probing_again_end_the_run(suite, played, tmp_path):
    engine, *_ = played
    engine.policy = Policy(always="closed", versions=(5,))
    with pytest.raises(
        PoolTooSmall, match=r"step 5: by 4 new attempts of each task, 0 of 4 are hard or middle or often"
    ):
        reprobe(suite, played, tmp_path).before(5)


def test_an_outage_while_the_pool_is_probed_again_changes_nothing(suite, played, tmp_path):
    engine, *_ = played
    engine.policy = Policy(down=1)
    probing = reprobe(suite, played, tmp_path)
    probing.cursor.left_out = frozenset(TASKS[:1])
    assert probing.before(5)["reprobe_invalid"] == 16
    assert probing.cursor.left_out == set(TASKS[:1])


class FirstOnly(Policy):
    """Answers one episode, and is down in all that begin after it."""

    def __init__(self) -> None:
        super().__init__(always="closed", versions=(5,))
        self._begun = 0

    async def generate(self, ids, *, seed, most):
        if ids.count(257) <= 3:
            self._begun += 1
            if self._begun > 1:
                raise ProviderDown("the engine is down")
        return await super().generate(ids, seed=seed, most=most)


def test_one_attempt_beside_an_outage_leaves_no_task_out(suite, played, tmp_path):
    engine, *_ = played
    engine.policy = FirstOnly()
    probing = reprobe(suite, played, tmp_path, attempts=4)
    assert probing.before(5)["reprobe_invalid"] == 15
    assert probing.cursor.left_out == set()


def test_what_is_left_out_is_in_no_step_and_survives_a_resume(rollouts):
    one, other = rollouts(Policy()), rollouts(Policy())
    one._cursor.left_out = frozenset(TASKS[:2])
    other.restore(one.state())
    for made in (one, other):
        assert {row.task for row in made.step(0).rows} == set(TASKS[2:])


@pytest.mark.slow
def test_fifty_steps_with_faults_leave_nothing_behind(rollouts, played, suite):
    """Each tenth request fails, and an episode makes two: a fifth of the episodes is invalid. In the middle the child
    that grades is killed. There is no optimizer: it holds no database, process, thread, file or session."""
    _, player, traces = played
    one = rollouts(Policy(down=10), replace_uniform=False)
    one.step(0)
    before, threads = remains(player), threading.active_count()
    begun, invalid = 0, 0
    for number in range(1, 51):
        if number == 25:
            os.kill(suite.process_id(), signal.SIGKILL)
        metrics = one.step(number).metrics
        begun, invalid = begun + metrics["episodes"], invalid + metrics["episodes_invalid"]
    assert 0.15 < invalid / begun < 0.25
    until = time.monotonic() + 20  # threads end that had nothing to do
    while (after := remains(player)) != before and time.monotonic() < until:
        time.sleep(0.5)
    assert after == before
    assert threading.active_count() < threads + 25  # pools grow to their size, and not with each step
    assert (before["databases"], before["sessions"]) == (0, 0)
    assert traces._kept == {}


def remains(player: Player) -> dict[str, object]:
    """What is held between two steps. Sessions of MCP, users and agents live in tasks of the loop of the episodes; but
    for what it waits for itself there is none."""
    pool = player._pool
    assert pool._world is not None
    assert pool._loop is not None
    temporary = Path(tempfile.gettempdir())
    return {
        "databases": len(pool._world.backend._leases),
        "sessions": len(asyncio.all_tasks(pool._loop)) - 1,
        "processes": len(children()),
        "open files": len(os.listdir("/proc/self/fd")),
        "files": sum(
            1 for folder in temporary.glob(f"thinkingbox-*{os.getpid()}*") for _ in folder.rglob("*")
        ),
        "kinds of threads": {re.sub(r"_\d+$", "", one.name) for one in threading.enumerate()}
        - {"thinkingbox-step", "asyncio"},
    }
