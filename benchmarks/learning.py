"""Whether a policy learns: a model of 176,000 parameters, made here, is trained by GRPO on a suite's own tests.

For each seed: warmed up on demonstrations until it solves tasks sometimes; probed; tasks selected by the posterior;
trained; then base and trained policy are both evaluated afresh on tasks that neither has seen, same tasks, same seeds,
same `Chat`. Probes choose the pool and serve as nothing else. `--ablations` adds five trainings from the same base:
without selection, with a pool that is probed again, and with tool calls that find the database dead, where invalid
episodes are counted as 0 or are played again. Needs the dependency group `train`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from _arena import Arena
from _curves import Point
from _demonstrations import DemonstratingAgent, said
from _evaluation import demand_same_chat, evaluated
from _learning_clock import Clock
from _learning_recipe import ANSWER, FULL, LONGEST, QUICK, Settings, recipe_text
from _learning_report import Result, Run, in_steps, report, result_of
from _tiny_policy import make_model, make_tokenizer, save, warm_up
from transformers import AutoModelForCausalLM, AutoTokenizer

from pytest_thinkingbox.agents.solution import SolutionAgent
from pytest_thinkingbox.agents.tokens import TokensAgent
from pytest_thinkingbox.episodes.outcomes import Verdict
from pytest_thinkingbox.episodes.seeds import derive_seed
from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.difficulty import band
from thinkingbox_trainer import rollout
from thinkingbox_trainer.engine import TransformersEngine
from thinkingbox_trainer.recipe import read_recipe
from thinkingbox_trainer.reprobe import PoolTooSmall
from thinkingbox_trainer.rollout import TrainingStopped
from thinkingbox_trainer.run import train

SUITE = Path(__file__).resolve().parent / "learning_suite"
REPORTED = (3001, 3002, 3003)
"""Named before they were run; everything that was tuned was tuned on others, and on other tasks. Ablations: on 3001."""
KEPT = ("hard", "middle", "often")
"""Bands of full-parameter training."""
OUTAGE = 0.15
"""Chance of a tool call to find the database dead: some 30 % of episodes, of two or three calls each."""

Variant = Literal["selected", "unselected", "reprobed", "outage-refilled", "outage-more", "outage-as-0"]
ABLATIONS: tuple[Variant, ...] = ("unselected", "reprobed", "outage-refilled", "outage-more", "outage-as-0")


def main() -> int:
    options = _options()
    settings = QUICK if options.quick else FULL
    if options.tuning:
        if set(options.seeds) & set(REPORTED):
            raise SystemExit("nothing is tuned on the seeds that are reported: name others with --seeds")
        settings = replace(settings, judged_by="tuned")
    with _folder(options.out) as out, Arena(SUITE) as arena:
        results = [
            result
            for seed in options.seeds
            for result in learn(
                arena,
                seed,
                settings,
                variants_of(seed, options.ablations),
                folder=out / f"seed-{seed}",
                quick=options.quick,
            )
        ]
        return report(
            Run(
                claimed=not options.quick and not options.tuning,
                settings=asdict(settings),
                reported=list(REPORTED),
                results=results,
            ),
            out=None if options.out is None else out,
            as_json=options.json,
        )


def _options() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument(
        "--seeds",
        type=int,
        nargs="+",
        default=list(REPORTED),
        help=f"default: {' '.join(map(str, REPORTED))}",
    )
    made.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    made.add_argument("--out", type=Path, metavar="DIR", help="keep models, recipes, figures and curves here")
    made.add_argument(
        "--ablations",
        type=int,
        nargs="+",
        default=[],
        metavar="SEED",
        help="five more trainings for these seeds",
    )
    made.add_argument(
        "--tuning", action="store_true", help="other seeds, judged by tasks that nothing is claimed of"
    )
    made.add_argument(
        "--quick",
        action="store_true",
        help="whether everything fits together; nothing is learnt, none is claimed",
    )
    return made.parse_args()


def variants_of(seed: int, ablated: Sequence[int]) -> tuple[Variant, ...]:
    return ("selected", *(ABLATIONS if seed in ablated else ()))


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        yield out.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="thinkingbox-learning-") as folder:
        yield Path(folder)


def learn(
    arena: Arena, seed: int, settings: Settings, variants: Sequence[Variant], *, folder: Path, quick: bool
) -> Iterator[Result]:
    """One result for each variant; warm-up, probes and the evaluation of the base are shared by all."""
    clock = Clock(seed)
    folder.mkdir(parents=True, exist_ok=True)
    demand_same(folder, settings)
    base = folder / "base"
    if not base.exists():
        prepare(arena, seed, settings, base, clock)
    probes = counted_once(folder / "probes.json", lambda: probe(arena, seed, settings, base, clock))
    judged = [
        one for name in settings.judged_by.split() for one in few(part(arena.tasks, name), settings.judged)
    ]
    pool = [one.task for one in probes]
    selected = [one.task for one in probes if band(passed=one.passed, valid=one.valid) in KEPT]
    clock.say(f"probes: {rate(probes):.3f} of {len(pool)} tasks; {len(selected)} selected")
    if quick and len(selected) < settings.groups:
        selected = pool
    before = counted_once(
        folder / "base.json",
        lambda: evaluate(seed, settings, base, judged, folder / "evaluated-base", clock),
    )
    clock.say(f"base: {rate(before):.3f} on {len(judged)} held-out tasks")
    for variant in variants:
        done = folder / f"{variant}.json"
        if done.exists():
            yield result_of(json.loads(done.read_text("utf-8")))
            continue
        spent = 0 if variant == "unselected" else len(pool) * settings.probes
        tasks = pool if variant == "unselected" else selected
        steps = train_policy(seed, settings, variant, tasks, folder, clock)
        after = evaluate(
            seed, settings, newest(folder / variant), judged, folder / f"evaluated-{variant}", clock
        )
        demand_same_chat(folder / "evaluated-base", folder / f"evaluated-{variant}")
        clock.say(f"{variant}: {rate(after):.3f} on {len(judged)} held-out tasks")
        curve = watch(arena, seed, settings, base, folder / variant, spent, steps, clock)
        result = Result(
            seed=seed,
            variant=variant,
            pool=len(pool),
            trained_on=len(tasks),
            probe=rate(probes),
            probed_episodes=spent,
            **spent_in(folder / variant),
            base=before,
            trained=after,
            steps=steps,
            curve=curve,
            seconds=clock.stages(),
        )
        done.write_text(json.dumps(asdict(result)), "utf-8")
        yield result


def demand_same(folder: Path, settings: Settings) -> None:
    """What a run that was ended left in `--out` is gone on with, unless it was of other settings."""
    path, mine = folder / "settings.json", asdict(settings)
    if path.exists() and json.loads(path.read_text("utf-8")) != mine:
        raise SystemExit(f"{path}: what is in this folder was run with other settings: take another --out")
    path.write_text(json.dumps(mine), "utf-8")


def counted_once(path: Path, count: Callable[[], list[TaskCounts]]) -> list[TaskCounts]:
    """What is counted already, by the same run before it was ended, else what `count` finds."""
    if path.exists():
        return [TaskCounts(**one) for one in json.loads(path.read_text("utf-8"))]
    found = count()
    path.write_text(json.dumps([asdict(one) for one in found]), "utf-8")
    return found


def prepare(arena: Arena, seed: int, settings: Settings, base: Path, clock: Clock) -> None:
    """A tokenizer and a model that were shown the solutions of tasks, in `base`."""
    with clock.stage("demonstrations"):
        texts: list[str] = []
        shown = few(part(arena.tasks, "shown"), settings.demonstrations // 2)
        careless = few(part(arena.tasks, "careless"), settings.demonstrations // 2)
        arena.play(
            SolutionAgent(),
            few(shown, 96),
            attempts=1,
            seed=seed,
            stage="texts",
            look=lambda one: texts.extend(said(one)),
        )
        tokenizer = make_tokenizer(texts)
        model = make_model(tokenizer, seed=seed)
        agent = DemonstratingAgent(tokens_agent(model, tokenizer))
        played = arena.play(agent, [*shown, *careless], attempts=1, seed=seed, stage="demonstrations")
        if [(one.passed, one.failed) for one in played] != [(1, 0)] * len(shown) + [(0, 1)] * len(careless):
            raise SystemExit("a demonstration fails its own test, or a careless one passes it")
    asked = part(arena.tasks, "watched")

    def enough() -> bool:
        solved = rate(
            arena.play(tokens_agent(model, tokenizer), asked, attempts=4, seed=seed, stage="warm-up")
        )
        clock.say(f"warm-up: pass@1 {solved:.3f} of {len(asked)} watched tasks")
        return solved >= settings.warm_up_until

    with clock.stage("warm-up"):
        warm_up(
            model,
            list(agent.traces.values()),
            steps=settings.warm_up,
            settle=settings.settle,
            enough=enough,
            batch=settings.batch,
            learning_rate=settings.warm_up_rate,
            seed=seed,
            say=clock.say,
        )
    save(model, tokenizer, base)


def probe(arena: Arena, seed: int, settings: Settings, base: Path, clock: Clock) -> list[TaskCounts]:
    """The pool's tasks as the base policy solves them."""
    with clock.stage("probes"):
        pool = few(part(arena.tasks, "pool"), settings.pool)
        pool += few(part(arena.tasks, "broken"), settings.pool // 2)
        return arena.play(policy_of(base), pool, attempts=settings.probes, seed=seed, stage="probe")


def evaluate(
    seed: int, settings: Settings, policy: Path, tasks: Sequence[str], records: Path, clock: Clock
) -> list[TaskCounts]:
    """With the same seeds for whichever policy."""
    with clock.stage(f"evaluation {records.name}"):
        return evaluated(
            policy,
            suite=SUITE,
            tasks=tasks,
            attempts=settings.attempts,
            seed=derive_seed(seed, "evaluation") & 0x7FFFFFFF,
            answer=ANSWER,
            records=records,
        )


def train_policy(
    seed: int, settings: Settings, variant: Variant, tasks: Sequence[str], folder: Path, clock: Clock
) -> list[dict[str, Any]]:
    """Run a recipe; its steps as they were written down."""
    path = folder / f"{variant}.toml"
    text = recipe_text(
        seed=seed,
        settings=settings,
        output=variant,
        # With nearly a third of the episodes invalid hardly any group of eight is whole.
        refill="member" if variant.startswith("outage") else "group",
        reprobe=variant == "reprobed",
        most=6 if variant == "outage-more" else 3,
        tasks=tasks,
        suite=SUITE,
    )
    path.write_text(text, encoding="utf-8")
    # What it says of its steps is no part of the figures.
    with clock.stage(f"training {variant}"), outage(variant), redirect_stdout(sys.stderr):
        try:
            train(read_recipe(path), folder=folder)
        except (PoolTooSmall, TrainingStopped) as error:
            clock.say(f"{variant} ends early: {error}")
    lines = (folder / variant / "steps.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def spent_in(output: Path) -> dict[str, int]:
    """Episodes that were begun, whatever became of them, and those that an outage hit."""
    lines = [json.loads(one) for one in (output / "ledger.jsonl").read_text("utf-8").splitlines()]
    return {
        "generated": sum(one["event"] == "begun" for one in lines),
        "hit": sum(one["event"] == "ended" and one["cause"] is not None for one in lines),
    }


def newest(output: Path) -> Path:
    """The policy that counts: the last, and that of the last checkpoint where the pool was used up before."""
    model = output / "model"
    if model.exists():
        return model
    found = (output / "checkpoints").glob("step-*")
    return max(found, key=lambda one: int(one.name.removeprefix("step-")))


def watch(
    arena: Arena,
    seed: int,
    settings: Settings,
    base: Path,
    output: Path,
    spent: int,
    steps: Sequence[dict[str, Any]],
    clock: Clock,
) -> list[Point]:
    """Episodes generated and pass@1 on the watched tasks, before the training and at each checkpoint. They chose where
    the warm-up ended and nothing else: the policy that counts is the last."""
    tasks = few(part(arena.tasks, "watched"), settings.judged)
    points: list[Point] = []
    with clock.stage(f"curve of {output.name}"):
        for done in range(0, len(steps) + 1, settings.watch):
            policy = output / "checkpoints" / f"step-{done}" if done else base
            counts = arena.play(
                policy_of(policy), tasks, attempts=settings.attempts // 2, seed=seed, stage="watch"
            )
            points.append((spent + in_steps(steps[:done]), rate(counts)))
    return points


@contextmanager
def outage(variant: Variant) -> Iterator[None]:
    """Tools that fail, and what the package refuses to do: a number for an episode that says nothing."""
    if not variant.startswith("outage"):
        yield
        return
    right = rollout.reward_of

    def counted(verdict: Verdict, **given: Any) -> float | None:
        return 0.0 if verdict.outcome == "invalid" else right(verdict, **given)

    os.environ["LEARNING_OUTAGE"] = str(OUTAGE)
    if variant == "outage-as-0":
        rollout.reward_of = counted
    try:
        yield
    finally:
        rollout.reward_of = right
        del os.environ["LEARNING_OUTAGE"]


def policy_of(folder: Path) -> TokensAgent:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return tokens_agent(AutoModelForCausalLM.from_pretrained(folder), tokenizer)


def tokens_agent(model: Any, tokenizer: Any) -> TokensAgent:
    engine = TransformersEngine(model, end=tokenizer.eos_token_id, temperature=1.0)
    return TokensAgent(engine, tokenizer, longest=LONGEST, answer=ANSWER)


def part(tasks: Sequence[str], name: str) -> list[str]:
    return [one for one in tasks if f"[{name}-" in one]


def few(tasks: list[str], most: int) -> list[str]:
    """All of them, or so many from all over the list."""
    if not most or most >= len(tasks):
        return tasks
    return [tasks[at * len(tasks) // most] for at in range(most)]


def rate(counts: Sequence[TaskCounts]) -> float:
    """Mean over tasks of pass@1."""
    counted = [one.passed / one.valid for one in counts if one.valid]
    return sum(counted) / len(counted) if counted else float("nan")


if __name__ == "__main__":
    sys.exit(main())
