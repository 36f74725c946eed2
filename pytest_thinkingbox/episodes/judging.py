"""What a checker asks a judge through."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import sha256

from pytest_thinkingbox.errors import ConfigurationError, JudgeBroke
from pytest_thinkingbox.state.rulings import Ruling

Ask = Callable[[str, str], Ruling]
"""The ruling on a question about a text. Raises JudgeBroke when there is none."""


class Judge:
    """Answers narrow yes/no questions about a text; what it answered is in `rulings` and in the attempt's record.

    `broken` is the first question that got no answer: whatever the checker made of that, the attempt is invalid.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self.rulings: list[Ruling] = []
        self.broken: JudgeBroke | ConfigurationError | None = None

    def __repr__(self) -> str:
        return "judge"

    def yes(self, question: str, *, about: str) -> bool:
        """Whether the answer is yes. The judge is told these two texts and nothing else.

        Waits for the answer; in an `async def` checker, too. Raises JudgeBroke when there is none - an empty answer is
        no "no" - and ConfigurationError when the judge was never there.
        """
        for name, value in (("question", question), ("about", about)):
            if not isinstance(value, str):
                raise TypeError(f"judge.yes: {name}={value!r} must be a string")
        if not question.strip():
            raise TypeError(f"judge.yes: question={question!r} must be a question that yes or no answers")
        try:
            ruling = self._ask(question, about)
        except (JudgeBroke, ConfigurationError) as error:
            self.broken = self.broken or error
            raise
        self.rulings.append(ruling)
        return ruling.answer == "yes"


def nobody(question: str, about: str) -> Ruling:
    raise JudgeBroke(f"nobody answers {question!r}: name a model with --tb-judge-model")


def stored(rulings: Iterable[Ruling]) -> Ask:
    """Answers from a record, for a checker that runs again without a model."""
    known = {(one.question, one.about): one for one in rulings}

    def ask(question: str, about: str) -> Ruling:
        digest = sha256(about.encode("utf-8", "surrogatepass")).hexdigest()
        if (question, digest) not in known:
            raise JudgeBroke(
                f"the record has no answer to {question!r} about this text: a judge was not asked this at that time"
            )
        return replace(known[question, digest], cached=True)

    return ask
