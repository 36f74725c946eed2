"""A policy evaluated as anybody would: `thinkingbox serve` and `pytest --tb-agent=tokens`, both as processes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_thinkingbox.records.store import CampaignFolder, find_campaign
from pytest_thinkingbox.stats.counts import TaskCounts, count_tasks

_URL = re.compile(r"http://127\.0\.0\.1:\d+/v1")


def evaluated(
    policy: Path, *, suite: Path, tasks: Sequence[str], attempts: int, seed: int, answer: int, records: Path
) -> list[TaskCounts]:
    """Counts of these tasks; the campaign stays in `records`. Raises SystemExit with what pytest said when there is
    no verdict."""
    shutil.rmtree(records, ignore_errors=True)  # measured afresh, also by who comes a second time
    # Attempts are parameters too: a node id without one names no item.
    names = [one.partition("[")[2].removesuffix("]") for one in tasks]
    parts = " ".join(sorted({one.partition("-")[0] for one in names}))
    with served(policy) as url:
        done = subprocess.run(
            [
                sys.executable, "-m", "pytest", "-k", " or ".join(names), "--tb-agent=tokens", f"--tb-model={policy}",
                f"--tb-base-url={url}", f"--tb-attempts={attempts}", f"--tb-seed={seed}", "--tb-concurrency=64",
                f"--tb-extra-body={json.dumps({'max_tokens': answer})}", f"--tb-dir={records}",
                "--tb-min-pass-rate=0", "-q", "--tb=no", "-p", "no:cacheprovider",
            ],
            cwd=suite,
            env={**os.environ, "LEARNING_PARTS": parts},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return count_tasks(rows=_campaign(records).read_rows(), requested=dict.fromkeys(tasks, attempts))


def demand_same_chat(*campaigns: Path) -> None:
    """Raises SystemExit unless one `Chat` showed and read all conversations of these campaigns."""
    chats = {one.chat for records in campaigns for one in _campaign(records).read_records()}
    if len(chats) != 1 or None in chats:
        raise SystemExit(f"{' and '.join(map(str, campaigns))} have {len(chats)} interpretations: {chats}")


def _campaign(records: Path) -> CampaignFolder:
    [info] = records.glob("*/campaign.json")
    return CampaignFolder.open(find_campaign(info.parent))


@contextmanager
def served(policy: Path) -> Iterator[str]:
    """The URL at which it is served."""
    server = subprocess.Popen(
        [sys.executable, "-m", "pytest_thinkingbox.cli", "serve", str(policy), "--port=0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    try:
        assert server.stdout is not None
        said = server.stdout.readline()
        found = _URL.search(said)
        if found is None:
            raise SystemExit(f"thinkingbox serve {policy} did not say where it listens: {said!r}")
        yield found[0]
    finally:
        server.terminate()
        server.communicate()
