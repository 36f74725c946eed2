"""An agent that is a model behind Anthropic's Messages API, or an endpoint that speaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_thinkingbox.agents.messages import MESSAGES
from pytest_thinkingbox.agents.model import ModelAgent


class AnthropicAgent(ModelAgent):
    """`parameters` are for example `temperature`, `max_tokens` (16,000 unless given), `thinking`."""

    name = "anthropic"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        concurrency: int = 8,
    ) -> None:
        super().__init__(
            model,
            api=MESSAGES,
            base_url=base_url,
            api_key=api_key,
            parameters=parameters,
            concurrency=concurrency,
        )
