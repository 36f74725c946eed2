"""A real, tiny model behind a real server, evaluated by a real pytest."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("transformers", reason="transformers is not installed (dependency group `train`)")

from transformers import AutoTokenizer

from pytest_thinkingbox.tokens.chat import Chat
from tests.trainer.served import environment, running
from tests.trainer.tiny import write_world

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]


def test_a_served_checkpoint_is_evaluated_by_token_ids(tmp_path):
    write_world(tmp_path)
    tiny = tmp_path / "tiny"
    with running(tiny) as server:
        done = subprocess.run(
            [
                sys.executable, "-m", "pytest", "test_shop.py::test_one", "--tb-attempts=3", "--tb-agent=tokens",
                f"--tb-model={tiny}", f"--tb-base-url={server.url}", '--tb-extra-body={"max_tokens": 24}',
                "-p", "no:cacheprovider",
            ],
            cwd=tmp_path / "suite", env=environment(), capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert server.end() == 0
    assert done.returncode in (0, 1), done.stdout + done.stderr  # a random model passes by chance
    [lines] = (tmp_path / "suite").glob(".thinkingbox/*/attempts.jsonl")
    records = [json.loads(one) for one in lines.read_text().splitlines()]
    assert sorted(one["attempt"] for one in records) == [1, 2, 3]
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    chat = Chat(tokenizer)
    for record in records:
        assert record["outcome"] in ("passed", "failed")
        assert record["stop_reason"] in ("done", "output_limit")
        assert record["chat"] == chat.hash
        usage = record["usage"]["agent"]
        assert usage["input_tokens"] > 100
        assert 1 <= usage["output_tokens"] <= 24 * usage["requests"]
    assert len({one["response"] for one in records}) > 1  # attempts have seeds of their own
