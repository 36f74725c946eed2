"""A run: model, suite, pool of tasks and trainer put together."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from pytest_thinkingbox.agents.tokens import TokensAgent
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.rewards.player import Player
from pytest_thinkingbox.rewards.suite import Suite, load_suite
from thinkingbox_trainer.checkpoints import (
    Checkpoints,
    Identity,
    State,
    checkpoint_bytes,
    occupy,
    rewind,
)
from thinkingbox_trainer.checks import SEED, Agreement
from thinkingbox_trainer.ending import ending_on_sigterm
from thinkingbox_trainer.engine import TransformersEngine, logprobs
from thinkingbox_trainer.fixed import EVERY, TOLERANCE, WRITTEN
from thinkingbox_trainer.groups import Cursor, Rules
from thinkingbox_trainer.ledger import Ledger
from thinkingbox_trainer.metrics import Metrics
from thinkingbox_trainer.pool import check_pool, pool_tasks
from thinkingbox_trainer.ranks import Heartbeat, is_leader, join, lead
from thinkingbox_trainer.recipe import Recipe
from thinkingbox_trainer.reprobe import Reprobe
from thinkingbox_trainer.rollout import Rollouts, Traces
from thinkingbox_trainer.saving import Saving, sizes, versions, write_model
from thinkingbox_trainer.steplog import StepLog
from thinkingbox_trainer.trl_adapter import forget_in_tensorboard, make_trainer
from thinkingbox_trainer.vllm import demand_server, make_engine


def train(recipe: Recipe, *, folder: Path, fresh: bool = False) -> Any:
    """Run the recipe, from its newest checkpoint where there is one; paths count from `folder`. The trained model is
    written to `OUTPUT/model` (of LoRA the adapters also to `OUTPUT/adapter`), a line of JSON for each step to
    `OUTPUT/steps.jsonl`. The trainer, for who wants to look at it.

    `fresh` sets aside what is in `OUTPUT`. Raises ConfigurationError when it belongs to another run, CheckpointFailed
    when one cannot be written, Terminated after SIGTERM.
    """
    output = folder / recipe.run.output
    with ending_on_sigterm(), ExitStack() as stack:
        join()
        stack.enter_context(Heartbeat())
        lead(partial(check_pool, recipe, folder=folder) if is_leader() else None)
        lead(partial(_begin, output, stack, fresh=fresh) if is_leader() else None)
        served = None
        if recipe.generation is not None:
            served = lead(partial(demand_server, recipe) if is_leader() else None)
        checkpoints = Checkpoints(output, keep=recipe.checkpoints.keep)
        where = _model_path(recipe, folder)
        tokenizer = AutoTokenizer.from_pretrained(where)
        model = AutoModelForCausalLM.from_pretrained(where, dtype=getattr(torch, recipe.loaded))
        progress = stack.enter_context(_progress(recipe, folder, checkpoints, model, tokenizer, served))
        since = lead(None if progress is None else lambda: progress.since)
        saving = Saving(checkpoints, tokenizer=tokenizer, state=None if progress is None else progress.state)
        trainer = make_trainer(
            recipe,
            model=model,
            tokenizer=tokenizer,
            make_step=None if progress is None else progress.rollouts.step,
            output=output,
            saving=saving,
            updated=(lambda version: None) if progress is None else progress.updated,
            logged=(lambda logs: None) if progress is None else progress.logged,
            before=partial(_agree, recipe, progress),
        )
        lead(partial(_demand_space, recipe, checkpoints, trainer.model) if is_leader() else None)
        try:
            trainer.train(resume_from_checkpoint=None if since is None else str(since))
        except Exception as error:
            if checkpoints.half() is not None or _is_full_disk(error):
                raise checkpoints.failed(error) from error
            raise
        write_model(trainer, tokenizer, output)
        if progress is not None:
            print(f"{output}: {recipe.run.steps} steps are done; {progress.ledger.totals()}")
    return trainer


def _is_full_disk(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _agree(recipe: Recipe, progress: _Progress | None, number: int, model: Any, device: Any) -> None:
    """Every few steps sampler and trainer say the same of one sequence. On all ranks, for each may have a part of the
    weights. Raises PoliciesDiffer."""
    if number % EVERY:
        return
    said = lead(None if progress is None else progress.agreement.ask)
    found = logprobs(model, said.prompt, said.ids, temperature=recipe.sampling.temperature, device=device)

    def compare() -> None:
        assert progress is not None
        progress.agreed[number] = progress.agreement.compare(number, said, found)

    lead(None if progress is None else compare)


def _begin(output: Path, stack: ExitStack, *, fresh: bool) -> None:
    stack.callback(occupy(output, fresh=fresh).close)


def _demand_space(recipe: Recipe, checkpoints: Checkpoints, model: Any) -> None:
    weights, trained, width, numbers = sizes(model)
    twice = (
        weights if recipe.hardware.sharding == "full" else 0
    )  # once more for the split ones to be taken up from
    checkpoints.demand_space(
        checkpoint_bytes(weights=weights, trained=trained, width=width, numbers=numbers) + twice
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Progress:
    """What rank 0 has of a run. `since` is the checkpoint that it goes on from; `agreed` by how much sampler and
    trainer differed, by step."""

    rollouts: Rollouts
    agreement: Agreement
    agreed: dict[int, float]
    ledger: Ledger
    identity: Identity
    since: Path | None
    updated: Callable[[int], None]
    logged: Callable[[Mapping[str, Any]], None]

    def state(self, step: int) -> State:
        return State(
            step=step,
            rollouts=self.rollouts.state(),
            identity=self.identity,
            spent=asdict(self.ledger.totals()),
            versions=versions(),
        )


def _model_path(recipe: Recipe, folder: Path) -> str:
    local = folder / recipe.model.path
    return str(local) if local.is_dir() else recipe.model.path


@contextmanager
def _progress(
    recipe: Recipe, folder: Path, checkpoints: Checkpoints, model: Any, tokenizer: Any, served: str | None
) -> Iterator[_Progress | None]:
    """On rank 0 only: None in the other processes. `served` is the model's name at a server that generates."""
    if not is_leader():
        yield None
        return
    output = folder / recipe.run.output
    episodes = recipe.episodes
    traces = Traces()
    engine = (
        TransformersEngine(
            model,
            end=tokenizer.eos_token_id,
            temperature=recipe.sampling.temperature,
            top_p=recipe.sampling.top_p,
            top_k=recipe.sampling.top_k,
            batch=episodes.concurrency,
        )
        if served is None
        else make_engine(recipe, model=served, end=tokenizer.eos_token_id)
    )
    agent = TokensAgent(
        engine,
        tokenizer,
        model=recipe.model.path,
        longest=episodes.longest,
        answer=episodes.answer,
        keep=traces.keep,
    )
    arguments = [*recipe.suite.paths, *recipe.suite.arguments]
    with ExitStack() as stack:
        suite = stack.enter_context(load_suite(*arguments, seconds=recipe.suite.check_seconds, cwd=folder))
        player = Player(arguments, agent, name=recipe.run.name, concurrency=episodes.concurrency, cwd=folder)
        stack.callback(player.close)
        agreement = Agreement(
            prompt=agent.chat_of(()).start([{"role": "user", "content": "Say what you can do here."}]),
            write=lambda ids: player.run(engine.generate(ids, seed=SEED, most=WRITTEN)).result(),
            tolerance=TOLERANCE[recipe.model.dtype],
        )
        pool = _pool(recipe, player.tasks, folder=folder)
        identity = Identity.of(recipe, tasks=player.hashes(), pool=pool, chat=agent.chat_of(()).hash)
        since = checkpoints.resume(identity)
        first = 0 if since is None else since.state.step
        if first > recipe.run.steps:
            raise ConfigurationError(
                f"run.steps = {recipe.run.steps}, and {output} has {first} steps behind it: raise it, take another "
                f"run.output, or take the weights of an earlier step from a folder `export` in {output / 'checkpoints'}"
            )
        again = rewind(output, step=first)
        if "tensorboard" in recipe.run.report_to:
            forget_in_tensorboard(output, step=first + 1)
        if since is not None:
            print(f"{since.path}: going on with step {first}; {again} later steps are done again", flush=True)
        ledger = Ledger(output / "ledger.jsonl", step=first)
        stack.callback(ledger.close)
        log = StepLog(output / "steps.jsonl", say=partial(print, flush=True))
        stack.callback(log.close)

        cursor = Cursor(pool, seed=recipe.run.seed)
        agreed: dict[int, float] = {}
        reprobe = _reprobe(recipe, suite, player, traces, cursor, ledger, pool)

        def look(number: int) -> Metrics:
            difference = {"logprob_difference": agreed[number]} if number in agreed else {}
            return {**difference, **({} if reprobe is None else reprobe.before(number))}

        rollouts = Rollouts(
            suite=suite,
            player=player,
            traces=traces,
            cursor=cursor,
            rules=Rules(
                groups=episodes.groups,
                size=episodes.group_size,
                most_episodes=episodes.most_episodes,
                refill=episodes.refill,
                replace_uniform=episodes.replace_uniform,
            ),
            reward=recipe.suite.reward,
            seed=recipe.run.seed,
            filler=tokenizer.eos_token_id,
            report=log.played,
            look=look,
            ledger=ledger,
        )
        stack.callback(rollouts.close)
        if since is not None:
            rollouts.restore(since.state.rollouts)

        def updated(version: int) -> None:
            engine.policy_version = version

        yield _Progress(
            rollouts=rollouts,
            agreement=agreement,
            agreed=agreed,
            ledger=ledger,
            identity=identity,
            since=None if since is None else since.path,
            updated=updated,
            logged=log.updated,
        )


