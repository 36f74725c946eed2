"""Two steps of a trainer that somebody wrote without recipes, in each process that torchrun starts.

python own_trainer.py WORLD OUTPUT PROCESSES
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from pytest_thinkingbox.rewards import Suite, load_suite
from thinkingbox_trainer.ranks import leave


def make(
    suite: Suite, world: Path, *, method: str = "full", processes: int = 1, settings: Any = None, **given: Any
) -> Any:
    """`settings` are of GRPOConfig, `given` of `rollout_func`."""
    return GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(world / "tiny"),
        processing_class=AutoTokenizer.from_pretrained(world / "tiny"),
        args=GRPOConfig(
            **{
                "output_dir": str(world / "own"),
                "max_steps": 2,
                "num_generations": 4,
                "per_device_train_batch_size": 4 // processes,
                "gradient_accumulation_steps": 2,
                "learning_rate": 1e-3,
                "seed": 1,
                "logging_steps": 1,
                "save_strategy": "no",
                "report_to": "none",
                "use_cpu": True,
                "bf16": False,
                "disable_tqdm": True,
                **(settings or {}),
            }
        ),
        train_dataset=Dataset.from_list(suite.dataset()),
        reward_funcs=suite.reward_funcs(),
        rollout_func=suite.rollout_func(
            **{"longest": 2048, "answer": 12, "replace_uniform": True, "seed": 1, **given}
        ),
        peft_config=LoraConfig(r=4, target_modules=["q_proj"]) if method == "lora" else None,
    )


def main(world: str, output: str, processes: str) -> None:
    """Full, and by LoRA: the log of each step."""
    folder, found = Path(world), {}
    for method in ("full", "lora"):
        with load_suite("suite", cwd=folder) as suite:
            trainer = make(suite, folder, method=method, processes=int(processes))
            trainer.train()
            found[method] = [one for one in trainer.state.log_history if "grad_norm" in one]
    if trainer.accelerator.is_main_process:
        Path(output).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
    leave()
