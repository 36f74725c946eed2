"""An agent that is a model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_thinkingbox.agents.completions import CHAT
from pytest_thinkingbox.agents.model import ModelAgent
from pytest_thinkingbox.agents.responses import RESPONSES
from pytest_thinkingbox.agents.wire import Api

DEFAULT_URL = CHAT.default_url
APIS: Mapping[str, Api] = {"chat": CHAT, "responses": RESPONSES}


class OpenAIAgent(ModelAgent):
    """Through chat completions, which all of these endpoints speak, or through the Responses API.

    `parameters` are for example `temperature`, `max_completion_tokens`, `reasoning_effort`.
    """

    name = "openai"

    def __init__(
        self,
        model: str,
        *,
        api: str = "chat",
        base_url: str | None = None,
        api_key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        send_seed: bool = True,
        concurrency: int = 8,
    ) -> None:
        super().__init__(
            model,
            api=APIS[api],
            base_url=base_url,
            api_key=api_key,
            parameters=parameters,
            send_seed=send_seed,
            concurrency=concurrency,
        )
