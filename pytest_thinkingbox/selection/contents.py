"""What tasks consist of, each part in the form in which it is compared: whether one set could have taught the other."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import blake2b
from typing import Any

GRAM = 13
"""Words of a phrase that two texts hardly share by chance."""
MOST_SHARED = 0.5
"""The share of phrases that makes a text a copy of another one."""
TEMPLATE = "template:"
"""How the tag begins that names the template of a task."""

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One environment. Keys are compared, values are what they are called in a message.

    `names` are the environment's own and who its policy says it is, `columns` tables by their columns, `schemas`
    parameters of tools. `policy` and `seed` are digests, "" where there is none.
    """

    name: str
    names: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    schemas: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""
    policy_grams: frozenset[str] = frozenset()
    seed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContents:
    """One task. `world` is the index of its environment. Digests are "" where there is nothing that is its own.

    `words` is the digest of the prompt with its numbers: cases of a template often differ in nothing else. `hashes` are
    those of the records: prompt, environment and checker as they are today.
    """

    task: str
    world: int
    tags: tuple[str, ...] = ()
    prompt: str = ""
    words: str = ""
    prompt_grams: frozenset[str] = frozenset()
    user: str = ""
    user_grams: frozenset[str] = frozenset()
    checker: str = ""
    hashes: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def template(self) -> str:
        return template_of(self.task, self.tags)


@dataclass(frozen=True, kw_only=True)
class Contents:
    """All of a suite."""

    worlds: Sequence[World]
    tasks: Mapping[str, TaskContents]

    def only(self, tasks: Iterable[str]) -> Contents:
        """The same with these tasks only, and the environments that they need."""
        kept = {task: self.tasks[task] for task in tasks}
        order = sorted({one.world for one in kept.values()})
        place = {old: new for new, old in enumerate(order)}
        return Contents(
            worlds=[self.worlds[old] for old in order],
            tasks={name: _moved(one, place[one.world]) for name, one in kept.items()},
        )

    def marks(self, task: TaskContents) -> Iterator[tuple[str, str]]:
        """What makes the task the same as another one, whatever it is called."""
        world = self.worlds[task.world]
        digests = (
            ("prompt", task.prompt),
            ("user", task.user),
            ("checker", task.checker),
            ("policy", world.policy),
            ("seed", world.seed),
        )
        return ((kind, digest) for kind, digest in digests if digest)

    def texts(self, task: TaskContents) -> Iterator[tuple[str, frozenset[str]]]:
        """The phrases of each text, by whose it is."""
        world = self.worlds[task.world]
        yield f"the prompt of {task.task}", task.prompt_grams
        yield f"the user of {task.task}", task.user_grams
        yield f"the policy of {world.name}", world.policy_grams

    @cached_property
    def known_marks(self) -> dict[tuple[str, str], str]:
        """Every mark, and a task that has it."""
        return {mark: task.task for task in self.tasks.values() for mark in self.marks(task)}

    @cached_property
    def known_grams(self) -> dict[str, list[int]]:
        """Every phrase, and the numbers of the texts that have it."""
        found: dict[str, list[int]] = {}
        for number, (_, grams) in enumerate(self.known_texts):
            for gram in grams:
                found.setdefault(gram, []).append(number)
        return found

    @cached_property
    def known_texts(self) -> list[tuple[str, frozenset[str]]]:
        """Of environments of one name each has its own."""
        return list(dict.fromkeys(text for task in self.tasks.values() for text in self.texts(task)))

    @cached_property
    def known_ids(self) -> dict[str, list[tuple[str, ...]]]:
        """Folders of every task, by what its id ends with."""
        found: dict[str, list[tuple[str, ...]]] = {}
        for task in self.tasks:
            folders, name = _parts(task)
            found.setdefault(name, []).append(folders)
        return found

    def has(self, task: str) -> bool:
        """Whether this id is one of these tasks, from whatever folder pytest was called: `hotel/test_a.py::test_b` and
        `suites/hotel/test_a.py::test_b` are one."""
        folders, name = _parts(task)
        return any(
            one[max(0, len(one) - len(folders)) :] == folders[max(0, len(folders) - len(one)) :]
            for one in self.known_ids.get(name, ())
        )

    def copies(self, grams: frozenset[str]) -> list[str]:
        """Texts of this suite that share at least half of the phrases of the shorter of the two, in words."""
        counts = Counter(number for gram in grams for number in self.known_grams.get(gram, ()))
        found = []
        for number, shared in counts.items():
            name, theirs = self.known_texts[number]
            least = min(len(grams), len(theirs))
            if shared >= MOST_SHARED * least:
                found.append(f"{shared} of {least} phrases of {GRAM} words with {name}")
        return found

    def to_json(self) -> str:
        worlds = [{**_shallow(one), "policy_grams": sorted(one.policy_grams)} for one in self.worlds]
        tasks = [
            {**_shallow(one), "prompt_grams": sorted(one.prompt_grams), "user_grams": sorted(one.user_grams)}
            for one in self.tasks.values()
        ]
        return json.dumps({"worlds": worlds, "tasks": tasks}, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> Contents:
        data = json.loads(text)
        worlds = [
            World(
                **{
                    **one,
                    **{name: tuple(one[name]) for name in ("names", "tables", "tools")},
                    "policy_grams": frozenset(one["policy_grams"]),
                }
            )
            for one in data["worlds"]
        ]
        tasks = [
            TaskContents(
                **{
                    **one,
                    "tags": tuple(one["tags"]),
                    "prompt_grams": frozenset(one["prompt_grams"]),
                    "user_grams": frozenset(one["user_grams"]),
                }
            )
            for one in data["tasks"]
        ]
        return cls(worlds=worlds, tasks={one.task: one for one in tasks})


def _moved(task: TaskContents, world: int) -> TaskContents:
    return TaskContents(**{**_shallow(task), "world": world})


def _shallow(value: World | TaskContents) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value)}


