"""What `thinkingbox prove` wrote down, as a gate: whether the checkers can be trusted as they are today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_thinkingbox.errors import ConfigurationError

_FILE = "proof.json"
_SHOWN = 3  # tasks named in a complaint


class _Mutant(BaseModel):
    model_config = ConfigDict(strict=True)
    fate: str


class _Task(BaseModel):
    model_config = ConfigDict(strict=True)
    task: str
    hashes: dict[str, str | None]
    problems: list[str]
    mutants: list[_Mutant]


class _Proof(BaseModel):
    model_config = ConfigDict(strict=True)
    version: int
    tasks: list[_Task]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """One task: `problems` make it refused, `killed` of `killed + survived` mutants were noticed."""

    hashes: Mapping[str, str | None]
    problems: tuple[str, ...]
    killed: int
    survived: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A stored proof; `digest` is the file's SHA-256."""

    path: Path
    digest: str
    tasks: Mapping[str, Proven]

    @property
    def solved(self) -> frozenset[str]:
        """Tasks that their reference solution solves, without a problem."""
        return frozenset(name for name, one in self.tasks.items() if not one.problems)

    def score(self, tasks: Iterable[str]) -> float | None:
        """Killed among killed and survived mutants of these tasks; None when there is neither."""
        found = [self.tasks[task] for task in tasks if task in self.tasks]
        killed, survived = sum(one.killed for one in found), sum(one.survived for one in found)
        return killed / (killed + survived) if killed + survived else None

    def complaints(self, hashes: Mapping[str, Mapping[str, str | None]], *, min_score: float) -> list[str]:
        """Why the proof does not hold for these tasks with these hashes; empty when it does."""
        missing = [task for task in hashes if task not in self.tasks]
        there = [task for task in hashes if task in self.tasks]
        refused = [task for task in there if self.tasks[task].problems]
        changed = [
            task
            for task in there
            if any(self.tasks[task].hashes.get(kind) != one for kind, one in hashes[task].items())
        ]
        lines = [
            f"{len(tasks)} of {len(hashes)} tasks {what}: {named(tasks)}"
            for tasks, what in (
                (missing, "are not in it"),
                (changed, "were changed since"),
                (refused, "were refused by it"),
            )
            if tasks
        ]
        score = self.score(hashes)
        if score is not None and score < min_score:
            lines.append(f"its score over these tasks is {score:.3f}, below {min_score:g}")
        return lines


def named(tasks: list[str]) -> str:
    rest = len(tasks) - _SHOWN
    return ", ".join(tasks[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def read_proof(path: Path) -> Proof:
    """A file, the folder of one proof, or a folder of proofs (`.thinkingbox/prove`) for the latest of them.

    Raises ConfigurationError.
    """
    file = _find(path)
    try:
        data = file.read_bytes()
        read = _Proof.model_validate_json(data)
    except OSError as error:
        raise ConfigurationError(
            f"{file}: {error.strerror}: `thinkingbox prove SUITE` writes a proof"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(f"{file} is no proof: {where}: {first['msg']}") from None
    return Proof(
        path=file,
        digest=sha256(data).hexdigest(),
        tasks={
            one.task: Proven(
                hashes=one.hashes,
                problems=tuple(one.problems),
                killed=sum(mutant.fate == "killed" for mutant in one.mutants),
                survived=sum(mutant.fate == "survived" for mutant in one.mutants),
            )
            for one in read.tasks
        },
    )


def _find(path: Path) -> Path:
    if path.is_dir() and not (path / _FILE).exists():
        found = sorted(path.glob(f"*/{_FILE}"))  # names of proofs begin with their time
        return found[-1] if found else path / _FILE
    return path / _FILE if path.is_dir() else path
