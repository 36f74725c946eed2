"""The processes of a run: rank 0 plays and decides, the others wait for it, and none of them outlives another."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from accelerate import PartialState

from pytest_thinkingbox.errors import ThinkingboxError
from thinkingbox_trainer.fixed import ROLLOUT_SECONDS

_HERE, _DONE, _FAILED = 0, 1, 1 << 20
"""What a rank says at a meeting; the sum tells whether all are done, or any has failed."""
_Made = TypeVar("_Made")


class LeaderFailed(ThinkingboxError):
    """Rank 0 ended with this error."""


def is_leader() -> bool:
    return int(os.environ.get("RANK", "0")) == 0


def join() -> None:
    """Meet the other processes, where there are any."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        PartialState(cpu=not torch.cuda.is_available(), timeout=timedelta(seconds=ROLLOUT_SECONDS))


def leave() -> None:
    """Part from the other processes when all is done: a process that ends with its group open can be ended by a thread
    of torch (SIGABRT), and a launcher takes that for a failure of the run."""
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


def lead(work: Callable[[], _Made] | None) -> _Made:
    """What rank 0 makes with `work`, on every rank. Its error is raised there, and as LeaderFailed on the others."""
    box: list[Any] = [None, ""]
    failure: BaseException | None = None
    if _rank() == 0:
        assert work is not None
        try:
            box[0] = work()
        except BaseException as error:  # noqa: BLE001  (the others would wait for ever)
            box[1], failure = f"{type(error).__name__}: {error}", error
    if _ranks() > 1:
        dist.broadcast_object_list(box, src=0)
    if failure is not None:
        raise failure
    if box[1]:
        raise LeaderFailed(f"rank 0: {box[1]}")
    made: _Made = box[0]
    return made


def _rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def _ranks() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


class Heartbeat:
    """Every `every` seconds all ranks meet. When one says that it failed, or does not come for `patience` seconds, the
    others end: first as by SIGTERM, and `grace` seconds later at once, for a process that waits in a collective hears
    no signal.

    The meetings have threads and a group of their own, so that they go on while rank 0 plays for hours and the others
    wait, while a checkpoint is written, and in any collective of the training.
    """

    def __init__(self, *, every: float = 5.0, patience: float = 40.0, grace: float = 10.0) -> None:
        self._every = every
        self._patience = patience
        self._grace = grace
        self._ends = threading.Event()
        self._says = _HERE
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Heartbeat:
        if _ranks() > 1:
            group = dist.new_group(backend="gloo", timeout=timedelta(seconds=self._patience))
            self._thread = threading.Thread(
                target=self._beat, args=(group,), name="thinkingbox-heartbeat", daemon=True
            )
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._says = _DONE if kind is None else _FAILED
        self._ends.set()
        if self._thread is not None:
            # The others may have something to do yet, and would take a silence for a death.
            self._thread.join(None if kind is None else self._every + self._patience)

    def _beat(self, group: Any) -> None:
        while True:
            self._ends.wait(self._every)
            said = torch.tensor([self._says])
            try:
                dist.all_reduce(said, group=group)
            except Exception as error:  # noqa: BLE001  (whatever it is: a rank is not there)
                why = str(error).splitlines()[0][:200]
                self._end(f"another rank is gone, or did not answer for {self._patience:g} s ({why})")
                return
            if int(said) >= _FAILED:
                self._ends.wait(self._grace)  # the error may be known here too, and the clean-up under way
                self._end("another rank failed")
                return
            if int(said) == _DONE * _ranks():
                return

    def _end(self, why: str) -> None:
        if self._ends.is_set():
            return
        print(f"thinkingbox-train: rank {_rank()} ends: {why}", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        self._ends.wait(self._grace)
        if not self._ends.is_set():
            os._exit(1)
