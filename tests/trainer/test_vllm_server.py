"""What is asked of the server that generates, before anything is loaded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from tests.support.stub_endpoint import Received, Reply, StubEndpoint
from tests.trainer.recipes import VLLM, write_recipe
from thinkingbox_trainer.recipe import Recipe, read_recipe
from thinkingbox_trainer.vllm import demand_server

CARD = {"id": "tiny", "object": "model", "max_model_len": 2048}
INFO = {
    "weight_transfer_config": {"backend": "nccl"},
    "model_config": {"logprobs_mode": "processed_logprobs"},
}


def answers(*, cards: Any = (CARD,), info: Any = INFO, health: int = 200) -> Any:
    """A script of the server; `info` None is one without development mode."""

    def script(received: Received) -> Reply:
        match received.path.partition("?")[0]:
            case "/health":
                return Reply(status=health)
            case "/v1/models":
                return Reply(body=json.dumps({"object": "list", "data": list(cards)}).encode())
            case "/server_info" if info is not None:
                return Reply(body=json.dumps({"vllm_config": info}).encode())
        return Reply(status=404)

    return script


def recipe_of(folder, url: str) -> Recipe:
    return read_recipe(write_recipe(folder, *VLLM, ("http://127.0.0.1:8000", url.removesuffix("/v1"))))


def refused(folder, script: Any) -> str:
    with StubEndpoint(script) as stub, pytest.raises(ConfigurationError) as error:
        demand_server(recipe_of(folder, stub.url), wait=0)
    return str(error.value)


def test_the_name_is_the_one_that_the_server_has(tmp_path):
    with StubEndpoint(answers(cards=[{**CARD, "id": "renamed"}])) as stub:
        assert demand_server(recipe_of(tmp_path, stub.url), wait=0) == "renamed"
    assert [one.path for one in stub.received] == ["/health", "/v1/models", "/server_info?config_format=json"]


def test_a_server_that_is_loading_is_waited_for(tmp_path):
    states = iter([503, 200])
    script = answers()

    def loading(received: Received) -> Reply:
        return Reply(status=next(states)) if received.path == "/health" else script(received)

    with StubEndpoint(loading) as stub:
        assert demand_server(recipe_of(tmp_path, stub.url), wait=0.2) == "tiny"


def test_a_server_that_is_not_there_is_named_with_the_command_that_starts_it(tmp_path):
    with StubEndpoint(answers()) as stub:
        gone = recipe_of(tmp_path, stub.url)
    with pytest.raises(ConfigurationError, match="it did not answer for 0 s") as error:
        demand_server(gone, wait=0)
    assert "VLLM_SERVER_DEV_MODE=1 vllm serve tiny" in str(error.value)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (answers(health=503), "did not answer for 0 s (status 503)"),
        (answers(cards=[]), "it serves 0 models"),
        (answers(cards=[CARD, CARD]), "it serves 2 models"),
        (answers(cards=[{**CARD, "max_model_len": 2047}]), "room for 2047 ids there"),
        (answers(cards=[{"id": "tiny"}]), "room for None ids there"),
        (answers(info=None), "VLLM_SERVER_DEV_MODE=1 is missing"),
        (answers(info={**INFO, "weight_transfer_config": None}), "--weight-transfer-config is missing"),
        (answers(info={**INFO, "model_config": {"logprobs_mode": "raw_logprobs"}}), "raw_logprobs"),
        (answers(info={}), "KeyError: 'weight_transfer_config'"),
        (lambda received: Reply(body=b"hello"), "JSONDecodeError"),
    ],
    ids=["loading", "none", "two", "short", "no length", "no mode", "no transfer", "raw", "other", "no JSON"],
)
def test_a_server_that_does_not_do_is_refused_and_why(tmp_path, script, why):
    message = refused(tmp_path, script)
    assert why in message
    assert "--logprobs-mode=processed_logprobs" in message
