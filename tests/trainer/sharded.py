"""Two processes that share the weights by FSDP 2, on CPUs, with a server of rank 0 that stands for vLLM's.

`accelerate` splits no weights among processes without a GPU; here it is told that these are of another kind. The
splitting itself, and what gathers the weights again, are torch's, over gloo. What is offloaded lies in the same memory
here, only that no memory is pinned, which a machine without a GPU cannot do.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

os.environ |= {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_RESHARD_AFTER_FORWARD": "true",
    "FSDP_CPU_RAM_EFFICIENT_LOADING": "true",
    "FSDP_STATE_DICT_TYPE": "FULL_STATE_DICT",
    "FSDP_OFFLOAD_PARAMS": "true" if sys.argv[1].startswith("offloaded") else "false",
}

import pytest
import torch
from accelerate import PartialState
from accelerate.utils import DistributedType
from peft import PeftModel
from torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.trainer.vllm_server import VllmServer, trl_without_a_gpu
from thinkingbox_trainer.checkpoints import Checkpoints, Identity, State
from thinkingbox_trainer.ranks import is_leader, join, lead, leave
from thinkingbox_trainer.recipe import Recipe, read_recipe
from thinkingbox_trainer.rollout import Row, Step
from thinkingbox_trainer.run import train
from thinkingbox_trainer.saving import Saving
from thinkingbox_trainer.trl_adapter import make_trainer


def split_on_cpus() -> None:
    made = PartialState.__init__

    def make(self: PartialState, *given: Any, **named: Any) -> None:
        made(self, *given, **named)
        if self.distributed_type == DistributedType.MULTI_CPU:
            self.distributed_type = DistributedType.MULTI_GPU

    PartialState.__init__ = make
    CPUOffloadPolicy.__init__.__defaults__ = (False,)


@contextmanager
def serving(folder: Path) -> Iterator[VllmServer | None]:
    """On rank 0, whose recipe is then everybody's."""
    server = VllmServer(folder / "tiny") if is_leader() else None
    url = lead(None if server is None else lambda: server.url)
    with ExitStack() as stack:
        if server is not None:
            stack.enter_context(server)
        stack.enter_context(trl_without_a_gpu(server, pytest.MonkeyPatch))
        recipe = folder / "recipe.toml"
        if server is not None:
            recipe.write_text(
                recipe.read_text("utf-8").replace("http://127.0.0.1:8000", url), encoding="utf-8"
            )
        torch.distributed.barrier()
        yield server


def rows(folder: Path, output: str, *, since: Path | None) -> Any:
    """Two steps of fixed rows."""
    tokenizer = AutoTokenizer.from_pretrained(folder / "tiny")
    recipe = recipe_of(folder)
    model = AutoModelForCausalLM.from_pretrained(folder / "tiny", dtype=recipe.loaded)

    def make_step(number: int) -> Step:
        made = [
            Row(
                prompt=[5, 6, 7], completion=[10 + at, 30 + number], mask=[1, 1], reward=at % 2, task="t",
                logprobs=[-6.2, -6.2],
            )
            for at in range(8)
        ]  # fmt: skip
        return Step(rows=made, skip=False, metrics={})

    def state(step: int) -> State:
        return State(step=step, rollouts={}, identity=Identity(settings={}, hashes={}), spent={}, versions={})

    checkpoints = Checkpoints(folder / output, keep=2)
    trainer = make_trainer(
        recipe,
        model=model,
        tokenizer=tokenizer,
        make_step=make_step if is_leader() else None,
        output=folder / output,
        saving=Saving(checkpoints, tokenizer=tokenizer, state=state if is_leader() else None),
    )
    trainer.train(resume_from_checkpoint=None if since is None else str(since))
    return trainer


def recipe_of(folder: Path) -> Recipe:
    return read_recipe(folder / "recipe.toml")


def local(parameter: torch.Tensor) -> torch.Tensor:
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter


def whole(trainer: Any) -> dict[str, torch.Tensor]:
    return {
        name: (one.full_tensor() if isinstance(one, DTensor) else one).detach().clone()
        for name, one in trainer.model.named_parameters()
    }


def offloads(trainer: Any) -> bool:
    """Whether every weight that is split lies where the policy of offloading puts it."""
    split = [one for one in trainer.model.modules() if isinstance(one, FSDPModule)]
    groups = [group for one in split for group in one._get_fsdp_state()._fsdp_param_groups]
    return bool(groups) and all(one.offload_to_cpu for group in groups for one in group.fsdp_params)


def fixed(folder: Path) -> dict[str, Any]:
    with serving(folder) as server:
        trainer = rows(folder, "straight", since=None)
        straight = whole(trainer)
        here = sum(local(one).numel() for one in trainer.model.parameters())
        if is_leader():
            shutil.copytree(folder / "straight", folder / "again")
            shutil.rmtree(folder / "again" / "checkpoints" / "step-2")
        torch.distributed.barrier()
        again = whole(rows(folder, "again", since=folder / "again" / "checkpoints" / "step-1"))
        step_1 = folder / "straight" / "checkpoints" / "step-1"
        found = {
            "norms": [one["grad_norm"] for one in trainer.state.log_history if "grad_norm" in one],
            "offloads": offloads(trainer),
            "kinds": sorted({type(one).__name__ for one in trainer.model.parameters()}),
            "share": here / sum(one.numel() for one in straight.values()),
            "resumed_alike": all(torch.equal(one, again[name]) for name, one in straight.items()),
        }
        if server is None:
            return found
        # The weights of the second step are those that the first one left.
        left = saved(folder, step_1)
        sent = dict(server.model.named_parameters())
        first = saved(folder, folder / "tiny")
        return {
            **found,
            "sent_alike": all(torch.allclose(one, sent[name], atol=1e-6) for name, one in left.items()),
            "moved": not all(torch.allclose(one, first[name], atol=1e-6) for name, one in left.items()),
            "exported_alike": all(
                torch.allclose(one, left[name], rtol=0.01, atol=1e-3)
                for name, one in saved(folder, step_1 / "export").items()
            ),
        }


def saved(folder: Path, checkpoint: Path) -> dict[str, torch.Tensor]:
    """Weights with the adapters among them."""
    if (checkpoint / "adapter_config.json").exists():
        base = AutoModelForCausalLM.from_pretrained(folder / "tiny")
        model = PeftModel.from_pretrained(base, checkpoint).merge_and_unload()
    else:
        model = AutoModelForCausalLM.from_pretrained(checkpoint)
    return {name: one.detach().float() for name, one in model.named_parameters()}


def played(folder: Path) -> dict[str, Any]:
    with serving(folder):
        trainer = train(recipe_of(folder), folder=folder)
    kept = whole(trainer)
    model = saved(folder, folder / "out" / "model")
    return {"saved_alike": all(torch.equal(one, kept[name]) for name, one in model.items())}


def main(what: str, folder: Path) -> None:
    if what != "unsplit":
        split_on_cpus()
    join()
    found = (played if what == "played" else fixed)(folder)
    if is_leader():
        (folder / "found.json").write_text(json.dumps(found), encoding="utf-8")
    leave()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
