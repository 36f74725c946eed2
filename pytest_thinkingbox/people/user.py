"""A user that a model plays from a private context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_thinkingbox.agents.base import Stop
from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.agents.endpoint import Endpoint
from pytest_thinkingbox.agents.wire import Answer, Transcript
from pytest_thinkingbox.declare import Limits
from pytest_thinkingbox.episodes.model import Conversation, EpisodeRequest, Usage
from pytest_thinkingbox.errors import UserBroke
from pytest_thinkingbox.people.roles import echoes, goodbye, out_of_role, spoken, stuck

END = "[[END]]"
"""What the user says once it is served, and nothing else with it."""

PROMPT = f"""\
You play a person who is writing to an assistant. These notes are all that you know, and they are private:

<notes>
{{context}}
</notes>

How you write:
- Answer what the assistant asks you, and only that. What you were not asked for stays in the notes.
- Do not make anything up. What is not in the notes, you do not know; say that you do not know it.
- One short message at a time, in everyday words, in the language of the conversation. No headings, no stage \
directions, nothing about notes or roles.
- You are the person, never the assistant: you look nothing up, you use no tools, you offer no help.
- An assistant that says goodbye has not served you yet. While something you came for is open, ask for it.
- Once everything you came for is done, or was refused for good, write {END} and nothing else.
"""
_OPENING = (
    "(You are connected to the assistant.)"  # most chat templates want somebody to speak before the person
)
_SILENCE = "(The assistant sent an empty message.)"
_GOODBYES = 3  # this many in a row, and nobody will end it
_REPEATS = 3


class LlmUser:
    """The user of one attempt. `context` is what only the user knows; the agent is never shown it.

    Sees what was said, without tools and instructions. `limits.user_turns` counts its replies after the prompt.
    """

    def __init__(self, chat: ChatModel, *, context: str, limits: Limits, seed: int) -> None:
        self._chat = chat
        self._system = {"role": "system", "content": PROMPT.format(context=context.strip())}
        self._limits = limits
        self._seed = seed
        self._requests = 0
        self._said: list[str] = []
        self._heard: list[str] = []
        self._goodbyes = 0
        self._ending = False

    async def reply(self, conversation: Conversation) -> str | None:
        """The next message, None when the user is done.

        Raises UserBroke with what was said when the model falls silent, gets stuck or leaves its role, and Stop when
        the user would go on after `limits.user_turns` replies.
        """
        self._heard.append(conversation.response)
        text = await self._speak(conversation)
        words = text.replace(END, "").strip()
        if END in text:
            # With words beside it the marker may have come too early: they are delivered, once.
            if not words or self._ending:
                return None
            self._ending = True
        self._check(words)
        if len(self._said) >= self._limits.user_turns:
            raise Stop("user_turn_limit", f"the user replied {len(self._said)} times and was not done")
        self._said.append(words)
        return words

    async def _speak(self, conversation: Conversation) -> str:
        transcript = _seen_by_user(self._system, conversation)
        for _ in range(2):
            answer = await self._ask(transcript, conversation)
            text = spoken(answer.text)
            if text or answer.calls:
                return self._whole(answer, text)
        raise UserBroke("the simulated user gave an empty reply twice")

    async def _ask(self, transcript: Transcript, conversation: Conversation) -> Answer:
        self._requests += 1
        try:
            answer = await self._chat.complete(transcript, seed=(self._seed + self._requests) % 2**31)
        except Stop as stop:
            raise UserBroke(f"the simulated user could not reply ({stop.reason}): {stop.detail}") from None
        tokens = answer.tokens
        conversation.usage.setdefault("user", Usage()).add(
            input_tokens=tokens.input_tokens,
            cached_tokens=tokens.cached_tokens,
            output_tokens=tokens.output_tokens,
            reasoning_tokens=tokens.reasoning_tokens,
        )
        if answer.refusal is not None:
            raise UserBroke(f"the model refused to play the user: {answer.refusal!r}")
        if answer.finish != "stop":
            raise UserBroke(f"the simulated user's reply was cut off ({answer.finish}): {answer.text!r}")
        return answer

    def _whole(self, answer: Answer, text: str) -> str:
        if answer.calls:
            names = ", ".join(call.name for call in answer.calls)
            raise UserBroke(f"the simulated user acts as the agent: it calls {names}")
        return text

    def _check(self, words: str) -> None:
        evidence = out_of_role(words)
        if evidence is not None:
            raise UserBroke(f"the simulated user speaks as the agent ({evidence!r}): {words!r}")
        if echoes(words, self._heard[-1]):
            raise UserBroke(f"the simulated user repeats what the agent said: {words!r}")
        self._goodbyes = self._goodbyes + 1 if goodbye(words, self._heard[-1]) else 0
        if self._goodbyes >= _GOODBYES:
            last = [*self._said[1 - _GOODBYES :], words]
            raise UserBroke(f"the simulated user says goodbye and does not end: {last!r}")
        last = [*self._said[1 - _REPEATS :], words]
        if len(last) == _REPEATS and stuck(last, self._heard[-_REPEATS:]):
            raise UserBroke(f"the simulated user is stuck, it said {_REPEATS} times: {words!r}")


class LlmUsers:
    """Makes the users of a campaign: tasks without a `user` have none.

    Without a `model` and `base_url` of their own they are asked where the agent is. Call `aclose` at the end.
    """

    def __init__(
        self,
        agent: ChatModel | None,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        concurrency: int = 8,
    ) -> None:
        if agent is None and (model is None or base_url is None):
            raise ValueError(
                "users without an agent that has a model need a model and a base_url of their own"
            )
        self._own: Endpoint | None = None
        if base_url is not None:
            self._own = Endpoint(base_url, api_key=api_key, concurrency=concurrency)
        endpoint = self._own or (agent.endpoint if agent else None)
        name = model or (agent.model if agent else None)
        assert endpoint is not None
        assert name is not None
        self.chat = ChatModel(endpoint, name, parameters=parameters)

    def __call__(self, request: EpisodeRequest, *, seed: int) -> LlmUser | None:
        if request.user is None:
            return None
        return LlmUser(self.chat, context=request.user, limits=request.limits, seed=seed)

    async def aclose(self) -> None:
        if self._own is not None:
            await self._own.aclose()


def _seen_by_user(system: Mapping[str, Any], conversation: Conversation) -> Transcript:
    """The conversation from the other side: the model that plays the user is the `assistant` of its own request."""
    transcript = Transcript()
    transcript.append(system)
    transcript.append({"role": "user", "content": _OPENING})
    for message in conversation.messages:
        text = message.get("content")
        match message["role"]:
            case "user":
                transcript.append({"role": "assistant", "content": text})
            case "assistant" if not (message.get("tool_calls") or message.get("function_call")):
                transcript.append({"role": "user", "content": text or _SILENCE})
    return transcript
