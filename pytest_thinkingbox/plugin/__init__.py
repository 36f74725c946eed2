"""The pytest plugin. Importing it imports nothing that a project without tasks would pay for."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from pytest_thinkingbox.plugin.campaign import NODE, Campaign, Nobody
from pytest_thinkingbox.plugin.collect import Collection
from pytest_thinkingbox.plugin.continuing import Selection
from pytest_thinkingbox.plugin.dataset import collection_of
from pytest_thinkingbox.plugin.estimating import Estimating
from pytest_thinkingbox.plugin.fixtures import Fixtures
from pytest_thinkingbox.plugin.garbage import FewerCollections
from pytest_thinkingbox.plugin.once import Restored
from pytest_thinkingbox.plugin.options import add_options, resolve
from pytest_thinkingbox.plugin.sharding import Sharding
from pytest_thinkingbox.plugin.stash import campaign_key, label_key, options_key, plan_key, runner_key
from pytest_thinkingbox.plugin.xdist import XdistHooks, is_worker, runs_workers, worker_input

if TYPE_CHECKING:
    from pytest_thinkingbox.plugin.runner import Runner


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.option.tb_prove or config.option.tb_proof_plan is not None:  # it may stand in addopts
        return None
    from pytest_thinkingbox.proof.drive import prove

    own = ("--tb-prove", "--tb-min-score")
    arguments: list[str] = []
    given = iter(map(str, config.invocation_params.args))
    for one in given:
        if one == "--tb-min-score":
            next(given, None)
        elif one.partition("=")[0] not in own:
            arguments.append(one)
    return prove(
        arguments,
        directory=config.rootpath / (config.option.tb_dir or ".thinkingbox"),
        min_score=config.option.tb_min_score,
        cwd=config.invocation_params.dir,
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "thinkingbox(attempts=N): on every task, so that -m selects tasks; with attempts=N a task, class or module "
        "runs N times whatever --tb-attempts says.",
    )
    options = resolve(config)
    config.stash[options_key] = options
    config.pluginmanager.register(Collection(), "thinkingbox-collection")
    config.pluginmanager.register(Fixtures(), "thinkingbox-fixtures")
    dataset = collection_of(config)
    if dataset is not None:
        config.pluginmanager.register(dataset, "thinkingbox-dataset")
    if options.shard is not None:
        config.pluginmanager.register(Sharding(options.shard), "thinkingbox-sharding")
    if options.continued is not None:
        config.pluginmanager.register(Selection(options), "thinkingbox-selection")
    if options.agent is not None:
        from pytest_thinkingbox.plugin.printable import PrintableReports

        config.pluginmanager.register(PrintableReports(config), "thinkingbox-printable")
    if is_worker(config):
        config.stash[campaign_key] = worker_input(config)["thinkingbox_campaign"]
        config.stash[label_key] = worker_input(config)["thinkingbox_label"]
        if "thinkingbox_tools" in worker_input(config):
            from pytest_thinkingbox.plugin.servers import take_plan

            take_plan(config)
        return
    config.stash[campaign_key] = (
        _campaign_name() if options.continued is None else options.continued.folder.name
    )
    config.stash[label_key] = f"{config.stash[campaign_key]}-{_token(4)}"
    if options.judged_by is not None:
        config.pluginmanager.register(Estimating(options, options.judged_by), "thinkingbox-estimating")
    elif options.agent is not None:
        from pytest_thinkingbox.plugin.servers import plan_server

        plan_server(config, options, label=config.stash[label_key])
    if options.agent is None:
        config.pluginmanager.register(Nobody(), "thinkingbox-nobody")
    else:
        campaign = Campaign(config=config, options=options, name=config.stash[campaign_key])
        config.pluginmanager.register(campaign, "thinkingbox-campaign")
        config.pluginmanager.register(campaign.once, "thinkingbox-once")
        config.pluginmanager.register(Restored(campaign.once), "thinkingbox-restored")
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(XdistHooks(), "thinkingbox-xdist")


def _campaign_name() -> str:
    import time

    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{_token(3)}"


def _token(length: int) -> str:
    import secrets

    return secrets.token_hex(length)


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    if runner_key in config.stash:  # a held session has one of its own
        return
    options = config.stash[options_key]
    if options.agent is None or config.option.collectonly or config.option.setupplan:
        return
    if options.judged_by is not None:
        return
    ends = session.testsfailed and not config.option.continue_on_collection_errors
    if ends and not is_worker(config):  # workers run what they are given all the same
        return
    if runs_workers(config) or not any(plan_key in item.stash for item in session.items):
        return
    config.pluginmanager.register(_make_runner(session), "thinkingbox-runner")
    config.pluginmanager.register(FewerCollections(), "thinkingbox-garbage")


def _make_runner(session: pytest.Session) -> Runner:
    from pytest_thinkingbox.plugin.start import make_runner

    return make_runner(session)


def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> list[str] | None:
    # Whoever compares changes or mails has loaded the module that explains them.
    explain = sys.modules.get("pytest_thinkingbox.state.explain")
    explained: list[str] | None = None if explain is None else explain.explain_comparison(op, left, right)
    runner = config.stash.get(runner_key, None)
    if explained is not None and runner is not None:
        runner.explained(explained)
    return explained


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if plan_key in item.stash:
        idle = item.config.stash[options_key].agent is None
        if not idle:
            report.__dict__.setdefault(
                NODE, "skipped" if report.skipped and call.when == "setup" else "attempt"
            )
        elif call.when == "setup":
            report.__dict__[NODE] = "idle"
    return report
