"""`--tb-estimate`: says what the tasks that were collected would use, and plays none of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_thinkingbox.plugin.stash import plan_key

if TYPE_CHECKING:
    from pytest_thinkingbox.plugin.options import Options


def add_option(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--tb-estimate",
        dest="tb_estimate",
        default=None,
        metavar="DIR",
        help="Play nothing: say what this run would use - tokens, US dollars by --tb-prices, time - judged by the "
        "campaign in this folder, for example one with a single attempt a task.",
    )


def campaign_to_judge_by(config: pytest.Config) -> Path | None:
    """The campaign that --tb-estimate names. Raises UsageError."""
    name = config.getoption("tb_estimate")
    if name is None:
        return None
    for other in ("tb_resume", "tb_regrade"):
        if config.getoption(other) is not None:
            raise pytest.UsageError(
                f"--tb-estimate does not know what --{other.replace('_', '-')} leaves to play"
            )
    if config.getoption("tx", None):
        raise pytest.UsageError("--tb-estimate plays nothing and needs no workers: leave out -n")
    from pytest_thinkingbox.records.schema import BrokenRecords
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign

    try:
        path = find_campaign(config.invocation_params.dir / name)
        CampaignFolder.open(path).read_info()
    except BrokenRecords as error:
        raise pytest.UsageError(f"--tb-estimate: {error}") from None
    return path


class Estimating:
    """Stands in for pytest's loop over the tests."""

    def __init__(self, options: Options, source: Path) -> None:
        self._options = options
        self._source = source
        self._texts: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            return None  # pytest says so
        tasks = Counter(item.stash[plan_key].task_id for item in session.items if plan_key in item.stash)
        self._texts = self._estimated(tasks)
        return True

    def _estimated(self, wanted: Mapping[str, int]) -> list[str]:
        from pytest_thinkingbox.records.store import CampaignFolder
        from pytest_thinkingbox.report.estimate import estimate_texts
        from pytest_thinkingbox.stats.cost import role_models
        from pytest_thinkingbox.stats.estimate import estimate

        options = self._options
        named = {"user_model": options.user_model, "judge_model": options.judge_model}
        found = estimate(
            wanted=wanted,
            rows=CampaignFolder.open(self._source).read_rows(),
            models=role_models(model=options.model, options=named),
            prices=options.prices,
        )
        if found is None:
            raise pytest.UsageError(
                f"--tb-estimate: {self._source} has no attempt of the tasks that were collected; play one of each "
                "with --tb-attempts=1, and name that campaign"
            )
        return estimate_texts(found, source=str(self._source), concurrency=options.concurrency)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        result = yield
        if self._texts:
            terminalreporter.section("thinkingbox: an estimate, nothing was played", sep="=")
            for text in self._texts:
                terminalreporter.write_line(text)
        return result
