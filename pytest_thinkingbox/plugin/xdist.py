"""What the plugin does with pytest-xdist, when it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScheduling
    from xdist.workermanage import WorkerController

from pytest_thinkingbox.plugin.stash import campaign_key, label_key, options_key, server_key, tools_key

WINDOW = 4
"""Episodes are started ahead for this many times as many items as play at once."""


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")  # xdist's documented way to tell


def worker_input(config: pytest.Config) -> dict[str, Any]:
    given: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]
    return given


def runs_workers(config: pytest.Config) -> bool:
    """Whether this process only hands items out."""
    return (
        bool(config.getoption("tx", None))
        and config.getoption("dist", "no") != "no"
        and not is_worker(config)
    )


def processes(config: pytest.Config) -> int:
    """How many processes run the tests of this campaign."""
    return int(worker_input(config)["workercount"]) if is_worker(config) else 1


def share(total: int, config: pytest.Config) -> int:
    """This process's share of a limit for the campaign."""
    if not is_worker(config):
        return total
    given = worker_input(config)
    workers = int(given["workercount"])
    rank = int(str(given["workerid"]).removeprefix("gw")) % workers
    return max(1, total // workers + (rank < total % workers))


class XdistHooks:
    """Registered on the controller when xdist is installed."""

    def pytest_configure_node(self, node: WorkerController) -> None:
        node.workerinput["thinkingbox_campaign"] = node.config.stash[campaign_key]
        node.workerinput["thinkingbox_label"] = node.config.stash[label_key]
        continued = node.config.stash[options_key].continued
        if continued is not None:
            node.workerinput["thinkingbox_continued"] = {
                "folder": str(continued.folder),
                "size": continued.size,
            }
        plan = node.config.stash.get(server_key, None)
        if plan is not None:
            node.workerinput["thinkingbox_server"] = plan.to_wire()
        claim = node.config.stash.get(tools_key, None)
        if claim is not None:
            node.workerinput["thinkingbox_tools"] = claim

    @pytest.hookimpl(tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> LoadScheduling | None:
        """Keep enough items queued at each worker that it can play ahead; only for `--dist load`."""
        if config.getoption("dist") != "load" or config.getoption("maxschedchunk") is not None:
            return None
        from xdist.scheduler import LoadScheduling

        options = config.stash[options_key]

        class DeepLoadScheduling(LoadScheduling):  # type: ignore[misc]  # xdist has no types
            def check_schedule(self, node: WorkerController, duration: float = 0) -> None:
                if node.shutting_down:
                    return
                if not self.pending:
                    node.shutdown()
                    return
                workers = len(self.node2pending)
                depth = max(2, WINDOW * options.concurrency // workers)
                # Near the end what is left is dealt out evenly, or one worker would sit on it alone.
                depth = min(depth, max(2, -(-self._open_items() // workers)))
                missing = depth - len(self.node2pending[node])
                if missing > 0:
                    self._send_tests(node, missing)

            def _open_items(self) -> int:
                return len(self.pending) + sum(len(items) for items in self.node2pending.values())

        return DeepLoadScheduling(config, log)
