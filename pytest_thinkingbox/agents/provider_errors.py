"""What the error replies of model endpoints say, in the shapes and words of the providers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LONGEST = 600

_OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",  # OpenAI, Azure, Groq, OpenRouter
        "exceed_context_size_error",  # llama.cpp
        "model_context_window_exceeded",  # Anthropic
        "string_above_max_length",  # OpenAI: one message, usually a tool's result, is too long
        "request_too_large",  # Anthropic
    }
)
_OVERFLOW = re.compile(
    r"maximum context length"  # OpenAI, vLLM, OpenRouter, DeepSeek
    r"|exceeds? the (?:available |model'?s? )?(?:context|maximum (?:model |context )?length)"
    r"|exceeds the maximum number of (?:input )?tokens"
    r"|longer than the (?:maximum|model'?s) (?:model |context )?length"  # vLLM, SGLang
    r"|exceeds? (?:the )?context (?:limit|window|length|size)"  # Anthropic: input and max_tokens together
    r"|context (?:length|window|size) (?:was |is |has been )?exceeded"
    r"|(?:prompt|input) is too long"
    r"|(?:input|prompt) (?:length )?exceeds the context"  # Ollama
    r"|greater than the context length"
    r"|reduce the length of the (?:messages|prompt|input)"
    r"|`inputs` (?:must have less than|tokens \+)"
    r"|too large for (?:the )?model with \d+ maximum context"
    r"|token count .{0,80}exceeds the maximum",
    re.IGNORECASE,
)
_FILTER_CODES = frozenset(
    {
        "content_filter",  # Azure
        "content_policy_violation",  # OpenAI
        "invalid_prompt",  # OpenAI, reasoning models
        "responsibleaipolicyviolation",
        "data_inspection_failed",
        "moderation",
    }
)
_FILTER = re.compile(
    r"content management policy|content[ _]filter(?:ed|ing)?\b|usage policy|input was flagged|requires moderation"
    r"|content exists risk|inappropriate content",
    re.IGNORECASE,
)
_QUOTA_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "insufficient_credits", "billing_error"}
)
_QUOTA = re.compile(r"credit balance is too low", re.IGNORECASE)  # Anthropic, as an invalid request
_STATUSES = {
    # The status that an error would have had when it came with 200: Anthropic's types, codes of the Responses API.
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "content_filter": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|does ?n[o']t support|unrecogni[sz]ed|unknown|unexpected|extra inputs|extra_forbidden"
    r"|not permitted|not allowed|only allowed|cannot find",
    re.IGNORECASE,
)
_MODEL = re.compile(r"\bmodels?\b|\bdeployment\b", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"(?:valid|unknown|unsupported) model|model\b.{0,100}(?:not found|not exist|no access|not available)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReply:
    """An error as an endpoint told it. `code`, `type` and `param` are "" when it did not say."""

    status: int
    message: str
    code: str = ""
    type: str = ""
    param: str = ""

    @property
    def context_overflow(self) -> bool:
        """The conversation does not fit into the model's context."""
        if self.status == 429 or self.code == "rate_limit_exceeded":
            return False
        names = {self.code, self.type}
        return bool(names & _OVERFLOW_CODES or _OVERFLOW.search(self.message))

    @property
    def output_too_large(self) -> bool:
        """The asked-for length of the answer alone is more than the endpoint allows."""
        return bool(
            re.search(
                r"max_(?:completion_|output_)?tokens\W{0,3}(?:is |are )?too large|max_tokens: \d+ > \d+",
                self.message,
            )
        )

    @property
    def content_filter(self) -> bool:
        """The endpoint refuses to process what the conversation says."""
        if self.status not in (400, 403, 422, 451):
            return False
        names = {self.code.lower(), self.type.lower()}
        return bool(names & _FILTER_CODES or _FILTER.search(self.message))

    @property
    def out_of_credit(self) -> bool:
        if self.status == 402 or self.code in _QUOTA_CODES or self.type in _QUOTA_CODES:
            return True
        return self.status == 400 and bool(_QUOTA.search(self.message))

    @property
    def about_the_model(self) -> bool:
        """It does not know the model, or the key may not use it."""
        if self.code in ("model_not_found", "DeploymentNotFound"):
            return True
        return bool((_MODEL if self.status in (403, 404) else _NO_MODEL).search(self.message))

    @property
    def retriable(self) -> bool:
        """The same request may succeed a little later."""
        if self.context_overflow or self.out_of_credit:
            return False
        return self.status in (408, 409, 425, 429) or self.status >= 500

    def refuses_parameter(self, name: str) -> bool:
        """The endpoint does not know the request's parameter of this name."""
        unsupported = _UNSUPPORTED.search(self.message) or _UNSUPPORTED.search(self.code)
        return bool(unsupported) and self.names_parameter(name)

    def names_parameter(self, name: str) -> bool:
        """The endpoint complains of the request's parameter of this name, or of a part of its value."""
        if self.status not in (400, 422):
            return False
        return self.param.partition(".")[0] == name or bool(
            re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", self.message)
        )

    def __str__(self) -> str:
        said = self.message or "no message"
        return f"{self.status} ({self.code}): {said}" if self.code else f"{self.status}: {said}"


def read_error(status: int, body: bytes) -> ErrorReply:
    """An error reply's body in any of the known shapes; text that is no JSON becomes the message, shortened."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
        if "<html" in text[:500].lower() or "<!doctype" in text[:500].lower():
            text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL | re.IGNORECASE)
        return ErrorReply(status=status, message=_short(text))
    return error_of(parsed, status)


def error_of(value: Any, status: int | None) -> ErrorReply:
    """The same for parsed JSON. Without a `status` the error says itself what it would have been, else it is 500."""
    if isinstance(value, list) and value:  # Gemini wraps it in a list
        value = value[0]
    if not isinstance(value, Mapping):
        return ErrorReply(status=status or 500, message=_short(json.dumps(value)))
    inner = value.get("error")
    error = inner if isinstance(inner, Mapping) else value
    message = inner if isinstance(inner, str) else _message(error)
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping):  # OpenRouter: what the provider behind it said
        message = " ".join(
            [message, *(_words(metadata[key]) for key in ("raw", "reasons") if metadata.get(key))]
        )
    return ErrorReply(
        status=status or _implied_status(error),
        message=_short(message),
        code=_name(error.get("code")) or _inner_code(error),
        type=_name(error.get("type") or error.get("error_type")),
        param=_name(error.get("param")),
    )


def _implied_status(error: Mapping[str, Any]) -> int:
    code = error.get("code")
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    if isinstance(code, int) and 400 <= code < 600:
        return code
    names = [_name(code), _name(error.get("type"))]
    return next((_STATUSES[name] for name in names if name in _STATUSES), 500)


def _message(error: Mapping[str, Any]) -> str:
    for key in ("message", "detail", "msg"):
        if error.get(key):
            return _words(error[key])
    return json.dumps(dict(error), ensure_ascii=False)


def _words(value: Any) -> str:
    """Text of a message that may be text, a list of complaints of a validator, or an object around either."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        if "msg" in value:
            where = ".".join(str(part) for part in value.get("loc", ()))
            return f"{where}: {value['msg']}"
        return _words(value["detail"]) if "detail" in value else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "; ".join(_words(one) for one in value)
    return str(value)


def _name(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _inner_code(error: Mapping[str, Any]) -> str:
    inner = error.get("innererror")  # Azure
    return _name(inner.get("code")) if isinstance(inner, Mapping) else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
