"""Which shard of a campaign an attempt belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True, slots=True)
class Shard:
    """Number `number` of `of` shards, from 1."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """`3/8`. Raises ValueError."""
        number, slash, of = text.partition("/")
        shard = cls(int(number), int(of))
        if not slash or not 1 <= shard.number <= shard.of:
            raise ValueError(text)
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def holds(self, task: str, attempt: int) -> bool:
        """The attempts of a task go round the shards, whatever other tasks there are and in which order."""
        offset = crc32(task.encode("utf-8", "surrogatepass"))
        return (offset + attempt) % self.of == self.number - 1


def requested_of(tasks: Mapping[str, int], shard: str | None) -> dict[str, int]:
    """How many attempts of each task a campaign, or this shard of it, is to play."""
    return dict(Counter(task for task, _ in planned_of(tasks, shard)))


def planned_of(tasks: Mapping[str, int], shard: str | None) -> list[tuple[str, int]]:
    """Every task and attempt number that a campaign, or this shard of it, is to play."""
    one = Shard(1, 1) if shard is None else Shard.parse(shard)
    return [
        (task, attempt)
        for task, number in tasks.items()
        for attempt in range(1, number + 1)
        if one.holds(task, attempt)
    ]
