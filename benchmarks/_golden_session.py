"""A model for ThinkingBox's own runner that makes the calls which a task's servers know to be right, and a judge that
says yes. Imported by that runner, in its own interpreter: not a part of this package.

`THINKINGBOX_GOLDEN` is a JSON file of the calls by query.
"""

from __future__ import annotations

import json
import os
from typing import Any

from thinkingbox.common.chat_types import ParallelToolCall, Text, ToolCall
from thinkingbox.common.llm_session_base import LLMSessionBase


class Golden(LLMSessionBase):
    def __init__(self) -> None:
        with open(os.environ["THINKINGBOX_GOLDEN"], encoding="utf-8") as file:
            self._all = json.load(file)
        self._calls: list[Any] | None = None
        self._tools: dict[str, Any] = {}
        self._messages: list[Any] = []

    @property
    def tool_names(self) -> Any:
        return self._tools

    def add_tools(self, tools: Any) -> None:
        self._tools.update((tool.name, tool) for tool in tools)

    def reset_tools(self) -> None:
        self._tools.clear()

    def add_messages(self, messages: Any) -> None:
        self._messages += messages

    def reset_messages(self) -> None:
        self._messages.clear()

    def get_internal_conversation(self) -> Any:
        return None

    async def get_completion(self, conversation: Any = None, **_: Any) -> list[Any]:
        if self._calls is None:
            query = next(
                one.content for one in self._messages if isinstance(one, Text) and one.role == "user"
            )
            self._calls = list(self._all[query])
        if not self._calls:
            return [Text(role="assistant", content="Done. <DONE>")]
        name, arguments = self._calls.pop(0)
        return [ParallelToolCall(tool_calls=[ToolCall(name=name, arguments=arguments)])]

    def get_completion_sync(self, conversation: Any = None, **_: Any) -> list[Any]:
        raise NotImplementedError

    @classmethod
    def from_config(cls, config: Any) -> Golden:
        return cls()


class Yes(Golden):
    def __init__(self) -> None:
        """Needs no calls."""

    def get_completion_sync(self, conversation: Any = None, **_: Any) -> list[Any]:
        return [Text(role="assistant", content="Yes")]
