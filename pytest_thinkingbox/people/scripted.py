"""Users without a model: lines that are said in order, and functions of the author's."""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from typing import Any

from pytest_thinkingbox.agents.base import Stop, is_exit
from pytest_thinkingbox.declare import Limits, Script
from pytest_thinkingbox.declare.user import UserFunction
from pytest_thinkingbox.episodes.model import Conversation
from pytest_thinkingbox.errors import Invalid, UserRaised


class Turns:
    """Counts a user's replies against `limits.user_turns`."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.user_turns
        self._taken = 0

    @property
    def used_up(self) -> bool:
        return self._taken >= self._most

    def take(self) -> None:
        """One more reply. Raises Stop when the limit does not allow it."""
        if self.used_up:
            raise Stop("user_turn_limit", f"the user replied {self._taken} times and was not done")
        self._taken += 1


class ScriptUser:
    """Says one line after each answer of the agent, whatever that was, and is done after the last."""

    def __init__(self, script: Script, *, limits: Limits) -> None:
        self._lines = iter(script.lines)
        self._turns = Turns(limits)

    async def reply(self, conversation: Conversation) -> str | None:
        line = next(self._lines, None)
        if line is not None:
            self._turns.take()
        return line


class FunctionUser:
    """Asks a function for each reply; one that is not `async def` runs in a thread."""

    def __init__(self, function: UserFunction, *, limits: Limits) -> None:
        self._function = function
        self._seconds = limits.seconds
        self._turns = Turns(limits)

    async def reply(self, conversation: Conversation) -> str | None:
        text = await self._call(spoken_messages(conversation))
        if text is None:
            return None
        if not isinstance(text, str) or not text.strip():
            raise UserRaised(
                f"the user's function {_name(self._function)} returned {text!r}: it must return text, or None when the "
                "user is done"
            )
        self._turns.take()
        return text

    async def _call(self, conversation: list[dict[str, str]]) -> Any:
        try:
            async with asyncio.timeout(self._seconds) as timeout:
                if _is_async(self._function):
                    return await self._function(conversation)
                # Nobody waits for a thread whose time is up.
                return await asyncio.to_thread(self._function, conversation)
        except Invalid:
            raise
        except BaseException as error:
            if not is_exit(error):
                raise
            if timeout.expired():
                raise UserRaised(
                    f"the user's function {_name(self._function)} did not return within {self._seconds:g} s"
                ) from None
            raise UserRaised(
                f"the user's function {_name(self._function)} raised {type(error).__name__}: {error}"
            ) from error


def spoken_messages(conversation: Conversation) -> list[dict[str, str]]:
    """What user and agent said to each other, as `{"role": "user" | "assistant", "content": text}`."""
    return [
        {"role": message["role"], "content": message.get("content") or ""}
        for message in conversation.messages
        if message["role"] in ("user", "assistant")
        and not (message.get("tool_calls") or message.get("function_call"))
    ]


def _is_async(function: UserFunction) -> bool:
    inner = _inner(function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(type(inner).__call__)


def _name(function: UserFunction) -> str:
    """As its author knows it."""
    inner = _inner(function)
    return inner.__qualname__ if inspect.isroutine(inner) else repr(inner)


def _inner(function: UserFunction) -> UserFunction:
    """Without the test's parameters that are bound to it."""
    return _inner(function.func) if isinstance(function, partial) else function
