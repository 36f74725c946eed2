"""A real `thinkingbox serve` for tests: a process, a socket, a tiny model."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    """Of a process with the code of this tree, that reaches no hub."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "editable")])
    return {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


class Server:
    """`log` is what it said on standard error, once it has ended."""

    def __init__(self, checkpoint: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "pytest_thinkingbox.cli",
                "serve",
                str(checkpoint),
                "--port=0",
                *arguments,
            ],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/v1", self.said)
        assert found is not None, self.process.communicate()[1]
        self.url = found[0]
        self.name = str(checkpoint)
        self.log = ""

    def ask(self, prompt: Any, **fields: Any) -> httpx.Response:
        body = {"model": self.name, "prompt": prompt, "return_token_ids": True, **fields}
        return httpx.post(f"{self.url}/completions", json=body, timeout=120)

    def ids(self, prompt: list[int], **fields: Any) -> list[int]:
        answer = self.ask(prompt, **fields)
        assert answer.status_code == 200, answer.text
        ids: list[int] = answer.json()["choices"][0]["token_ids"]
        return ids

    def end(self, number: int = signal.SIGTERM) -> int:
        """The exit status."""
        self.process.send_signal(number)
        _, self.log = self.process.communicate(timeout=20)
        return self.process.returncode


@contextmanager
def running(checkpoint: Path, *arguments: str) -> Iterator[Server]:
    server = Server(checkpoint, *arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()
