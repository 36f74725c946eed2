from __future__ import annotations

from pathlib import Path

import pytest

from pytest_thinkingbox.agents.tokens import TokensAgent
from pytest_thinkingbox.rewards.player import Player
from tests.rewards.suites import forgotten, write_suite
from tests.rewards.test_player import Closes
from tests.tokens.tokenizer import ByteTokenizer


@pytest.mark.slow
def test_the_hash_of_a_task_changes_with_what_its_attempts_depend_on(tmp_path):
    given = hashes(tmp_path / "given")
    assert hashes(tmp_path / "same") == given
    assert len(set(given.values())) == len(given)
    checker = hashes(tmp_path / "checker", ("attempt.credit(0.25)", "attempt.credit(0.5)"))
    assert {task for task in given if checker[task] != given[task]} == {"test_shop.py::test_credit"}
    rows = hashes(tmp_path / "rows", ('"status": "open"', '"status": "new"'))
    assert all(rows[task] != given[task] for task in given)


def hashes(folder: Path, *changes: tuple[str, str]) -> dict[str, str]:
    folder.mkdir()
    write_suite(folder)
    for path in folder.glob("*.py"):
        text = path.read_text("utf-8")
        for old, new in changes:
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    with forgotten(folder):
        player = Player(
            [],
            TokensAgent(Closes(), ByteTokenizer(), longest=10, answer=10),
            name="t",
            concurrency=1,
            cwd=folder,
        )
        player.close()
        return player.hashes()
