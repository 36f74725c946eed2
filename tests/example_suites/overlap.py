"""What two sets of tasks have in common: whether one of them could have taught an agent the other."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from sqlalchemy import MetaData, create_engine

from pytest_thinkingbox.declare import Environment, Limits
from pytest_thinkingbox.plugin.collect import Plan
from pytest_thinkingbox.tools.containers import Containers
from pytest_thinkingbox.tools.session import open_toolbox

GRAM = 13
"""Words of a phrase that two texts hardly share by chance."""
MOST_SHARED = 0.5
"""The share of a text's phrases that makes it a copy of another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What tasks consist of, each in the form in which it is compared, with what it is called in a message."""

    tasks: Mapping[str, str]
    companies: Mapping[str, str]
    tables: Mapping[str, str]
    columns: Mapping[str, str]
    tools: Mapping[str, str]
    schemas: Mapping[str, str]
    prompts: Mapping[str, str]
    checkers: Mapping[str, str]
    texts: Mapping[str, frozenset[str]]


def material_of(plans: Mapping[str, Plan]) -> Material:
    environments = {plan.task.environment for plan in plans.values()}
    tables = {
        name: environment.name
        for environment in environments
        if isinstance(environment.database.schema, MetaData)
        for name in environment.database.schema.tables
    }
    tools = {spec.name: spec for environment in environments for spec in _tools(environment)}
    return Material(
        tasks={task.rpartition("::")[2]: task for task in plans},
        companies={name: name for environment in environments for name in _names(environment)},
        tables=tables,
        columns=dict(_columns(environments)),
        tools={name: name for name in tools},
        schemas={_shape(spec.input_schema): name for name, spec in tools.items() if _is_telling(spec.input_schema)},
        prompts={_normal(plan.prompt): task for task, plan in plans.items()},
        checkers={_body(plan): task for task, plan in plans.items()},
        texts={
            **{f"the prompt of {task}": _grams(plan.prompt) for task, plan in plans.items()},
            **{f"the policy of {one.name}": _grams(str(one.instructions)) for one in environments},
        },
    )  # fmt: skip


def overlaps(one: Material, other: Material) -> list[str]:
    """Everything that both have, in words; empty when they are disjoint."""
    lines = []
    for kind in ("tasks", "companies", "tables", "columns", "tools", "schemas", "prompts", "checkers"):
        mine, theirs = getattr(one, kind), getattr(other, kind)
        lines += [
            f"{kind}: {mine[key]} and {theirs[key]}: {key}" for key in sorted(mine.keys() & theirs.keys())
        ]
    anywhere = frozenset().union(*other.texts.values())
    for name, grams in one.texts.items():
        if len(grams & anywhere) < MOST_SHARED * len(grams):
            continue
        for its, theirs in other.texts.items():
            if grams and len(grams & theirs) / len(grams) >= MOST_SHARED:
                lines.append(f"texts: {name} and {its} share {len(grams & theirs)} of {len(grams)} phrases")
    return lines


def _names(environment: Environment) -> Iterator[str]:
    """The environment's own, and who its policy says it is: the heading up to the colon."""
    yield environment.name
    heading = re.match(r"# ([^:\n]+)", str(environment.instructions))
    if heading:
        yield heading[1].strip().casefold()


def _columns(environments: Iterable[Environment]) -> Iterator[tuple[str, str]]:
    """A table by its columns, whatever it is called; keys and one column more are no table of anybody's own."""
    for environment in environments:
        schema = environment.database.schema
        if isinstance(schema, MetaData):
            for name, table in schema.tables.items():
                if len(table.columns) > 2:
                    yield ", ".join(sorted(f"{one.name} {one.type}" for one in table.columns)), name


def _is_telling(schema: Mapping[str, object]) -> bool:
    return len(schema.get("properties", {})) >= 3  # type: ignore[arg-type]


def _shape(schema: Mapping[str, object]) -> str:
    """The parameters and their types, without titles and descriptions."""

    def bare(part: object) -> object:
        if isinstance(part, Mapping):
            return {name: bare(one) for name, one in part.items() if name not in ("title", "description")}
        return [bare(one) for one in part] if isinstance(part, list) else part

    return json.dumps(bare(schema.get("properties", {})), sort_keys=True)


@cache
def _tools(environment: Environment) -> tuple[object, ...]:
    """As an agent sees them; nothing is called."""

    async def listed() -> tuple[object, ...]:
        engine = create_engine("sqlite://")
        async with open_toolbox(
            environment,
            engine=engine,
            database_url="sqlite://",
            attempt_id="overlap",
            mail_host="127.0.0.1",
            mail_port=9,
            seed=1,
            limits=Limits(),
            containers=Containers(),
        ) as toolbox:
            return toolbox.specs

    return asyncio.run(listed())


def _normal(text: str) -> str:
    """Letters only: neither punctuation nor numbers make a prompt another one."""
    return " ".join(re.findall(r"[^\W\d_]+", text.casefold()))


def _grams(text: str) -> frozenset[str]:
    words = _normal(text).split()
    return frozenset(" ".join(words[at : at + GRAM]) for at in range(len(words) - GRAM + 1))


def _body(plan: Plan) -> str:
    """The checker without its name, decorators and docstring, and with its own values."""
    [function] = ast.parse(textwrap.dedent(inspect.getsource(plan.function))).body
    assert isinstance(function, ast.FunctionDef)
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return f"{' '.join(map(ast.dump, body))} {dict(plan.parameters)}"