def _reprobe(
    recipe: Recipe,
    suite: Suite,
    player: Player,
    traces: Traces,
    cursor: Cursor,
    ledger: Ledger,
    pool: list[str],
) -> Reprobe | None:
    episodes = recipe.episodes
    if episodes.reprobe_every is None or episodes.reprobe_attempts is None:
        return None
    return Reprobe(
        every=episodes.reprobe_every,
        attempts=episodes.reprobe_attempts,
        tasks=pool,
        rule=recipe.model.method,
        groups=episodes.groups,
        seed=recipe.run.seed,
        suite=suite,
        player=player,
        traces=traces,
        cursor=cursor,
        ledger=ledger,
    )


def _pool(recipe: Recipe, there: list[str], *, folder: Path) -> list[str]:
    named = pool_tasks(recipe, folder=folder)
    wanted = there if named is None else named
    unknown = [task for task in wanted if task not in there]
    if unknown:
        raise ConfigurationError(f"suite.tasks: {unknown[0]!r} is no task of {' '.join(recipe.suite.paths)}")
    if len(wanted) < recipe.episodes.groups:
        raise ConfigurationError(
            f"the pool has {len(wanted)} tasks, a step needs {recipe.episodes.groups}: no task is played "
            "twice in a step"
        )
    return wanted
