"""Training whose episodes a server generates, through TRL's own client, on a CPU. `vllm_server.py` says what of it is
not vLLM."""

from __future__ import annotations

import json
import os

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from transformers import AutoModelForCausalLM

from tests.rewards.suites import forgotten
from tests.trainer.recipes import LORA, VLLM, write_recipe
from tests.trainer.tiny import write_world
from tests.trainer.vllm_server import VllmServer, trl_without_a_gpu
from thinkingbox_trainer.recipe import read_recipe
from thinkingbox_trainer.run import train
from thinkingbox_trainer.trl_adapter import WeightsNotSent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]
SENT = ["/start_weight_update", "/update_weights", "/finish_weight_update", "/reset_prefix_cache"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(folder)
    return folder


def trained(world, server, monkeypatch, output: str, *changes):
    recipe = write_recipe(
        world,
        *VLLM,
        ("http://127.0.0.1:8000", server.url),
        ('output = "out"', f'output = "{output}"'),
        *changes,
    )
    with server, forgotten(world), trl_without_a_gpu(server, monkeypatch):
        return train(read_recipe(recipe), folder=world)


def test_a_step_is_played_by_the_server_with_the_weights_that_are_trained(world, monkeypatch):
    """The server begins with other weights, so that the log-probabilities agree only if the run's came first."""
    server = VllmServer(world / "tiny")
    trainer = trained(world, server, monkeypatch, "out")
    begun = [at for at, path in enumerate(server.asked) if path == SENT[0]]
    assert len(begun) == 2
    assert all(server.asked[at : at + 5] == [*SENT, "/v1/completions"] for at in begun)
    assert begun[0] < server.asked.index("/v1/completions")
    lines = [json.loads(line) for line in (world / "out" / "steps.jsonl").read_text("utf-8").splitlines()]
    assert [(line["step"], line["groups"], line["invalid_share"]) for line in lines] == [(0, 2, 0), (1, 2, 0)]
    assert lines[0]["logprob_difference"] < 1e-3
    assert all(line["grad_norm"] > 0 and line["tokens_trained"] > 0 for line in lines)
    # What it has in the end is what the second step was played with: neither the first weights nor the last.
    first = dict(AutoModelForCausalLM.from_pretrained(world / "tiny").named_parameters())
    last = dict(trainer.model.named_parameters())
    theirs = dict(server.model.named_parameters())
    assert any(not torch.equal(one, first[name]) for name, one in theirs.items())
    assert any(not torch.equal(one, last[name]) for name, one in theirs.items())


def test_the_importance_ratio_of_adapters_is_that_of_sampler_and_trainer(world, monkeypatch):
    """The server gets whole weights, the adapters among them."""
    trainer = trained(world, VllmServer(world / "tiny"), monkeypatch, "out-lora", LORA)
    logs = [one for one in trainer.state.log_history if "grad_norm" in one]
    ratios = [one["sampling/importance_sampling_ratio/mean"] for one in logs]
    assert ratios == pytest.approx([1.0, 1.0], abs=1e-3)
    assert all(0 < one["sampling/sampling_logp_difference/max"] < 1e-3 for one in logs)


def test_weights_that_the_server_does_not_take_end_the_run(world, monkeypatch):
    server = VllmServer(world / "tiny", refuses={"/finish_weight_update": 2})
    with pytest.raises(
        WeightsNotSent, match=r"step 1: vLLM's server at http://127.0.0.1:\d+ did not take .*not today"
    ):
        trained(world, server, monkeypatch, "out-refused")
    lines = (world / "out-refused" / "steps.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == [0]
