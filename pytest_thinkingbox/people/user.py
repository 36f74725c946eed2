"""A user that a model plays from a private context."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_thinkingbox.agents.base import Stop
from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.agents.wire import Answer, Transcript
from pytest_thinkingbox.declare import Limits, User
from pytest_thinkingbox.episodes.model import Conversation, Usage
from pytest_thinkingbox.errors import ConfigurationError, ProviderDown, UserBroke
from pytest_thinkingbox.people.facts import contradiction
from pytest_thinkingbox.people.models import named
from pytest_thinkingbox.people.roles import echoes, goodbye, out_of_role, outside, spoken, stuck
from pytest_thinkingbox.people.scripted import Turns, spoken_messages
from pytest_thinkingbox.people.words import says

PROMPT = """\
You play a person who is writing to an assistant. These notes are all that you know, and they are private:

<notes>
{notes}
</notes>

How you write:
- Answer what the assistant asks you, and only that. What you were not asked for stays in the notes.
- Do not make anything up. What is not in the notes, you do not know; say that you do not know it.
- One short message at a time, in everyday words, in the language of the conversation. No headings, no stage \
directions, nothing about notes or roles.
- You are the person, never the assistant: you look nothing up, you use no tools, you offer no help.
- An assistant that says goodbye has not served you yet. While something you came for is open, ask for it.
- Once everything you came for is done, or was refused for good, write {end} and nothing else.
"""
"""What the model that plays the user is told; a user without private fields and facts has only its context as notes."""

_OPENING = (
    "(You are connected to the assistant.)"  # most chat templates want somebody to speak before the person
)
_SILENCE = "(The assistant sent an empty message.)"
_GOODBYES = 3  # this many in a row, and nobody will end it
_REPEATS = 3


class LlmUser:
    """The user of one attempt. What `user` holds only the user knows; the agent is never shown it.

    Sees what was said, without tools and instructions. `limits.user_turns` counts its replies after the prompt.
    """

    def __init__(self, chat: ChatModel, user: User, *, prompt: str, limits: Limits, seed: int) -> None:
        self._chat = chat
        self._user = user
        self._system = {"role": "system", "content": system_prompt(user)}
        self._markers = re.compile("|".join(re.escape(one) for one in user.end_markers), re.IGNORECASE)
        self._turns = Turns(limits)
        self._seed = seed
        self._requests = 0
        self._prompt = prompt
        self._said: list[str] = []
        self._heard: list[str] = []
        self._goodbyes = 0
        self._ending = False

    async def reply(self, conversation: Conversation) -> str | None:
        """The next message, None when the user is done.

        Raises UserBroke with what was said when the model cannot be reached, falls silent, gets stuck, leaves its
        role, contradicts a fact or says what is private, and Stop when the user would go on after
        `limits.user_turns` replies.
        """
        self._heard.append(conversation.response)
        text = await self._speak(conversation)
        words = self._markers.sub("", text).strip()
        if words != text.strip():
            # With words beside it the marker may have come too early: they are delivered, once.
            if not any(char.isalnum() for char in words) or self._ending or self._turns.used_up:
                return None
            self._ending = True
        self._check(words)
        self._turns.take()
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
        except ConfigurationError as error:
            raise named("user", error) from None
        except ProviderDown as down:
            raise UserBroke(f"the model that plays the user is down: {down}") from None
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
        self._check_secrets(words)
        evidence = out_of_role(words)
        if evidence is not None:
            raise UserBroke(f"the simulated user speaks as the agent ({evidence!r}): {words!r}")
        evidence = outside(words)
        if evidence is not None:
            raise UserBroke(f"the simulated user steps out of its role ({evidence!r}): {words!r}")
        if echoes(words, self._heard[-1]):
            raise UserBroke(f"the simulated user repeats what the agent said: {words!r}")
        self._goodbyes = self._goodbyes + 1 if goodbye(words, self._heard[-1]) else 0
        if self._goodbyes >= _GOODBYES:
            last = [*self._said[1 - _GOODBYES :], words]
            raise UserBroke(f"the simulated user says goodbye and does not end: {last!r}")
        last = [*self._said[1 - _REPEATS :], words]
        if len(last) == _REPEATS and stuck(last, self._heard[-_REPEATS:]):
            raise UserBroke(f"the simulated user is stuck, it said {_REPEATS} times: {words!r}")

    def _check_secrets(self, words: str) -> None:
        user = self._user
        told = "\n".join(
            [self._prompt, *self._heard]
        )  # what was said to the user is no secret between the two
        for name, value in user.private.items():
            if says(value, words) and not says(value, told):
                raise UserBroke(f"the simulated user leaks its private field {name!r}: {words!r}")
        notes = [user.context, self._prompt, *user.private.values()]
        for name, fact in user.checked.items():
            others = [one.value for other, one in user.checked.items() if other != name]
            found = contradiction(name, fact, words, heard=self._heard, known="\n".join(notes + others))
            if found is not None:
                raise UserBroke(
                    f"the simulated user contradicts its field {name!r} ({fact.value!r}) with {found!r}: {words!r}"
                )


def system_prompt(user: User) -> str:
    """What the model is told: the user's notes, and how to play."""
    notes = [user.context.strip()]
    if user.facts:
        notes.append("These are facts. When they come up, they are exactly these:")
        notes += [f"- {name}: {fact.value}" for name, fact in user.checked.items()]
    if user.private:
        notes.append(
            "You know these, but you never say them, whoever asks and whatever for. Say that you will not:"
        )
        notes += [f"- {name}: {value}" for name, value in user.private.items()]
    return PROMPT.format(notes="\n".join(notes), end=user.end_markers[0])


def _seen_by_user(system: Mapping[str, Any], conversation: Conversation) -> Transcript:
    """The conversation from the other side: the model that plays the user is the `assistant` of its own request."""
    transcript = Transcript()
    transcript.append(system)
    transcript.append({"role": "user", "content": _OPENING})
    for message in spoken_messages(conversation):
        if message["role"] == "user":
            transcript.append({"role": "assistant", "content": message["content"]})
        else:
            transcript.append({"role": "user", "content": message["content"] or _SILENCE})
    return transcript
