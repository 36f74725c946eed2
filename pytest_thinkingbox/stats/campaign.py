"""A campaign as one side of a comparison, and whether two of them asked the same question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_thinkingbox.records.model import AttemptRecord, AttemptRow, CampaignInfo, Hashes
from pytest_thinkingbox.records.store import rows_of
from pytest_thinkingbox.stats.cost import Cost, cost_of, models_of
from pytest_thinkingbox.stats.counts import TaskCounts, count_tasks
from pytest_thinkingbox.stats.prices import Prices, prices_from
from pytest_thinkingbox.stats.suite import reliable

_LISTED = 3  # tasks named in a mismatch
_NEVER = "purpose"
_OPTIONS = {
    "timeout": "limits",
    "temperature": "sampling",
    "extra_body": "sampling",
}
"""Under which key an option is compared; any other one under its own name."""
_HOW_IT_RAN = frozenset(
    {
        "api",
        "attempts",  # asked of each task: compared there
        "audit",
        "base_url",
        "baseline",
        "concurrency",
        "judge_base_url",
        "judge_model",  # compared, as is the prompt, where a judge was asked
        "judge_prompt",
        "keep",
        "max_cost",
        "max_drop",
        "max_tokens",
        "min_reliable",
        "prices",
        "retry_invalid",
        "tokenizer",  # what it comes to is compared as chat
        "user_base_url",
        "user_model",  # compared, as is the prompt, where a model played users
        "user_prompt",
    }
)
"""Options that say how a campaign ran and not what it asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """`tasks` are those that are not expected to fail; `seeds` the hashes of each task's start state."""

    info: CampaignInfo
    rows: tuple[AttemptRow, ...]
    tasks: tuple[TaskCounts, ...]
    seeds: Mapping[str, frozenset[str]]

    @property
    def attempts(self) -> int:
        """How many were asked for of most tasks."""
        return max((task.requested for task in self.tasks), default=0)

    @property
    def judged(self) -> frozenset[str]:
        """Tasks whose checker asked the judge, also if it only heard what was answered before."""
        return frozenset(row.task for row in self.rows if "judge" in row.usage)

    @property
    def roles(self) -> frozenset[str]:
        """Who asked a model."""
        return frozenset(role for row in self.rows for role, one in row.usage.items() if one.requests)

    def cost(self, prices: Prices) -> Cost:
        """At the prices given, else at those that the campaign was run with."""
        stored = prices_from(
            self.info.options.get("prices") or {}, where=f"campaign {self.info.campaign}: prices"
        )
        return cost_of(
            rows=self.rows,
            models=models_of(self.info),
            agent=self.info.agent,
            prices=prices or stored,
            reliable=reliable(tasks=self.tasks).low,
        )


def side_of(*, info: CampaignInfo, records: Iterable[AttemptRecord]) -> Side:
    """All tries of a campaign, read once."""
    seeds: dict[str, set[str]] = {}

    def noted() -> Iterator[AttemptRecord]:
        for record in records:
            if record.hashes.seed is not None:
                seeds.setdefault(record.task, set()).add(record.hashes.seed)
            yield record

    rows = rows_of(noted())
    return make_side(info=info, rows=rows, seeds={task: frozenset(found) for task, found in seeds.items()})


