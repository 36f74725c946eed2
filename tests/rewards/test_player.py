from __future__ import annotations

import subprocess
from shutil import which

import pytest

from pytest_thinkingbox.agents.tokens import Generation, TokensAgent
from pytest_thinkingbox.backends.server.claims import folder as folder_of_claims
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.rewards import Suite, load_suite
from pytest_thinkingbox.rewards.player import Player
from tests.conftest import SHOP
from tests.rewards.suites import forgotten, write_suite
from tests.support.servers import MARIADB_IMAGE, POSTGRES_IMAGE, need_image
from tests.tokens.tokenizer import END, ByteTokenizer

CLOSE = '<tool_call>{"name": "set_status", "arguments": {"order_id": 1, "status": "closed"}}</tool_call>'

OTHER = """
from dataclasses import replace
from twofold import *


def broken(connection):
    raise ValueError("there is nothing to load")


other = Environment(name="other", database=replace(shop.database, seed=broken), servers=[])


@shop.task("Close 1.")
def test_close(changes):
    assert changes == [Updated("orders", 1, status="closed")]


@other.task("Do nothing.", no_change=True)
def test_nothing(changes):
    assert changes == []
"""


class Closes:
    """Closes order 1 and says so, unless the seed is 13: then its endpoint is down."""

    async def generate(self, ids, *, seed, most):
        said = ByteTokenizer().decode(ids)
        return Generation(ByteTokenizer().encode(f"Closed.{END}" if "done" in said else CLOSE + END))

    def of(self, task):
        return self

    async def aclose(self):
        """Nothing is held."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = write_suite(tmp_path_factory.mktemp("suite"))
    with forgotten(made):
        yield made


@pytest.fixture(scope="module")
def suite(folder) -> Suite:
    with load_suite(cwd=folder, seconds=20) as loaded:
        yield loaded


def test_a_played_episode_is_graded_by_the_test_function(folder, suite):
    traces = {}
    agent = TokensAgent(
        Closes(),
        ByteTokenizer(),
        longest=10_000,
        answer=1000,
        keep=lambda request, trace: traces.update({(request.task_id, request.attempt): trace}),
    )
    player = Player([], agent, name="t", concurrency=4, cwd=folder)
    try:
        assert player.tasks == list(suite.tasks)
        tasks = ["test_shop.py::test_close", "test_shop.py::test_rows", "test_shop.py::test_each[2]"]
        episodes = [player.play(task, member=2, seed=5).result(timeout=30) for task in tasks]
        assert [suite.reward(task, one) for task, one in zip(tasks, episodes, strict=True)] == [1.0, 1.0, 0.0]
        assert [one.lease for one in episodes] == [None] * 3
        assert ByteTokenizer().decode(traces[tasks[0], 2].completion).endswith(f"assistant\nClosed.{END}")
    finally:
        player.close()


def test_a_suite_that_cannot_be_collected_says_why(tmp_path):
    (tmp_path / "test_broken.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    agent = TokensAgent(Closes(), ByteTokenizer(), longest=10, answer=10)
    with pytest.raises(ConfigurationError, match="No module named 'nothing_of_this_name'"):
        Player(["test_broken.py"], agent, name="t", concurrency=1, cwd=tmp_path)


def test_every_seed_loads_before_the_policy_is_asked(tmp_path):
    """Also that of a task which is not played yet."""
    (tmp_path / "twofold.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "test_twofold.py").write_text(OTHER, encoding="utf-8")
    with forgotten(tmp_path):
        player = Player(
            [],
            TokensAgent(Closes(), ByteTokenizer(), longest=10_000, answer=1000),
            name="t",
            concurrency=1,
            cwd=tmp_path,
        )
        try:
            with pytest.raises(ConfigurationError, match=r"seed test_twofold\.broken .* does not load"):
                player.play("test_twofold.py::test_close", member=1, seed=5).result(timeout=30)
        finally:
            player.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgres-embedded", POSTGRES_IMAGE, MARIADB_IMAGE])
def test_a_server_of_the_campaigns_own_is_started_for_training_and_ends_with_it(folder, kind):
    if ":" in kind:
        need_image(kind, f"THINKINGBOX_{kind.partition(chr(58))[0].upper()}_IMAGE")
    agent = TokensAgent(Closes(), ByteTokenizer(), longest=10_000, answer=1000)
    arguments = [f"--tb-backend={kind}", "-k", "test_close or test_rows"]
    with load_suite(arguments=arguments, seconds=60, cwd=folder) as suite:
        player = Player(arguments, agent, name="own-server", concurrency=2, cwd=folder)
        try:
            played = [player.play(one, member=1, seed=1).result(timeout=120) for one in player.tasks]
            assert [one.detail for one in played] == ["", ""]
            assert [suite.reward(one.request.task_id, one) for one in played] == [1.0, 1.0]
            assert list(folder_of_claims().glob("thinkingbox-own-server-*.claim"))
        finally:
            player.close()
    assert not list(folder_of_claims().glob("thinkingbox-own-server-*"))
    assert not containers("thinkingbox-own-server-")


def containers(name: str) -> list[str]:
    if which("docker") is None:
        return []
    listed = subprocess.run(
        ["docker", "ps", "-aq", "--filter", f"name={name}"], capture_output=True, text=True, check=False
    )
    return listed.stdout.split()
