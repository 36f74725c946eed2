"""What a step of training costs beside the model: 18 groups of 8 episodes of the training pool, all at once.

The model is a stub that sleeps for two seconds and then says what a script says: in five turns the calls of the task's
reference solution, and a last word in the sixth; every second member forgets the last call, and fails. All else is
real: token ids and the interpretation of them, databases, tools, final states, checks by the held pytest session, rows.

CPU time is of this process and of the child that grades; on a machine that is busy it says more than the clock does.
Importing and collecting the suite, and what the first episode makes for all later ones, come before the measurement.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from _pytest_run import ROOT
from _table import Figure, finish, parser

from pytest_thinkingbox.agents.base import AgentTask
from pytest_thinkingbox.agents.solution import steps_of
from pytest_thinkingbox.agents.tokens import Generation, TokensAgent
from pytest_thinkingbox.declare.solution import Call
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.episodes.run import current_attempt
from pytest_thinkingbox.rewards import load_suite
from pytest_thinkingbox.rewards.player import Player
from tests.tokens.tokenizer import END, ByteTokenizer
from thinkingbox_trainer.groups import Cursor, Rules
from thinkingbox_trainer.metrics import Metrics
from thinkingbox_trainer.rollout import Rollouts, Traces

POOL = "example_suites/training"
SIZE = 8
TURNS = 6
MOST_SHARE = 20.0
"""Percent of a step that may be anything but the model: 15 s of which 12 s are the model's."""
_BEGIN = 257  # a message begins


class Stub:
    """Takes `seconds` for each turn and says what `turns` has for the attempt that asks."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.turns: dict[str, list[list[int]]] = {}
        self.longest_prompt = 0
        self.step = 0

    def look(self, number: int) -> Metrics:
        """Its weights are those of the step that begins."""
        self.step = number
        return {}

    async def generate(self, ids: Sequence[int], *, seed: int, most: int) -> Generation:
        await asyncio.sleep(self.seconds)
        self.longest_prompt = max(self.longest_prompt, len(ids))
        # Instructions, prompt and the model's turn; then two for each turn, and more after the one of several calls.
        turn = min((ids.count(_BEGIN) - 3) // 2, TURNS - 1)
        return Generation(self.turns[current_attempt.get() or ""][turn], policy_version=self.step)

    def of(self, task: AgentTask) -> Stub:
        return self

    async def aclose(self) -> None:
        """Nothing is held."""


def main() -> int:
    made = parser(__doc__ or "")
    made.add_argument("--steps", type=int, default=1, help="steps; the best one counts (default: 1)")
    options = made.parse_args()
    groups, seconds = (6, 0.5) if options.quick else (18, 2.0)
    engine, traces = Stub(seconds), Traces()
    agent = TokensAgent(engine, ByteTokenizer(), longest=200_000, answer=4000, keep=traces.keep)
    with load_suite(POOL, cwd=ROOT) as suite:
        player = Player([POOL], agent, name="benchmark", concurrency=groups * SIZE, cwd=ROOT)
        tasks = [task for task in player.tasks if player.request(task, member=1, seed=0).user is None]
        for task in tasks:
            for member in range(1, SIZE + 1):
                request = player.request(task, member=member, seed=0)
                engine.turns[request.attempt_id] = script(request, slips=member % 2 == 0)
        rollouts = Rollouts(
            suite=suite,
            player=player,
            traces=traces,
            cursor=Cursor(tasks, seed=1),
            rules=Rules(
                groups=groups, size=SIZE, most_episodes=groups * SIZE, refill="member", replace_uniform=False
            ),
            reward="binary",
            seed=1,
            filler=256,
            look=engine.look,
        )
        engine.seconds = 0.0
        rollouts.step(0)
        engine.seconds = seconds
        measured = [one_step(rollouts, number, suite.process_id()) for number in range(1, options.steps + 1)]
        rollouts.close()
        player.close()
    best = min(measured, key=lambda one: one["wall"])
    ideal = TURNS * seconds
    figures = [
        Figure(name="a step", value=best["wall"], unit="s", at_most=ideal / (1 - MOST_SHARE / 100)),
        Figure(name="ideal: the model alone", value=ideal, unit="s"),
        Figure(
            name="all but the model, of the step",
            value=100 * (best["wall"] - ideal) / best["wall"],
            unit="%",
            at_most=MOST_SHARE,
        ),
        Figure(name="episodes", value=best["episodes"], unit="", at_least=groups * SIZE),
        Figure(name="share of them that passed", value=best["reward"], unit="", at_least=0.5),
        Figure(name="invalid", value=best["invalid_share"], unit="", at_most=0),
        Figure(name="CPU, this process", value=best["cpu"], unit="s"),
        Figure(name="CPU, the child that grades", value=best["cpu_grading"], unit="s"),
        Figure(
            name="CPU of an episode, grading included",
            value=1000 * (best["cpu"] + best["cpu_grading"]) / best["episodes"],
            unit="ms",
        ),
        Figure(name="ids of the longest prompt", value=engine.longest_prompt, unit=""),
    ]
    return finish(f"{groups * SIZE} episodes of {TURNS} turns of {seconds:g} s", figures, options)


def one_step(rollouts: Rollouts, number: int, grader: int) -> dict[str, float]:
    wall, cpu, grading = time.perf_counter(), time.process_time(), cpu_of(grader)
    metrics = rollouts.step(number).metrics
    return {
        **metrics,
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "cpu_grading": cpu_of(grader) - grading,
    }


def script(request: EpisodeRequest, *, slips: bool) -> list[list[int]]:
    """What the model says in each turn. A short solution looks again; a long one calls several tools at once."""
    calls = [step for step in steps_of(request) if isinstance(step, Call)]
    if slips:
        calls.pop()
    calls = [calls[0] if calls else Call("look", {})] * max(0, TURNS - 1 - len(calls)) + calls
    turns = [calls[at : at + 1] for at in range(TURNS - 2)] + [calls[TURNS - 2 :]]
    return [said("".join(map(written, turn)) + END) for turn in turns] + [said(f"That is done.{END}")]


@cache
def said(text: str) -> list[int]:
    return ByteTokenizer().encode(text)


def written(call: Call) -> str:
    arguments: dict[str, Any] = dict(call.arguments)
    return f"<tool_call>{json.dumps({'name': call.tool, 'arguments': arguments})}</tool_call>"


def cpu_of(process: int) -> float:
    """Seconds of user and system time."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