def _parts(task: str) -> tuple[tuple[str, ...], str]:
    """The folders of an id, and its file with what follows."""
    path, mark, rest = task.strip().partition("::")
    *folders, file = path.replace("\\", "/").split("/")
    return tuple(one for one in folders if one not in ("", ".", "..")), f"{file}{mark}{rest}"


def template_of(task: str, tags: Iterable[str]) -> str:
    """What its tag says, else its test function: cases of one function are one template."""
    named = next((tag for tag in tags if tag.startswith(TEMPLATE)), None)
    return task.partition("[")[0] if named is None else named


def normalised(text: str) -> str:
    """Letters only: neither punctuation, numbers, capitals nor vowel signs and accents make a text another one."""
    plain = "".join(
        one
        for one in unicodedata.normalize("NFKD", text.casefold())
        if not unicodedata.combining(one) and unicodedata.category(one) != "Cf"  # soft hyphens, joiners
    )
    return " ".join(_WORD.findall(plain))


def text_digest(text: str) -> str:
    """Of the letters, wherever the words end; "" when there is not one."""
    letters = normalised(text).replace(" ", "")
    return digest(letters) if letters else ""


def words_digest(text: str) -> str:
    """Of letters, numbers and signs, whatever spaces and capitals there are."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return digest("".join(one for one in plain if not one.isspace() and unicodedata.category(one) != "Cf"))


def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def grams_of(text: str) -> frozenset[str]:
    """Digests of all phrases of 13 words; none of a shorter text."""
    words = normalised(text).split()
    return frozenset(digest(" ".join(words[at : at + GRAM])) for at in range(len(words) - GRAM + 1))


def only_ids(tasks: Iterable[str], *, beside: Contents | None) -> Contents:
    """Tasks of which only the ids are known, with those of which everything is."""
    worlds = [] if beside is None else list(beside.worlds)
    known = {} if beside is None else dict(beside.tasks)
    unknown = {task: TaskContents(task=task, world=len(worlds)) for task in tasks if task not in known}
    return Contents(worlds=[*worlds, World(name="")], tasks=known | unknown)


def contamination(pool: Contents, benchmark: Contents) -> dict[str, list[str]]:
    """By task of the pool, why it must not be trained on if the benchmark is to say something; empty when disjoint."""
    found: dict[str, list[str]] = {}
    copies: dict[tuple[str, frozenset[str]], list[str]] = {}  # a policy is the text of many tasks
    for name, task in pool.tasks.items():
        reasons = ["it is on the benchmark's list"] if benchmark.has(name) else []
        reasons += [
            f"same {kind} as {benchmark.known_marks[kind, mark]}"
            for kind, mark in pool.marks(task)
            if (kind, mark) in benchmark.known_marks
        ]
        for text in pool.texts(task):
            if text not in copies:
                copies[text] = benchmark.copies(text[1])
            reasons += [f"{text[0]} shares {one}" for one in copies[text]]
        if reasons:
            found[name] = reasons
    return found


def shared(one: Contents, other: Contents) -> dict[str, list[str]]:
    """What two suites have in common without being the same: names of tools and tables, parameters, policies."""
    return {
        kind: sorted(mine[key] for key in mine.keys() & theirs.keys())
        for kind, mine, theirs in (
            (kind, keys_of(one)[kind], keys_of(other)[kind])
            for kind in ("tools", "schemas", "policies", "seeds", "templates")
        )
    }


def keys_of(contents: Contents) -> dict[str, dict[str, str]]:
    """By kind: what is compared, and what it is called in a message."""
    worlds, tasks = contents.worlds, contents.tasks.values()
    return {
        "tasks": {task.task.rpartition("::")[2]: task.task for task in tasks},
        "companies": {name: name for world in worlds for name in world.names},
        "tables": {table: world.name for world in worlds for table in world.tables},
        "columns": {key: name for world in worlds for key, name in world.columns.items()},
        "tools": {tool: tool for world in worlds for tool in world.tools},
        "schemas": {key: name for world in worlds for key, name in world.schemas.items()},
        "policies": {world.policy: world.name for world in worlds if world.policy},
        "seeds": {world.seed: world.name for world in worlds if world.seed},
        "templates": {task.template: task.template for task in tasks},
        "prompts": {task.prompt: task.task for task in tasks if task.prompt},
        "users": {task.user: task.task for task in tasks if task.user},
        "checkers": {task.checker: task.task for task in tasks if task.checker},
    }


def overlaps(one: Contents, other: Contents) -> list[str]:
    """Everything that both have, `kind: ...`; empty when they are disjoint in every respect."""
    mine, theirs = keys_of(one), keys_of(other)
    lines = [
        f"{kind}: {mine[kind][key]} and {theirs[kind][key]}: {key}"
        for kind in mine
        for key in sorted(mine[kind].keys() & theirs[kind].keys())
    ]
    return lines + [
        f"texts: {name} shares {copy}" for name, grams in one.known_texts for copy in other.copies(grams)
    ]
