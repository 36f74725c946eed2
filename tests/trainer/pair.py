"""Two processes: rank 0 does what it is told (`freeze`, `die`, `raise`) while the other one waits, or both train."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from thinkingbox_trainer.ranks import Heartbeat, is_leader, join, lead, leave


def work(what: str) -> str:
    if what == "raise":
        raise OSError("no space left")
    os.kill(os.getpid(), {"freeze": signal.SIGSTOP, "die": signal.SIGKILL}[what])
    raise AssertionError


def wait(what: str) -> None:
    with Heartbeat(every=0.5, patience=4, grace=1):
        print(
            lead((lambda: time.sleep(6) or "was away") if is_leader() else None), flush=True
        )  # for longer than 4 s
        lead((lambda: work(what)) if is_leader() else None)


def resume(folder: Path) -> None:
    """Two steps of fixed rows, and the second once more from the checkpoint of the first."""
    import torch

    straight = train(folder, "straight", since=None)
    generator = torch.get_rng_state()
    if is_leader():
        shutil.copytree(folder / "straight", folder / "again")
        shutil.rmtree(folder / "again" / "checkpoints" / "step-2")
    torch.distributed.barrier()
    torch.manual_seed(99)
    again = train(folder, "again", since=folder / "again" / "checkpoints" / "step-1")
    print(all(torch.equal(one, again[name]) for name, one in straight.items()), end=" ")
    print(torch.equal(generator, torch.get_rng_state()), flush=True)


def train(folder: Path, name: str, *, since: Path | None) -> dict[str, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from thinkingbox_trainer.checkpoints import Checkpoints, Identity, State
    from thinkingbox_trainer.recipe import read_recipe
    from thinkingbox_trainer.rollout import Row, Step
    from thinkingbox_trainer.saving import Saving
    from thinkingbox_trainer.trl_adapter import make_trainer

    tokenizer = AutoTokenizer.from_pretrained(folder / "tiny")
    model = AutoModelForCausalLM.from_pretrained(folder / "tiny")

    def make_step(number: int) -> Step:
        rows = [
            Row(prompt=[5, 6, 7], completion=[10 + at, 30 + number], mask=[1, 1], reward=at % 2, task="t")
            for at in range(8)
        ]
        return Step(rows=rows, skip=False, metrics={})

    def state(step: int) -> State:
        return State(step=step, rollouts={}, identity=Identity(settings={}, hashes={}), spent={}, versions={})

    output = folder / name
    trainer = make_trainer(
        read_recipe(folder / "recipe.toml"),
        model=model,
        tokenizer=tokenizer,
        make_step=make_step if is_leader() else None,
        output=output,
        saving=Saving(Checkpoints(output, keep=2), tokenizer=tokenizer, state=state if is_leader() else None),
    )
    trainer.train(resume_from_checkpoint=None if since is None else str(since))
    assert trainer.state.global_step == 2
    return {name: one.detach().clone() for name, one in model.named_parameters()}


if __name__ == "__main__":
    join()
    if sys.argv[1] == "resume":
        resume(Path(sys.argv[2]))
        leave()
    else:
        wait(sys.argv[1])
