"""Questions of checkers on their way to the judge, each asked once in a campaign."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future

from pytest_thinkingbox.episodes.judging import nobody
from pytest_thinkingbox.episodes.model import Episode, Usage
from pytest_thinkingbox.episodes.pool import EpisodePool
from pytest_thinkingbox.people.framing import question_key
from pytest_thinkingbox.records.rulings import RulingStore
from pytest_thinkingbox.state.rulings import Ruling


class CampaignJudge:
    """Asks in the pool's thread, and waits for the answer in the checker's.

    `model` is the judge's name, None without one.
    """

    def __init__(self, *, pool: EpisodePool, rulings: RulingStore, model: str | None) -> None:
        self._pool = pool
        self._rulings = rulings
        self._model = model

    def ask(
        self, episode: Episode, wait: Callable[[Future[Ruling]], Ruling], question: str, about: str
    ) -> Ruling:
        """The ruling; its tokens and seconds are the episode's. Raises JudgeBroke, ConfigurationError."""
        if self._model is None:
            return nobody(question, about)
        # There also where nothing is spent: figures tell tasks apart that depend on a judge.
        usage = episode.conversation.usage.setdefault("judge", Usage())
        key = question_key(model=self._model, question=question, about=about)
        known = self._rulings.find(key)
        if known is not None:
            return known
        started = time.perf_counter()
        future = self._pool.ask_judge(question, about, usage)
        try:
            ruling = wait(future)
        except BaseException:
            future.cancel()  # an interrupt: nobody reads the answer
            raise
        finally:
            seconds = episode.seconds.get("judge", 0.0)
            episode.seconds["judge"] = seconds + time.perf_counter() - started
        return self._rulings.keep(key, ruling, database_url=episode.database_url)
