"""`--tb-resume` and `--tb-regrade`: a stored campaign goes on. Imports nothing heavy until one is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_thinkingbox.plugin.stash import backend_key, plan_key, work_key
from pytest_thinkingbox.plugin.stop import StopFlag
from pytest_thinkingbox.plugin.xdist import is_worker, worker_input

if TYPE_CHECKING:
    from pytest_thinkingbox.backends.base import Backend
    from pytest_thinkingbox.declare import Database
    from pytest_thinkingbox.plugin.collect import Plan
    from pytest_thinkingbox.plugin.options import Options
    from pytest_thinkingbox.records.resume import Decision, Stored

REFUSED = "refused"
"""The file in which a worker says why a campaign cannot go on."""
_NAMED = 5  # tasks in a refusal


def add_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--tb-resume",
        dest="tb_resume",
        default=None,
        metavar="DIR",
        help="Go on with the campaign in this folder (of a folder of campaigns, the latest): play only what is missing "
        "or invalid, and what started from another seed; grade again what another checker judged.",
    )
    group.addoption(
        "--tb-rerun-changed",
        dest="tb_rerun_changed",
        action="store_true",
        default=False,
        help="With --tb-resume: play attempts again whose prompt or environment is no longer the same, instead of "
        "refusing to go on.",
    )
    group.addoption(
        "--tb-regrade",
        dest="tb_regrade",
        default=None,
        metavar="DIR",
        help="Play nothing: grade the attempts of this campaign again with the checkers of today (the same as "
        "`thinkingbox regrade`).",
    )


def adopt(config: pytest.Config, options: Options) -> Options:
    """The options of a run that goes on with a campaign; as they are when none is named."""
    resumed, regraded = config.getoption("tb_resume"), config.getoption("tb_regrade")
    if config.getoption("tb_rerun_changed") and resumed is None:
        raise pytest.UsageError("--tb-rerun-changed belongs to --tb-resume=DIR")
    if resumed is not None and regraded is not None:
        raise pytest.UsageError("--tb-resume plays and --tb-regrade does not: name one of them")
    if resumed is None and regraded is None:
        return options
    from pytest_thinkingbox.plugin.work import Continued
    from pytest_thinkingbox.records.schema import BrokenRecords

    option = "--tb-resume" if regraded is None else "--tb-regrade"
    try:
        if is_worker(config):
            given = worker_input(config)["thinkingbox_continued"]
            folder, size = Path(given["folder"]), given["size"]
        else:
            folder, size = _take(config, config.invocation_params.dir / (regraded or resumed))
        options = replace(
            options,
            directory=folder.parent,
            continued=Continued(
                folder=folder,
                size=size,
                regrade=regraded is not None,
                rerun_changed=config.getoption("tb_rerun_changed"),
            ),
        )
        return _as_played(config, options) if regraded is not None else options
    except BlockingIOError:
        raise pytest.UsageError(
            f"{option}: {regraded or resumed} is still being worked on by another run; wait until it ends"
        ) from None
    except (BrokenRecords, OSError) as error:
        raise pytest.UsageError(f"{option}: {error}") from None


def _take(config: pytest.Config, given: Path) -> tuple[Path, int]:
    """The folder of the campaign, which no other run may have, and the size of its whole records."""
    from pytest_thinkingbox.records.running import Running
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign

    folder = CampaignFolder.open(find_campaign(given).resolve())
    folder.read_info()
    config.add_cleanup(Running(folder.path, alone=True).close)
    StopFlag(folder.path).lower()
    StopFlag(folder.path, REFUSED).lower()
    return folder.path, folder.mend()


def _as_played(config: pytest.Config, options: Options) -> Options:
    """Who acted and how often, from the campaign itself."""
    from pytest_thinkingbox.records.store import CampaignFolder
    from pytest_thinkingbox.stats.cost import stored_prices

    assert options.continued is not None
    info = CampaignFolder.open(options.continued.folder).read_info()
    known = info.options
    baseline = known.get("baseline")
    own_drop = options.baseline is not None or config.getoption("tb_max_drop") is not None
    return replace(
        options,
        attempts=max(info.tasks.values(), default=1),
        agent=info.agent,
        model=info.model,
        seed=info.seed,
        purpose=info.purpose,
        user_model=known.get("user_model"),
        judge_model=known.get("judge_model"),  # whose answers are in the folder
        # That of the campaign may be a URL whose password was not written down.
        backend=options.backend if config.getoption("tb_backend") else str(known["backend"]),
        timeout=known.get("timeout"),
        min_pass_rate=info.min_pass_rate if options.min_pass_rate is None else options.min_pass_rate,
        min_reliable=known.get("min_reliable") if options.min_reliable is None else options.min_reliable,
        baseline=Path(baseline) if options.baseline is None and baseline is not None else options.baseline,
        max_drop=options.max_drop if own_drop else known["max_drop"],
        prices=options.prices or stored_prices(info, where=f"{options.continued.folder}: prices"),
    )


def check_same(options: Options) -> None:
    """Raises UsageError when attempts that are played now would not belong to the same campaign."""
    from pytest_thinkingbox.plugin.start import described
    from pytest_thinkingbox.records.redact import Redactor
    from pytest_thinkingbox.records.resume import mismatches
    from pytest_thinkingbox.records.store import CampaignFolder

    assert options.continued is not None
    folder = options.continued.folder
    as_written = replace(options, backend=Redactor(urls=[options.backend]).text(options.backend))
    lines = mismatches(CampaignFolder.open(folder).read_info(), described(folder.name, as_written))
    if lines:
        raise pytest.UsageError(
            "\n  ".join([f"--tb-resume: {folder} was played otherwise:", *lines])
            + "\nName the same, or leave --tb-resume out for a new campaign."
        )


class Selection:
    """Leaves only those attempts among the items that there is something to do for."""

    def __init__(self, options: Options) -> None:
        assert options.continued is not None
        self._options = options
        self._continued = options.continued
        self._backend: Backend | None = None
        self._config: pytest.Config | None = None
        self._databases: list[Database] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        from pytest_thinkingbox.errors import ConfigurationError
        from pytest_thinkingbox.plugin.work import Work
        from pytest_thinkingbox.records.resume import stored_attempts
        from pytest_thinkingbox.records.store import CampaignFolder

        self._config = config
        self._databases = [
            item.stash[plan_key].task.environment.database for item in items if plan_key in item.stash
        ]
        stored = stored_attempts(CampaignFolder.open(self._continued.folder), until=self._continued.size)
        left: list[pytest.Item] = []
        kept: list[pytest.Item] = []
        refused: dict[str, str] = {}
        try:
            for item in items:
                plan = item.stash.get(plan_key, None)
                if plan is None:
                    (kept if self._continued.regrade else left).append(item)
                    continue
                known = stored.get((plan.task_id, plan.attempt))
                decision = self._decide(plan, known)
                if decision.act == "refuse":
                    refused[plan.task_id] = decision.why
                elif decision.act == "keep":
                    kept.append(item)
                else:
                    left.append(item)
                    item.stash[work_key] = Work(
                        played=0 if known is None else known.tries,
                        stored=known if decision.act == "regrade" else None,
                    )
        except ConfigurationError as error:
            self._refuse(config, items, str(error))
            return
        if refused:
            self._refuse(config, items, self._refusal(refused))
            return
        if kept:
            config.hook.pytest_deselected(items=kept)
            items[:] = left

    def _decide(self, plan: Plan, stored: Stored | None) -> Decision:
        from pytest_thinkingbox.plugin.record import hashes_of
        from pytest_thinkingbox.records.resume import decide, decide_regrade

        if self._continued.regrade:
            return decide_regrade(stored, self._seed_of(plan))
        now = hashes_of(plan, seed=None)
        return decide(stored, now, self._seed_of(plan), rerun_changed=self._continued.rerun_changed)

    def _seed_of(self, plan: Plan) -> Callable[[Sequence[str]], str]:
        from pytest_thinkingbox.errors import ConfigurationError
        from pytest_thinkingbox.plugin.record import started_from

        environment = plan.task.environment

        def seed_of(volatile: Sequence[str]) -> str:
            backend = self._get_backend()
            if tuple(volatile) == tuple(environment.database.volatile):
                return started_from(plan, backend.seed_hash(environment))
            database = replace(environment.database, volatile=tuple(volatile))
            try:
                return started_from(plan, backend.seed_hash(replace(environment, database=database)))
            except ConfigurationError:  # a pattern of then names no column of now: another schema
                return ""

        return seed_of

    def _get_backend(self) -> Backend:
        """The one that the episodes will use, on a server as all environments want it."""
        from pytest_thinkingbox.plugin.servers import open_backend, start_server

        if self._backend is None:
            assert self._config is not None
            url, revive = start_server(self._config, self._databases) or (self._options.backend, None)
            self._backend = open_backend(self._config, url, revive)
            self._config.stash[backend_key] = self._backend
            self._config.add_cleanup(self._backend.close)
        return self._backend

    def _refusal(self, refused: dict[str, str]) -> str:
        regrade = self._continued.regrade
        lines = [f"{'regrade' if regrade else '--tb-resume'}: {self._continued.folder}"]
        for why, number in Counter(refused.values()).items():
            tasks = [task for task, reason in refused.items() if reason == why]
            named = ", ".join(tasks[:_NAMED]) + (", ..." if number > _NAMED else "")
            lines.append(
                f"{number} {'task' if number == 1 else 'tasks'} with another {why} than then: {named}"
            )
        lines.append(
            "The final states cannot be made again from another seed: put it back, or play the attempts again with "
            "--tb-resume."
            if regrade
            else "Their attempts no longer answer the same question: put it back, play them again with "
            "--tb-rerun-changed, or leave --tb-resume out for a new campaign."
        )
        return "\n  ".join(lines)

    def _refuse(self, config: pytest.Config, items: list[pytest.Item], why: str) -> None:
        items[:] = []
        if not is_worker(config):
            raise pytest.UsageError(why)
        StopFlag(self._continued.folder, REFUSED).raise_(why)
