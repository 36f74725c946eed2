"""vLLM's server, which generates for a run and takes its weights: whether it is there and is what the run needs, before
a model is loaded."""

from __future__ import annotations

import time
from typing import Any

import httpx

from pytest_thinkingbox.agents.served import ServedEngine
from pytest_thinkingbox.errors import ConfigurationError
from thinkingbox_trainer.commands import training_server_command
from thinkingbox_trainer.recipe import Recipe, SyncedGeneration

WAIT = 900.0
"""Seconds for the server to come up: it loads the same weights that the run is going to load."""
_PAUSE = 2.0
_ANSWER = 30.0


def demand_server(recipe: Recipe, *, wait: float = WAIT) -> str:
    """The name by which the server has the model. Raises ConfigurationError, which has the command that starts it."""
    generation = recipe.generation
    assert generation is not None
    with httpx.Client(base_url=generation.base_url, timeout=_ANSWER) as client:
        try:
            _await(client, wait)
            name = _model(client, recipe)
            _check(client)
        except (_Unfit, httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            said = str(error) if isinstance(error, _Unfit) else f"{type(error).__name__}: {error}"
            raise ConfigurationError(
                f"generation.base_url: vLLM's server at {generation.base_url}: {said}. It is started with\n"
                f"  {training_server_command(recipe)}"
            ) from None
    return name


def make_engine(recipe: Recipe, *, model: str, end: int) -> ServedEngine:
    """Of the server that has the model by that name."""
    generation, sampling = recipe.generation, recipe.sampling
    assert isinstance(generation, SyncedGeneration)
    return ServedEngine(
        model,
        base_url=f"{generation.base_url}/v1",
        end=end,
        parameters={
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
        },
        concurrency=recipe.episodes.concurrency,
        named=("generation.base_url", "model.path"),
    )


class _Unfit(Exception):
    """What the server is not."""


def _await(client: httpx.Client, wait: float) -> None:
    last = time.monotonic() + wait
    while True:
        try:
            answer = client.get("/health")
            if answer.is_success:
                return
            said = f"status {answer.status_code}"
        except httpx.TransportError as error:
            said = str(error)
        if time.monotonic() >= last:
            raise _Unfit(f"it did not answer for {wait:g} s ({said})")
        time.sleep(min(_PAUSE, wait))


def _model(client: httpx.Client, recipe: Recipe) -> str:
    cards = _read(client, "/v1/models")["data"]
    if len(cards) != 1:
        raise _Unfit(f"it serves {len(cards)} models: weights are sent to the one that there is")
    name, longest = str(cards[0]["id"]), cards[0].get("max_model_len")
    if longest is None or longest < recipe.episodes.longest:
        raise _Unfit(
            f"{name} has room for {longest} ids there (max_model_len), and episodes.longest is "
            f"{recipe.episodes.longest}"
        )
    return name


def _check(client: httpx.Client) -> None:
    """That it takes weights, and that its log-probabilities are of the distribution that was drawn from."""
    answer = client.get("/server_info", params={"config_format": "json"})
    if answer.status_code == httpx.codes.NOT_FOUND:
        raise _Unfit("it has no /server_info, so that it takes no weights: VLLM_SERVER_DEV_MODE=1 is missing")
    config = answer.raise_for_status().json()["vllm_config"]
    if config["weight_transfer_config"] is None:
        raise _Unfit("it takes no weights: --weight-transfer-config is missing")
    mode = config["model_config"]["logprobs_mode"]
    if mode != "processed_logprobs":
        raise _Unfit(
            f"its --logprobs-mode is {mode}: the importance ratio needs the log-probabilities after temperature and "
            "cuts, processed_logprobs"
        )


def _read(client: httpx.Client, path: str) -> Any:
    return client.get(path).raise_for_status().json()
