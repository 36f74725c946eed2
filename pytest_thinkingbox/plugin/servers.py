"""What a campaign starts for itself, whatever the number of its processes: a database server, containers of tools."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_thinkingbox.plugin.stash import label_key, server_key, tools_key
from pytest_thinkingbox.plugin.xdist import is_worker, processes, runs_workers, worker_input

if TYPE_CHECKING:
    from pytest_thinkingbox.backends.base import Backend
    from pytest_thinkingbox.backends.server.claims import Claim
    from pytest_thinkingbox.backends.server.plan import Revive, Say, ServerPlan
    from pytest_thinkingbox.declare import Database
    from pytest_thinkingbox.plugin.options import Options

_LOOK_SECONDS = 0.3
_OWN = re.compile(r"postgres(-embedded|:[^/\s]+)?|(mysql|mariadb)(:[^/\s]+)?")


def plan_server(config: pytest.Config, options: Options, *, label: str) -> None:
    """Decide where the campaign's server will be, and claim it and the containers of tools; in the process that the
    user started.

    The server is started by the first process that has a task to run.
    """
    if config.option.collectonly or config.option.setupplan:
        return
    from pytest_thinkingbox.backends.server.claims import Claim

    claim = config.stash[tools_key] = f"thinkingbox-{label}-tools"
    config.pluginmanager.register(_ToolsOwner(Claim(claim)), "thinkingbox-tools")
    if runs_workers(config):
        config.pluginmanager.register(_Listener(_said(claim)), "thinkingbox-said")
    if not is_own(options.backend):
        return
    from pytest_thinkingbox.backends.server.plan import ServerPlan

    plan = config.stash[server_key] = ServerPlan.make(options.backend, campaign=label)
    config.pluginmanager.register(_Owner(plan, Claim(plan.name)), "thinkingbox-server")


def is_own(spec: str) -> bool:
    """Whether `--tb-backend=spec` means a server that is started for the campaign, and ends with it."""
    return _OWN.fullmatch(spec) is not None


def take_plan(config: pytest.Config) -> None:
    """In a worker: what the controller decided."""
    claim = worker_input(config).get("thinkingbox_tools")
    if claim is not None:
        config.stash[tools_key] = claim
    given = worker_input(config).get("thinkingbox_server")
    if given is not None:
        from pytest_thinkingbox.backends.server.plan import ServerPlan

        config.stash[server_key] = ServerPlan.from_wire(given)


def start_server(config: pytest.Config, databases: Iterable[Database]) -> tuple[str, Revive] | None:
    """The URL of the campaign's own server, once it answers, and how to start it again; None when it has none.

    Raises ConfigurationError when it cannot be started.
    """
    plan = config.stash.get(server_key, None)
    if plan is None:
        return None
    from pytest_thinkingbox.backends import local_server, server_options

    server = local_server(plan)
    image, options = server_options(databases)
    ensure = partial(server.ensure, image=image, options=options, say=say_to(config))
    return ensure(), ensure


def open_backend(config: pytest.Config, url: str, revive: Revive | None) -> Backend:
    """`make_backend` in this process of the campaign."""
    from pytest_thinkingbox.backends import make_backend
    from pytest_thinkingbox.errors import ConfigurationError

    __tracebackhide__ = True  # pytest would show the URL with its password, here and on the way up to here
    label = config.stash[label_key]
    make = partial(make_backend, label=label, processes=processes(config), revive=revive)
    try:
        return make(url)
    except ConfigurationError as error:
        refused = str(error)
    if revive is None:
        raise ConfigurationError(refused)
    # It answered when this process started it: what another process played may have ended it since.
    try:
        return make(revive())
    except ConfigurationError as error:
        raise ConfigurationError(str(error)) from None


def say_to(config: pytest.Config) -> Say:
    """Tells the person who waits; a worker, which has no terminal, through the process that has one."""
    if is_worker(config):
        return partial(_pass_on, _said(config.stash[tools_key]))
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return lambda line: None
    write: Say = reporter.write_line
    return write


def _said(claim: str) -> Path:
    from pytest_thinkingbox.backends.server.claims import folder

    return folder() / f"{claim}.said"


def _pass_on(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


class _Listener:
    """Shows what workers say, while the process that the user started waits for them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shown = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="thinkingbox-said", daemon=True)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._write = say_to(session.config)
        self._thread.start()

    def _follow(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            self._show()

    def _show(self) -> None:
        if self._path.exists():
            lines = self._path.read_text(encoding="utf-8").splitlines()
            for line in lines[self._shown :]:
                self._write(line)
            self._shown = len(lines)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._thread.is_alive():
            self._ended.set()
            self._thread.join()
            self._show()
        self._path.unlink(missing_ok=True)


class _Owner:
    """Ends the server when pytest ends. Workers have ended by then."""

    def __init__(self, plan: ServerPlan, claim: Claim) -> None:
        self._plan = plan
        self._claim = claim

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from pytest_thinkingbox.backends.server.container import starts_of

        if starts_of(self._plan.name) > 1:
            terminalreporter.write_line(
                "thinkingbox: the database server broke down and was started again; what ran on it was played again"
            )

    def pytest_unconfigure(self) -> None:
        from pytest_thinkingbox.backends import local_server
        from pytest_thinkingbox.backends.server.claims import was_used

        try:
            if was_used(self._plan.name):
                local_server(self._plan).stop()
        finally:
            self._claim.release()


class _ToolsOwner:
    """Removes what is left of the containers of tools when pytest ends. Workers have ended by then."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim

    def pytest_unconfigure(self) -> None:
        from pytest_thinkingbox.tools.containers import remove_claimed

        try:
            remove_claimed(self._claim.name)
        finally:
            self._claim.release()
