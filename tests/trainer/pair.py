"""Two processes that wait for rank 0, which does what it is told: `freeze`, `die` or `raise`."""

from __future__ import annotations

import os
import signal
import sys
import time

from thinkingbox_trainer.ranks import Heartbeat, is_leader, join, lead


def work(what: str) -> str:
    if what == "later":
        time.sleep(6)  # longer than the patience: it is alive
        return "done"
    if what == "raise":
        raise OSError("no space left")
    os.kill(os.getpid(), {"freeze": signal.SIGSTOP, "die": signal.SIGKILL}[what])
    raise AssertionError


def main(what: str) -> None:
    join()
    with Heartbeat(every=0.5, patience=4, grace=1):
        print(lead((lambda: work(what)) if is_leader() else None))


if __name__ == "__main__":
    main(*sys.argv[1:])
