"""A held pytest session in a child process, ended and begun again when a checker hangs or kills it."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, BinaryIO

from pytest_thinkingbox.episodes.final import FinalState
from pytest_thinkingbox.episodes.model import ToolCall
from pytest_thinkingbox.episodes.outcomes import Verdict, invalid
from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.plugin.held import Broken, HeldTask
from pytest_thinkingbox.state.model import RowChange

CHECK_SECONDS = 60.0
"""How long a checker may take before it is taken for hung."""
START_SECONDS = 300.0
"""How long pytest may take to collect the suite."""
_FITS = 16_384
"""Bytes that a pipe takes without a reader, on any system that is supported. It is empty when a question is asked: the
one before was answered."""
_SAID = 4000  # characters of the child's own output in an error


class CannotGrade(ThinkingboxError):
    """pytest cannot collect the suite, its session does not start again, or it was closed."""


@dataclass(slots=True)
class _Child:
    process: subprocess.Popen[bytes]
    folder: Path
    questions: queue.SimpleQueue[bytes | None]
    answers: queue.SimpleQueue[object]

    def ask(self, question: bytes) -> None:
        """Never waits for a child that does not read: what fits into its empty pipe is written at once, the rest by a
        thread, which would cost every check a tenth of a millisecond."""
        if len(question) > _FITS:
            self.questions.put(question)
            return
        assert self.process.stdin is not None
        self.process.stdin.write(question)
        self.process.stdin.flush()

    def said(self) -> str:
        return (self.folder / "output.txt").read_text(encoding="utf-8", errors="backslashreplace")[-_SAID:]

    def end(self) -> None:
        """With what checkers have started in its process group; never waits for a checker."""
        if self.process.poll() is None:
            _kill(self.process)
        self.process.wait()
        self.questions.put(None)
        shutil.rmtree(self.folder, ignore_errors=True)


def _by_position(kind: type[Any]) -> Callable[[Any], tuple[type[Any], tuple[Any, ...]]]:
    values = attrgetter(*(one.name for one in fields(kind)))
    return lambda one: (kind, values(one))


_MADE_BY_A_CALL: dict[type, Callable[[Any], tuple[type[Any], tuple[Any, ...]]]] = {
    kind: _by_position(kind) for kind in (RowChange, ToolCall)
}
"""What a state has most of: frozen dataclasses with slots are pickled through Python code of their own, which took a
tenth of a check."""


def _question(state: FinalState) -> bytes:
    whole = io.BytesIO()
    pickler = pickle.Pickler(whole, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _MADE_BY_A_CALL
    pickler.dump(state)
    return whole.getvalue()


class _Gone(Exception):
    """The child has died."""


class Grader:
    """Grades final states with the test functions of a suite, one at a time, from any thread.

    `arguments` are pytest's, as on its command line: paths, `-k`, `-m`. `seconds` is how long one check may take.
    The child starts with the first question; `close` ends it.
    """

    def __init__(
        self, arguments: Sequence[str], *, seconds: float = CHECK_SECONDS, cwd: Path | None = None
    ) -> None:
        self.arguments = list(arguments)
        self.cwd = cwd or Path.cwd()
        self._seconds = seconds
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._tasks: list[HeldTask] = []
        self._closed = False
        self.restarts = 0
        """How often a child was lost to a checker."""

    def tasks(self) -> list[HeldTask]:
        """The tasks of the suite in the order of collection, without those that a mark skips.

        Raises CannotGrade when pytest cannot collect them.
        """
        with self._lock:
            self._running()
            return list(self._tasks)

    def grade(self, state: FinalState) -> Verdict:
        """The verdict of the task's test function. A checker that hangs or kills its process is invalid."""
        with self._lock:
            child = self._running()
            question = _question(state)
            try:
                child.ask(question)
                answer = _answer(child, self._seconds)
            except queue.Empty:
                self._lose()
                return invalid("checker", f"the checker did not end within {self._seconds:g} s")
            except (_Gone, BrokenPipeError):
                status = child.process.wait()
                self._lose()
                return invalid("crash", f"the checker ended its process with exit status {status}")
            except BaseException:  # its answer would be taken for that of the next question
                self._lose()
                raise
            assert isinstance(answer, Verdict)
            return answer

    def process_id(self) -> int:
        with self._lock:
            return self._running().process.pid

    def close(self) -> None:
        with self._lock:
            self._closed = True  # who waits to ask would begin a child that nobody ends
            child, self._child = self._child, None
            if child is None:
                return
            child.questions.put(None)
            with contextlib.suppress(subprocess.TimeoutExpired):  # fixtures are torn down
                child.process.wait(timeout=10)
            child.end()

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _lose(self) -> None:
        assert self._child is not None
        self._child.end()
        self._child = None
        self.restarts += 1

    def _running(self) -> _Child:
        if self._closed:
            raise CannotGrade(
                f"pytest {' '.join(self.arguments)} in {self.cwd} was ended: nothing is graded any more"
            )
        if self._child is None:
            child = _start(self.arguments, self.cwd)
            try:
                first = _answer(child, START_SECONDS)
            except (_Gone, queue.Empty) as error:
                what = "died" if isinstance(error, _Gone) else f"was not ready after {START_SECONDS:g} s"
                said = child.said()
                child.end()
                raise CannotGrade(
                    f"pytest {' '.join(self.arguments)} in {self.cwd} {what}:\n{said}"
                ) from None
            except BaseException:
                child.end()
                raise
            if isinstance(first, Broken):
                said = child.said()
                child.end()
                raise CannotGrade(
                    f"pytest {' '.join(self.arguments)} in {self.cwd}: {first.why}\n{said}".rstrip()
                )
            assert isinstance(first, list)
            if changed := _changed(self._tasks, first):
                child.end()
                raise CannotGrade(
                    f"pytest {' '.join(self.arguments)} in {self.cwd}: not the suite any more that was loaded: "
                    f"{', '.join(changed)}. What was graded before was graded by another test or on another seed: load "
                    "the suite anew"
                )
            self._child, self._tasks = child, first
        return self._child


