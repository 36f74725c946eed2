"""How a recipe is started: the command lines that a person types, for the machines that it names."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from urllib.parse import urlsplit

from thinkingbox_trainer.recipe import Generation, Recipe

PER_MACHINE = 8
"""GPUs of one machine."""


def launch_command(recipe: Recipe) -> str:
    """Of the processes that train, on every machine that they need."""
    hardware = recipe.hardware
    devices = _visible(range(hardware.processes)) if _share_a_machine(recipe) else ""
    if hardware.processes == 1:
        return f"{devices}thinkingbox-train RECIPE.toml"
    words = ["accelerate", "launch", "--num_processes", str(hardware.processes)]
    machines = -(-hardware.processes // PER_MACHINE)
    if machines > 1:
        words += ["--num_machines", str(machines), "--machine_rank", "RANK", "--main_process_ip", "HOST"]
    if hardware.sharding == "full":
        words += ["--mixed_precision", "bf16" if recipe.model.dtype == "bfloat16" else "no"]
        words += ["--use_fsdp", "--fsdp_version", "2", "--fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"]
        words += ["--fsdp_reshard_after_forward", "true", "--fsdp_cpu_ram_efficient_loading", "true"]
        words += ["--fsdp_state_dict_type", "FULL_STATE_DICT"]
        words += ["--fsdp_offload_params", "true" if hardware.offload == "optimizer" else "false"]
    return devices + " ".join([*words, "-m", "thinkingbox_trainer", "RECIPE.toml"])


def training_server_command(recipe: Recipe) -> str:
    """Of vLLM's server where it takes the weights of a run: what it needs to be told for that is behind its
    development mode."""
    assert recipe.generation is not None
    address = urlsplit(recipe.generation.base_url)
    command = serve_command(
        recipe.generation,
        model=recipe.model.path,
        dtype=recipe.model.dtype,
        longest=recipe.episodes.longest,
        seed=recipe.run.seed,
        host=address.hostname or "",
        port=address.port or 0,
        more={
            "weight-transfer-config": json.dumps({"backend": "nccl"}),
            "logprobs-mode": "processed_logprobs",
        },
    )
    first = recipe.hardware.processes
    devices = _visible(range(first, first + recipe.generation.gpus)) if _share_a_machine(recipe) else ""
    return f"{devices}VLLM_SERVER_DEV_MODE=1 {command}"


def _share_a_machine(recipe: Recipe) -> bool:
    """Whether the server generates beside the processes that train: both would begin with the first GPU."""
    generation = recipe.generation
    if generation is None or recipe.hardware.processes + generation.gpus > PER_MACHINE:
        return False
    return urlsplit(generation.base_url).hostname in ("127.0.0.1", "localhost")


def _visible(gpus: range) -> str:
    return f"CUDA_VISIBLE_DEVICES={','.join(map(str, gpus))} "


def serve_command(
    generation: Generation,
    *,
    model: str,
    dtype: str,
    longest: int,
    seed: int,
    port: int,
    host: str = "127.0.0.1",
    more: Mapping[str, str] | None = None,
) -> str:
    """Of vLLM's server, one copy of the weights for every `tensor_parallel` GPUs."""
    options = {
        "dtype": dtype,
        "tensor-parallel-size": generation.tensor_parallel,
        "data-parallel-size": generation.gpus // generation.tensor_parallel,
        "max-model-len": longest,
        "max-num-seqs": generation.sequences,
        "gpu-memory-utilization": generation.utilisation,
        "seed": seed,
        "host": host,
        "port": port,
        **(more or {}),
    }
    return shlex.join(["vllm", "serve", model, *(f"--{name}={value}" for name, value in options.items())])