def make_side(*, info: CampaignInfo, rows: Sequence[AttemptRow], seeds: Mapping[str, frozenset[str]]) -> Side:
    counts = count_tasks(rows=rows, requested=info.tasks)
    return Side(
        info=info, rows=tuple(rows), tasks=tuple(task for task in counts if not task.xfail), seeds=seeds
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """What two campaigns did not have in common: `key` is what `--allow` takes, `text` says what differs."""

    key: str
    text: str

    @property
    def can_be_allowed(self) -> bool:
        """Probes chose the tasks, by chance among others: as a baseline they would show progress that is none."""
        return self.key != _NEVER

    @property
    def line(self) -> str:
        return f"{self.key}: {self.text}"


def mismatches(*, base: Side, new: Side) -> list[Mismatch]:
    """Everything that keeps the two from being comparable. Agent and model are what a comparison is about."""
    found: list[Mismatch] = []
    if base.info.purpose == "probe":
        found.append(Mismatch(key=_NEVER, text="the baseline is a probe, which never serves as one"))
    _tasks(found, base.info, new.info)
    for key, what, hash_of in (
        ("prompts", "prompt, user or limits", _prompt),
        ("environment", "instructions, tools or clock", _environment),
        ("checkers", "test function or its rules", _checker),
    ):
        _hashes(found, key, what, base.info, new.info, hash_of)
    _seeds(found, base, new)
    _options(found, base.info.options, new.info.options)
    roles = base.roles | new.roles
    before, after = models_of(base.info), models_of(new.info)
    for role in ("user", "judge"):
        if role in roles and before[role] != after[role]:
            found.append(Mismatch(key=role, text=f"played by model {before[role]} / {after[role]}"))
        prompt = f"{role}_prompt"
        if role in roles and base.info.options.get(prompt) != new.info.options.get(prompt):
            found.append(
                Mismatch(key=role, text="told otherwise what to do, by other versions of this package")
            )
    return found


def _tasks(found: list[Mismatch], base: CampaignInfo, new: CampaignInfo) -> None:
    for here, there, where in ((base, new, "base"), (new, base, "new")):
        if only := [task for task in here.tasks if task not in there.tasks]:
            found.append(Mismatch(key="tasks", text=f"{len(only)} only in {where}: {_named(only)}"))
    both = [task for task in base.tasks if task in new.tasks]
    differ = [task for task in both if base.tasks[task] != new.tasks[task]]
    if differ:
        first = differ[0]
        text = f"{len(differ)} of {len(both)} tasks, {base.tasks[first]} / {new.tasks[first]} of {first}"
        found.append(Mismatch(key="attempts", text=text))


def _hashes(
    found: list[Mismatch],
    key: str,
    what: str,
    base: CampaignInfo,
    new: CampaignInfo,
    hash_of: Callable[[Hashes], str | None],
) -> None:
    both = [task for task in base.task_hashes if task in new.task_hashes]
    differ = [task for task in both if hash_of(base.task_hashes[task]) != hash_of(new.task_hashes[task])]
    if differ:
        text = f"{what} of {len(differ)} of {len(both)} tasks: {_named(differ)}"
        found.append(Mismatch(key=key, text=text))


def _prompt(hashes: Hashes) -> str | None:
    return hashes.prompt


def _environment(hashes: Hashes) -> str | None:
    return hashes.environment


def _checker(hashes: Hashes) -> str | None:
    return hashes.checker


def _seeds(found: list[Mismatch], base: Side, new: Side) -> None:
    """Start states as their backend hashed them: of other backends they cannot be compared."""
    if _kind(base.info.options.get("backend")) != _kind(new.info.options.get("backend")):
        return
    both = [task for task in base.seeds if task in new.seeds]
    differ = [task for task in both if base.seeds[task] != new.seeds[task]]
    if differ:
        text = f"schema, seed or start state of {len(differ)} of {len(both)} tasks: {_named(differ)}"
        found.append(Mismatch(key="seeds", text=text))


def _options(found: list[Mismatch], base: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    texts: dict[str, list[str]] = {}
    for name in sorted({*base, *new} - _HOW_IT_RAN):
        one, other = base.get(name), new.get(name)
        if name == "backend":  # which server of its kind does not matter
            one, other = _kind(one), _kind(other)
        if one != other:
            texts.setdefault(_OPTIONS.get(name, name), []).append(f"{name} {one} / {other}")
    found += [Mismatch(key=key, text=", ".join(parts)) for key, parts in texts.items()]


def _kind(backend: Any) -> str:
    """A backend without the address of its server and without its driver."""
    return str(backend).partition("://")[0].partition("+")[0]


def _named(tasks: Sequence[str]) -> str:
    rest = len(tasks) - _LISTED
    return ", ".join(tasks[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")
