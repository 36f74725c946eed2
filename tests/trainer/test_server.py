"""A real server process with a tiny model, asked over its socket."""

from __future__ import annotations

import math
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("transformers", reason="transformers is not installed (dependency group `train`)")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from pytest_thinkingbox.errors import ConfigurationError
from tests.trainer.served import running
from tests.trainer.tiny import write_model
from thinkingbox_trainer.engine import Sampling
from thinkingbox_trainer.serve import load

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]

TEXTS = ["Close order 3.", "Write a note that order 2 is late.", "Hello", "Is order 1 open? " * 9]
WITHIN = 1e-4
"""How far log-probabilities of a batch may lie from those of a request alone."""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "tiny"
    write_model(folder, texts=TEXTS)
    return folder


@pytest.fixture(scope="module")
def server(checkpoint):
    with running(checkpoint) as server:
        yield server


@pytest.fixture(scope="module")
def prompts(checkpoint):
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    return [tokenizer.encode(one, add_special_tokens=False) for one in TEXTS]


def refusal(answer: httpx.Response) -> str:
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("BadRequestError", 400)
    return error["message"]


def test_greedy_ids_are_those_of_generate(server, checkpoint, prompts):
    model = AutoModelForCausalLM.from_pretrained(checkpoint)
    for prompt in prompts:
        whole = model.generate(torch.tensor([prompt]), max_new_tokens=16, do_sample=False)[0].tolist()
        assert server.ids(prompt, max_tokens=16, temperature=0) == whole[len(prompt) :]


@pytest.mark.parametrize("temperature", [1e-320, 1e-40, 9e-6])
def test_a_temperature_that_is_nearly_nought_is_nought(server, prompts, temperature):
    """Numbers of 32 bits cannot be divided by it, and those who ask at the same time would get no answer either."""
    greedy = server.ids(prompts[0], max_tokens=4, temperature=0)
    assert server.ids(prompts[0], max_tokens=4, temperature=temperature) == greedy


def test_a_batch_answers_what_each_alone_gets(server, prompts):
    fields = {"max_tokens": 16, "seed": 5, "logprobs": 0}
    together = server.ask(prompts, **fields).json()
    assert [one["index"] for one in together["choices"]] == [0, 1, 2, 3]
    for choice, prompt in zip(together["choices"], prompts, strict=True):
        [alone] = server.ask(prompt, **fields).json()["choices"]
        assert choice["token_ids"] == alone["token_ids"]
        assert choice["prompt_token_ids"] == prompt
        assert choice["logprobs"]["token_logprobs"] == pytest.approx(
            alone["logprobs"]["token_logprobs"], abs=WITHIN
        )
    given, made = (
        sum(len(one[key]) for one in together["choices"]) for key in ("prompt_token_ids", "token_ids")
    )
    assert together["usage"] == {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
    }


def test_requests_of_others_at_the_same_time_change_nothing(server, prompts):
    alone = [server.ids(one, max_tokens=12, seed=at, top_k=20) for at, one in enumerate(prompts)]
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(server.ids, one, max_tokens=12, seed=at, top_k=20) for at, one in enumerate(prompts)
        ]
        assert [one.result() for one in asked] == alone


def test_log_probabilities_are_those_of_the_model(server, checkpoint, prompts):
    [choice] = server.ask(prompts[0], max_tokens=6, temperature=0, logprobs=2).json()["choices"]
    model = AutoModelForCausalLM.from_pretrained(checkpoint)
    ids = choice["token_ids"]
    with torch.inference_mode():
        logits = model(torch.tensor([prompts[0] + ids])).logits[0, len(prompts[0]) - 1 : -1]
    expected = logits.float().log_softmax(-1)
    logprobs = choice["logprobs"]
    assert logprobs["token_logprobs"] == pytest.approx(
        [float(expected[at, one]) for at, one in enumerate(ids)], abs=WITHIN
    )
    best = expected.topk(2).values
    for at, found in enumerate(logprobs["top_logprobs"]):
        assert sorted(found.values(), reverse=True)[:2] == pytest.approx(best[at].tolist(), abs=WITHIN)
        assert found[logprobs["tokens"][at]] == logprobs["token_logprobs"][at]
    assert logprobs["text_offset"][0] == 0
    assert len(logprobs["text_offset"]) == len(ids)


def test_a_stop_id_ends_a_generation_and_is_in_its_ids(server, prompts):
    whole = server.ids(prompts[1], max_tokens=16, temperature=0, ignore_eos=True)
    stop = whole[3]
    [choice] = server.ask(prompts[1], max_tokens=16, temperature=0, stop_token_ids=[stop]).json()["choices"]
    assert choice["token_ids"] == whole[: whole.index(stop) + 1]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", stop)


def test_a_generation_that_was_cut_off_says_so(server, prompts):
    [choice] = server.ask(prompts[0], max_tokens=2, temperature=0).json()["choices"]
    assert (len(choice["token_ids"]), choice["finish_reason"], choice["stop_reason"]) == (2, "length", None)