def _changed(before: list[HeldTask], now: list[HeldTask]) -> list[str]:
    """The tasks that differ, or are in one of the two only; none where nothing was loaded before."""
    if not before:
        return []
    old, new = ({task.id: task for task in tasks} for tasks in (before, now))
    return [task for task in {**old, **new} if old.get(task) != new.get(task)]


def _start(arguments: list[str], cwd: Path) -> _Child:
    folder = Path(tempfile.mkdtemp(prefix="thinkingbox-rewards-"))
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest_thinkingbox.rewards.child", str(folder), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            cwd=cwd,
            start_new_session=True,
        )
    questions: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    answers: queue.SimpleQueue[object] = queue.SimpleQueue()
    assert process.stdin is not None
    assert process.stdout is not None
    threading.Thread(
        target=_tell, args=(process.stdin, questions, answers), name="thinkingbox-states", daemon=True
    ).start()
    threading.Thread(
        target=_listen, args=(process.stdout, answers), name="thinkingbox-verdicts", daemon=True
    ).start()
    return _Child(process, folder, questions, answers)


def _tell(
    stream: IO[bytes], questions: queue.SimpleQueue[bytes | None], answers: queue.SimpleQueue[object]
) -> None:
    try:
        with stream:
            while (question := questions.get()) is not None:
                stream.write(question)
                stream.flush()
    except OSError as error:  # its reader died, maybe in the middle of a question
        answers.put(error)


def _listen(stream: BinaryIO, answers: queue.SimpleQueue[object]) -> None:
    with stream:
        while True:
            try:
                answers.put(pickle.load(stream))  # from our own child
            except Exception as error:  # noqa: BLE001  (it ended, maybe in the middle of an answer)
                answers.put(error)
                return


def _answer(child: _Child, seconds: float) -> object:
    answer = child.answers.get(timeout=seconds)
    if isinstance(answer, Exception):
        raise _Gone from answer
    return answer


def _kill(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
