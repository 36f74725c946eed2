"""Every StashKey of the plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_thinkingbox.backends.base import Backend
    from pytest_thinkingbox.backends.server.plan import ServerPlan
    from pytest_thinkingbox.compat.servers import Servers
    from pytest_thinkingbox.plugin.collect import Plan
    from pytest_thinkingbox.plugin.options import Options
    from pytest_thinkingbox.plugin.runner import Run, Runner
    from pytest_thinkingbox.plugin.work import Work

options_key: pytest.StashKey[Options] = pytest.StashKey()
campaign_key: pytest.StashKey[str] = pytest.StashKey()
label_key: pytest.StashKey[str] = pytest.StashKey()
"""What databases and servers of this run of pytest are called by, in all its processes and in no other run."""
plan_key: pytest.StashKey[Plan] = pytest.StashKey()
run_key: pytest.StashKey[Run] = pytest.StashKey()
work_key: pytest.StashKey[Work] = pytest.StashKey()
backend_key: pytest.StashKey[Backend] = pytest.StashKey()
runner_key: pytest.StashKey[Runner] = pytest.StashKey()
server_key: pytest.StashKey[ServerPlan] = pytest.StashKey()
tools_key: pytest.StashKey[str] = pytest.StashKey()
"""What containers of tool servers are claimed by."""
servers_key: pytest.StashKey[Servers] = pytest.StashKey()