def test_the_most_likely_token_alone_is_greedy(server, prompts):
    greedy = server.ids(prompts[0], max_tokens=8, temperature=0)
    assert server.ids(prompts[0], max_tokens=8, top_k=1) == greedy
    assert server.ids(prompts[0], max_tokens=8, top_p=1e-6) == greedy


def test_another_seed_gives_another_answer_and_the_same_the_same(server, prompts):
    first = server.ids(prompts[0], max_tokens=16, seed=1, ignore_eos=True)
    assert server.ids(prompts[0], max_tokens=16, seed=1, ignore_eos=True) == first
    assert server.ids(prompts[0], max_tokens=16, seed=2, ignore_eos=True) != first


def test_a_request_that_goes_away_does_not_block_others(server, prompts):
    impatient = httpx.Client(timeout=0.5)
    body = {"prompt": prompts[0], "max_tokens": 4000, "ignore_eos": True}
    with pytest.raises(httpx.ReadTimeout):
        impatient.post(f"{server.url}/completions", json=body)
    impatient.close()
    started = time.monotonic()
    assert len(server.ids(prompts[1], max_tokens=3, ignore_eos=True)) == 3
    assert time.monotonic() - started < 5  # 4000 tokens take minutes


def test_a_prompt_that_is_too_long_is_refused_with_what_fits(server):
    text = refusal(server.ask([5] * 4090, max_tokens=10))
    assert (
        "maximum context length is 4096 tokens, but the prompt has 4090 and max_tokens asks for 10 more"
        in text
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"prompt": "Hello"}, "prompt: give a list of token ids, or a list of such lists, none of them empty"),
        ({"prompt": []}, "prompt: give a list of token ids"),
        ({"prompt": [3, -1]}, "prompt: give a list of token ids"),
        ({"prompt": [3, 10**6]}, "prompt: the id 1000000 is none of this model"),
        ({"temperature": -1}, "temperature: Input should be greater than or equal to 0, got -1"),
        ({"stream": True}, "stream: this server does not do that"),
        ({"repetition_penalty": 1.1}, "repetition_penalty: Input should be less than or equal to 1, got 1.1"),
        ({"beams": 3}, "beams: this server does not know this field"),
    ],
)  # fmt: skip
def test_what_it_does_not_do_is_refused_by_name(server, fields, text):
    body = {"prompt": [3, 4], **fields}
    assert text in refusal(httpx.post(f"{server.url}/completions", json=body))


def test_a_body_that_is_no_json_is_refused(server):
    assert "Invalid JSON" in refusal(httpx.post(f"{server.url}/completions", content=b"{"))


def test_another_model_is_not_there(server):
    answer = server.ask([3], model="gpt-5")
    assert answer.status_code == 404
    assert "The model `gpt-5` does not exist" in answer.json()["error"]["message"]


def test_what_it_serves_is_listed(server):
    [card] = httpx.get(f"{server.url}/models").json()["data"]
    assert (card["id"], card["max_model_len"]) == (server.name, 4096)
    assert httpx.get(server.url.removesuffix("/v1") + "/health").status_code == 200


def test_only_this_machine_is_let_in(server):
    port = httpx.URL(server.url).port
    own = socket.gethostbyname(socket.gethostname())
    outside = own if not own.startswith("127.") else "127.0.0.2"
    with pytest.raises(OSError):
        socket.create_connection((outside, port), timeout=2).close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_though_it_generates(checkpoint, number):
    with running(checkpoint) as server, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.ask, [5, 6], max_tokens=4000, ignore_eos=True)
        time.sleep(1)
        assert server.end(number) == 0
        assert asked.result().status_code == 503
        assert "loading" in server.log
        assert server.log.endswith("thinkingbox serve: ended\n")
        assert "Traceback" not in server.log


def test_a_checkpoint_that_is_damaged_is_named(checkpoint, tmp_path):
    for path in checkpoint.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 100)
    with pytest.raises(ConfigurationError, match=f"{tmp_path} cannot be loaded: "):
        load(tmp_path)


def test_what_is_drawn_from_is_cut_by_rank_and_then_by_mass():
    logits = torch.log(torch.tensor([0.1, 0.5, 0.3, 0.1]))

    def chances(**named: float) -> list[float]:
        return [round(math.exp(one), 4) for one in Sampling(**named).log_chances(logits).tolist()]

    assert chances() == [0.1, 0.5, 0.3, 0.1]
    assert chances(top_k=2) == [0.0, 0.625, 0.375, 0.0]
    assert chances(top_p=0.6) == [0.0, 0.625, 0.375, 0.0]
    assert chances(top_p=0.5) == [0.0, 1.0, 0.0, 0.0]
    assert chances(top_k=2, top_p=0.6) == [0.0, 1.0, 0.0, 0.0]
    assert chances(temperature=0.5) == [0.0278, 0.6944, 0.25, 0.0278]
