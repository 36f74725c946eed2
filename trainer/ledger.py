"""What a run has spent: a line for each episode that was begun and for each that ended, never taken back.

Episodes of a step that was begun and not kept - the process ended in it, or after it and before a checkpoint - stay in
the ledger. A line says in which session it was written; a session begins with the step that it begins from: every step
of an earlier session from there on was played for nothing.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_thinkingbox.episodes.model import Episode

Stage = Literal["train", "reprobe"]


@dataclass(slots=True, kw_only=True)
class Spent:
    """Of some episodes. `unknown` were begun and not seen to end, or their endpoint did not say what they took."""

    begun: int = 0
    ended: int = 0
    invalid: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    others_tokens: int = 0
    """Of the models that play users and answer judges' questions, in and out."""
    unknown: int = 0


@dataclass(slots=True, kw_only=True)
class Totals:
    """`kept` are the episodes of steps that the policy was trained on, `discarded` those of half steps and of steps
    that were done again."""

    kept: Spent = field(default_factory=Spent)
    discarded: Spent = field(default_factory=Spent)
    reprobed: Spent = field(default_factory=Spent)
    """Episodes that were not trained on: they told how hard the tasks of the pool are by now."""
    sessions: int = 0

    def __str__(self) -> str:
        both = self.kept.begun + self.discarded.begun
        shown = [f"{both} episodes begun", f"{self.kept.begun} of them in steps that count"]
        shown.append(f"{self.kept.output_tokens + self.discarded.output_tokens} tokens written")
        if self.reprobed.begun:
            shown.append(
                f"apart from {self.reprobed.begun} that probed the pool again, with "
                f"{self.reprobed.output_tokens} tokens"
            )
        if unknown := self.kept.unknown + self.discarded.unknown + self.reprobed.unknown:
            shown.append(f"the tokens of {unknown} episodes are unknown")
        return ", ".join(shown)


class Ledger:
    """The file `ledger.jsonl` of a run. Any thread may write."""

    def __init__(self, path: Path, *, step: int) -> None:
        """`step` is the one that this session begins with."""
        self._path = path
        self.session = 1 + sum(line["event"] == "session" for line in _lines(path))
        torn = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
        self._file = path.open("a", encoding="utf-8")
        if torn:
            self._file.write("\n")
        self._lock = threading.Lock()
        self._write({"event": "session", "step": step})

    def begun(self, step: int, task: str, member: int, attempt: int, *, stage: Stage = "train") -> None:
        named = {"step": step, "task": task, "member": member, "try": attempt, "stage": stage}
        self._write({"event": "begun", **named})

    def ended(
        self,
        step: int,
        task: str,
        member: int,
        attempt: int,
        *,
        episode: Episode,
        reward: float | None,
        stage: Stage = "train",
    ) -> None:
        usage = {role: asdict(one) for role, one in episode.conversation.usage.items()}
        named = {"step": step, "task": task, "member": member, "try": attempt, "stage": stage}
        self._write({"event": "ended", **named, "reward": reward, "cause": episode.cause, "usage": usage})

    def totals(self) -> Totals:
        return totals(self._path)

    def close(self) -> None:
        """What ends after that is an episode that was begun and not seen to end."""
        with self._lock:
            self._file.close()

    def _write(self, event: dict[str, Any]) -> None:
        line = json.dumps({"time": time.time(), "session": self.session, **event})
        with self._lock:
            if not self._file.closed:
                self._file.write(line + "\n")
                self._file.flush()


def totals(path: Path) -> Totals:
    lines = list(_lines(path))
    sessions = [line for line in lines if line["event"] == "session"]
    made = Totals(sessions=len(sessions))

    def spent(line: dict[str, Any]) -> Spent:
        if line.get("stage") == "reprobe":
            return made.reprobed
        again = any(one["session"] > line["session"] and one["step"] <= line["step"] for one in sessions)
        return made.discarded if again else made.kept

    for line in lines:
        if line["event"] == "begun":
            spent(line).begun += 1
        elif line["event"] == "ended":
            _add(spent(line), line)
    for one in (made.kept, made.discarded, made.reprobed):
        one.unknown += one.begun - one.ended
    return made


def _add(spent: Spent, line: dict[str, Any]) -> None:
    spent.ended += 1
    spent.invalid += line["reward"] is None
    for role, usage in line["usage"].items():
        asked = [usage["input_tokens"], usage["output_tokens"]]
        if usage["requests"] and None in asked:
            spent.unknown += 1
        elif role == "agent":
            spent.input_tokens += asked[0] or 0
            spent.output_tokens += asked[1] or 0
        else:
            spent.others_tokens += sum(one or 0 for one in asked)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Without those that a killed process left half written."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                continue
