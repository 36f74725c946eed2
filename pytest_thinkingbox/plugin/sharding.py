"""`--tb-shard`: one campaign on several machines, each of which plays its part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_thinkingbox.plugin.stash import plan_key

if TYPE_CHECKING:
    from pytest_thinkingbox.records.shards import Shard


def add_option(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--tb-shard",
        dest="tb_shard",
        default=None,
        metavar="PART",
        help="For example 3/8: play part 3 of 8 of the attempts. `thinkingbox merge` puts them together. "
        "Ordinary tests run in part 1.",
    )


def shard_of(config: pytest.Config) -> Shard | None:
    given = config.getoption("tb_shard")
    if given is None:
        return None
    from pytest_thinkingbox.records.shards import Shard

    try:
        return Shard.parse(given)
    except ValueError:
        raise pytest.UsageError(
            f"--tb-shard: {given!r} must be I/N with I from 1 to N, for example 3/8"
        ) from None


class Sharding:
    """Leaves the attempts of one shard."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept: list[pytest.Item] = []
        left_out: list[pytest.Item] = []
        for item in items:
            plan = item.stash.get(plan_key, None)
            mine = self._shard.number == 1 if plan is None else self._shard.holds(plan.task_id, plan.attempt)
            (kept if mine else left_out).append(item)
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = kept
