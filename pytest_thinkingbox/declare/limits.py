from __future__ import annotations

from dataclasses import dataclass, fields

from pytest_thinkingbox.declare.checks import positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far an episode may go before it is cut off; the checker then decides, and `stop_reason` says which.

    `turns` counts answers of the model, `tokens` what it generated, `seconds` the agent's own time (queueing,
    retries, user and judge excluded), `tool_seconds` one tool call, `user_turns` replies of the user.
    """

    turns: int = 40
    tokens: int = 200_000
    seconds: float = 600.0
    tool_seconds: float = 60.0
    user_turns: int = 12

    def __post_init__(self) -> None:
        for one in fields(self):
            positive("Limits", one.name, getattr(self, one.name))
