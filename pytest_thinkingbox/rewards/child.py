"""The child process of a `Grader`: pickles in on stdin, pickles out on what was stdout.

    python -m pytest_thinkingbox.rewards.child FOLDER ARGUMENT_OF_PYTEST...

The first message out is the list of tasks or a `Broken`; after it comes a `Verdict` for every `FinalState`.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from pytest_thinkingbox.episodes.final import FinalState
from pytest_thinkingbox.plugin.held import Broken, Held, hold

_STATE = 1 << 16
"""Bytes that are read at once: most states are larger than Python's own buffer."""
_GRACE = 10.0
"""Seconds that a checker may go on after the parent is gone."""


def main(folder: str, *arguments: str) -> None:
    jobs, answers = _own_streams()
    pending: queue.SimpleQueue[FinalState | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(jobs, pending), name="thinkingbox-jobs", daemon=True).start()
    ready = False

    def tell(message: object) -> None:
        pickle.dump(message, answers)
        answers.flush()

    def run(held: Held) -> None:
        nonlocal ready
        ready = True
        tell(held.tasks())
        while (state := pending.get()) is not None:
            tell(held.grade(state))

    held = Held(run, folder=Path(folder))
    status = hold(arguments, held)
    if not ready:
        tell(Broken("\n".join(held.broken) or f"pytest ended with exit status {status}"))


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """Stdin and stdout for ourselves: what a checker prints goes to stderr, and it reads nothing."""
    jobs, answers = os.fdopen(os.dup(0), "rb", _STATE), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return jobs, answers


def _read(jobs: BinaryIO, pending: queue.SimpleQueue[FinalState | None]) -> None:
    while True:
        try:
            pending.put(pickle.load(jobs))  # from our own parent
        except EOFError:
            break
    pending.put(None)
    threading.Event().wait(_GRACE)
    os._exit(1)  # a checker hangs, and nobody is left who could end it


if __name__ == "__main__":
    main(*sys.argv[1:])
