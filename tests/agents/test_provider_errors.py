from __future__ import annotations

import pytest

from pytest_thinkingbox.agents.provider_errors import ErrorReply, error_of, read_error
from tests.agents.shapes import body, shape


def read(case: str) -> ErrorReply:
    return read_error(shape(case)["status"], body(case))


@pytest.mark.parametrize(
    "case",
    [
        "openai/overflow",
        "openai/message_too_long",
        "azure/overflow",
        "vllm/overflow",
        "vllm/overflow_v1",
        "vllm/overflow_by_max_tokens",
        "vllm/overflow_flat",
        "llamacpp/overflow",
        "llamacpp/overflow_older",
        "ollama/overflow",
        "openrouter/overflow",
        "others/gemini_error",
        "others/sglang_overflow",
        "others/tgi_overflow",
    ],
)
def test_t18_an_overflow_is_one_in_the_words_of_every_provider(case: str) -> None:
    assert read(case).context_overflow
    assert not read(case).retriable


@pytest.mark.parametrize(
    "case",
    [
        "openai/bad_key",
        "openai/unknown_model",
        "openai/no_quota",
        "openai/rate_limit",
        "openai/no_max_tokens",
        "openai/max_tokens_too_large",
        "openai/server_error",
        "openai/flagged",
        "azure/prompt_filtered",
        "azure/throttled",
        "vllm/no_tool_parser",
        "llamacpp/loading",
        "ollama/not_enough_memory",
        "openrouter/no_credit",
        "openrouter/rate_limit",
        "others/mistral_no_seed",
        "others/groq_no_reasoning",
        "others/groq_too_large",
        "others/deepseek_wants_reasoning",
    ],
)
def test_other_errors_are_no_overflow(case: str) -> None:
    assert not read(case).context_overflow


@pytest.mark.parametrize(
    "case", ["openai/flagged", "azure/prompt_filtered", "openrouter/flagged", "others/deepseek_risk"]
)
def test_a_content_filter_is_one_in_the_words_of_every_provider(case: str) -> None:
    assert read(case).content_filter
    assert not read(case).retriable


@pytest.mark.parametrize(
    "case", ["openai/bad_key", "openai/overflow", "azure/throttled", "vllm/no_tool_parser"]
)
def test_other_errors_are_no_content_filter(case: str) -> None:
    assert not read(case).content_filter


@pytest.mark.parametrize(
    "case",
    [
        "openai/rate_limit",
        "openai/server_error",
        "azure/throttled",
        "vllm/engine_dead",
        "llamacpp/loading",
        "ollama/not_enough_memory",
        "openrouter/rate_limit",
    ],
)
def test_what_may_pass_is_retried(case: str) -> None:
    assert read(case).retriable


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_statuses_that_are_retried(status: int) -> None:
    assert read_error(status, b"").retriable


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 413, 422])
def test_statuses_that_are_not(status: int) -> None:
    assert not read_error(status, b"").retriable


@pytest.mark.parametrize("case", ["openai/no_quota", "openrouter/no_credit"])
def test_an_account_without_credit_is_not_retried(case: str) -> None:
    assert read(case).out_of_credit
    assert not read(case).retriable


@pytest.mark.parametrize(
    "case",
    [
        "openai/unknown_model",
        "azure/no_deployment",
        "vllm/unknown_model",
        "ollama/unknown_model",
        "ollama/unknown_model_older",
        "openrouter/unknown_model",
    ],
)
def test_an_unknown_model_is_seen(case: str) -> None:
    assert read(case).about_the_model


def test_a_wrong_path_is_not_about_the_model() -> None:
    assert not read("azure/wrong_path").about_the_model


@pytest.mark.parametrize(
    ("case", "parameter"),
    [
        ("openai/no_max_tokens", "max_tokens"),
        ("openai/no_parallel_tool_calls", "parallel_tool_calls"),
        ("openai/no_temperature", "temperature"),
        ("others/mistral_no_seed", "seed"),
        ("others/gemini_unknown_name", "seed"),
        ("others/groq_no_reasoning", "reasoning"),
    ],
)
def test_the_parameter_that_is_refused_is_found(case: str, parameter: str) -> None:
    assert read(case).refuses_parameter(parameter)


@pytest.mark.parametrize(
    ("case", "parameter"),
    [
        ("openai/no_max_tokens", "seed"),
        ("openai/max_tokens_too_large", "max_tokens"),
        ("others/deepseek_wants_reasoning", "reasoning_content"),
        ("others/groq_no_reasoning", "reasoning_content"),
    ],
)
def test_a_parameter_that_is_only_mentioned_is_not_refused(case: str, parameter: str) -> None:
    assert not read(case).refuses_parameter(parameter)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("vllm/bad_key", "401: Unauthorized"),
        ("azure/wrong_path", "404 (404): Resource not found"),
        ("others/mistral_no_seed", "422: body.seed: Extra inputs are not permitted"),
        (
            "openai/unknown_model",
            "404 (model_not_found): The model `gpt-99` does not exist or you do not have access to it.",
        ),
        ("llamacpp/bad_key", "401: Invalid API Key"),
    ],
)
def test_errors_as_text(case: str, text: str) -> None:
    assert str(read(case)) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "502: no message"),
        (b"Bad\n  Gateway", "502: Bad Gateway"),
        (b"<html><style>p {}</style><h1>502</h1><p>nginx</p></html>", "502: 502 nginx"),
        (b'"down"', '502: "down"'),
        (b"[]", "502: []"),
        (b"{}", "502: {}"),
        (b'{"error": null}', '502: {"error": null}'),
        (b'{"message": {"detail": [{"loc": ["body"], "msg": "bad"}]}}', "502: body: bad"),
    ],
)
def test_bodies_that_no_provider_documents(body: bytes, text: str) -> None:
    assert str(read_error(502, body)) == text


def test_a_long_message_is_shortened() -> None:
    assert len(error_of({"error": {"message": "x" * 100_000}}, 400).message) == 603
