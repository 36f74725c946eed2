"""The judge under the names that test functions of a dataset use. One judge answers, that of the campaign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from pytest_thinkingbox.episodes.judging import Judge as CampaignJudge
from pytest_thinkingbox.errors import JudgeBroke


class Judge:
    """Answers yes/no questions. A question that got no answer makes the attempt invalid: it is never a "no"."""

    def __init__(self, judge: CampaignJudge) -> None:
        self._judge = judge

    def text_yesno(self, text: str, question: str) -> bool:
        """Whether the answer to a question about a text is yes."""
        return self._judge.yes(question, about=text)

    def text_yesno_with_motivation(self, text: str, question: str) -> dict[str, Any]:
        answer = self._judge.yes(question, about=text)
        return {"answer": answer, "motivation": self._judge.rulings[-1].reason}

    def yesno(self, question: str) -> bool:
        """Whether the answer to a question that holds all there is to know is yes."""
        return self._judge.yes(question, about="")

    def compare_yesno(self, first: str, second: str, question: str) -> bool:
        """Whether the answer to a question about two texts, the first and the second message, is yes."""
        return self._judge.yes(
            question, about=f"The first message:\n{first}\n\nThe second message:\n{second}"
        )

    def no_repeat(self, first: str, second_list: Sequence[str]) -> bool:
        """Whether the first text repeats none of the others."""
        question = "Does the first message repeat what the second message says?"
        return not any(self.compare_yesno(first, second, question) for second in second_list)

    def evaluate_bool(self, system: str, user: str) -> bool:
        """Whether the answer to the question of `system` about the text of `user` is yes."""
        return self._judge.yes(system, about=user)

    def _get_text_completion(self, messages: Sequence[Any]) -> NoReturn:
        self._judge.broken = self._judge.broken or JudgeBroke(
            "this test asks its judge for a text of its own; the judge of a campaign answers yes/no questions only"
        )
        raise self._judge.broken
