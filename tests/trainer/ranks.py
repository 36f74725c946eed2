"""One step of fixed rows, in each process that torchrun starts; rank 0 writes the norm of the gradient."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer

from thinkingbox_trainer.ranks import leave
from thinkingbox_trainer.recipe import read_recipe
from thinkingbox_trainer.rollout import Row, Step
from thinkingbox_trainer.trl_adapter import make_trainer


def main(recipe_path: str, world: str, output: str) -> None:
    recipe = read_recipe(Path(recipe_path))
    model = AutoModelForCausalLM.from_pretrained(Path(world) / "tiny")
    tokenizer = AutoTokenizer.from_pretrained(Path(world) / "tiny")

    def make_step(number: int) -> Step:
        rewards = (0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0)
        rows = [
            Row(
                prompt=[5, 6, 7],
                completion=[10 + at, 30 + 2 * at, *range(50, 50 + at)],  # of different lengths
                mask=[1, 1, *[at % 2] * at],
                reward=reward,
                task="t",
            )
            for at, reward in enumerate(rewards)
        ]
        return Step(rows=rows, skip=False, metrics={"step": number, "groups": 2})

    trainer = make_trainer(
        recipe,
        model=model,
        tokenizer=tokenizer,
        make_step=make_step if os.environ["RANK"] == "0" else None,
        output=Path(output).parent,
    )
    trainer.train()
    if trainer.accelerator.is_main_process:
        steps = [one for one in trainer.state.log_history if "grad_norm" in one]
        assert [one["thinkingbox/groups"] for one in steps] == [2.0, 2.0]
        norms = [float(one["grad_norm"]) for one in steps]
        Path(output).write_text(
            json.dumps({"processes": trainer.accelerator.num_processes, "norms": norms}), encoding="utf-8"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
    leave()
