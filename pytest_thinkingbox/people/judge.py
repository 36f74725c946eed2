"""The judge: a model that answers one narrow yes/no question about one text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_thinkingbox.agents.base import Stop
from pytest_thinkingbox.agents.wire import Answer, Api, Transcript
from pytest_thinkingbox.episodes.model import Usage
from pytest_thinkingbox.errors import ConfigurationError, JudgeBroke, ProviderDown
from pytest_thinkingbox.people.framing import (
    INSTRUCTIONS,
    SCHEMA,
    NoRuling,
    content_hash,
    framed,
    read_ruling,
)
from pytest_thinkingbox.people.models import PeopleModel, named
from pytest_thinkingbox.state.rulings import Ruling

ASKS = 3
"""How often a question is asked before an answer that is none makes the attempt invalid."""


def parameters(api: Api) -> Mapping[str, Any]:
    """Temperature 0, and the form of the answer where the API has words for it."""
    form = {"type": "json_schema", "name": "ruling", "strict": True, "schema": SCHEMA}
    match api.name:
        case "chat":
            inner = {key: value for key, value in form.items() if key != "type"}
            return {"temperature": 0, "response_format": {"type": "json_schema", "json_schema": inner}}
        case "responses":
            return {"temperature": 0, "text": {"format": form}}
    return {"temperature": 0}


class JudgeModel:
    """Is told the question and the text, and nothing of the task, the checker or what was expected."""

    def __init__(self, model: PeopleModel) -> None:
        self._model = model

    async def ask(self, question: str, about: str, usage: Usage) -> Ruling:
        """The ruling; what it cost is added to `usage`, also when there is none.

        Raises JudgeBroke when the judge cannot be reached or gives no answer in ASKS requests, ConfigurationError
        when it was never there.
        """
        transcript = Transcript()
        transcript.append({"role": "system", "content": INSTRUCTIONS})
        transcript.append({"role": "user", "content": framed(question, about)})
        problem = ""
        for number in range(ASKS):
            answer = await self._answer(transcript, usage, seed=number)
            try:
                yes, reason = _read(answer)
            except NoRuling as none:
                problem = f"its answer {none}: {answer.refusal or answer.text!r}"
                continue
            return Ruling(
                question=question,
                about=content_hash(about),
                answer="yes" if yes else "no",
                reason=reason,
                model=self._model.chat.model,
                cached=False,
            )
        raise JudgeBroke(
            f"the judge gave no answer to {question!r} in {ASKS} requests; the last time {problem}"
        )

    async def _answer(self, transcript: Transcript, usage: Usage, *, seed: int) -> Answer:
        try:
            answer = await self._model.chat.complete(transcript, seed=seed)
        except ConfigurationError as error:
            raise named("judge", error) from None
        except ProviderDown as down:
            raise JudgeBroke(f"the judge is down: {down}") from None
        except Stop as stop:
            raise JudgeBroke(f"the judge could not answer ({stop.reason}): {stop.detail}") from None
        tokens = answer.tokens
        usage.add(
            input_tokens=tokens.input_tokens,
            cached_tokens=tokens.cached_tokens,
            output_tokens=tokens.output_tokens,
            reasoning_tokens=tokens.reasoning_tokens,
        )
        return answer

    async def aclose(self) -> None:
        await self._model.aclose()


def _read(answer: Answer) -> tuple[bool, str]:
    if answer.refusal is not None:
        raise NoRuling("is a refusal")
    if answer.finish != "stop":
        raise NoRuling(f"was cut off ({answer.finish})")
    if not answer.text.strip():
        raise NoRuling("is empty")
    return read_ruling(answer.text)
