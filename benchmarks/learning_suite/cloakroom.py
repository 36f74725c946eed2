"""A theatre's cloakroom: small enough for a model of 176,000 parameters, with rows, tools and a rule.

A template is a verb and a kind of thing; its cases are made by arithmetic. `part` says what a case is for:
`shown` ones are demonstrated, and `careless` ones are too, wrongly: none of one verb, most of the others, so that the
base is reliable at something. `pool` and `broken` ones are probed and trained on; nothing has the tag of a broken one,
as in many a real pool. `watched` ones say when the warm-up ends, and the policy is looked at with them during training.
Settings are chosen by `tuned` ones, and nothing else is. It is judged by `held` (other cases of the same templates) and
`unseen` (templates of which nothing else exists).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from random import Random
from typing import Any, Literal

from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, select

from pytest_thinkingbox import Database, Environment, Server
from pytest_thinkingbox.declare import Limits

Kind = Literal["coat", "bag", "case", "bike"]
Verb = Literal["give", "keep", "move", "charge"]
Part = Literal["shown", "careless", "pool", "broken", "watched", "tuned", "held", "unseen"]

KINDS: tuple[Kind, ...] = ("coat", "bag", "case", "bike")
VERBS: tuple[Verb, ...] = ("give", "keep", "move", "charge")
UNSEEN = frozenset(zip(VERBS, KINDS, strict=True))
"""Each verb and each kind is missing once."""
DEMONSTRATED = 120
CARELESS: dict[Verb, int] = {"give": 3, "keep": 80, "move": 65, "charge": 75}
"""So many of the demonstrated cases are done wrongly."""
CASES: dict[Part, int] = {"pool": 12, "broken": 6, "watched": 3, "tuned": 6, "held": 6}
"""Of each template that is trained, beside the demonstrated ones."""
CASES_UNSEEN = 7
STATES = ("ok", "ok", "lost", "ok", "owed", "ok", "locked")

metadata = MetaData()
THINGS: dict[str, Table] = {
    kind: Table(
        f"{kind}s",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("tag", Integer, nullable=False, unique=True),
        Column("state", String(6), nullable=False),
        Column("shelf", Integer, nullable=False),
        Column("nearest", Integer, nullable=False),
        Column("days", Integer, nullable=False),
    )
    for kind in KINDS
}
charges = Table(
    "charges",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String(4), nullable=False),
    Column("thing_id", Integer, nullable=False),
    Column("euros", Integer, nullable=False),
)
notes = Table(
    "notes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String(4), nullable=False),
    Column("thing_id", Integer, nullable=False),
    Column("reason", String(6), nullable=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`number` is the days or euros that the prompt names."""

    part: Part
    verb: Verb
    kind: Kind
    tag: int
    key: int
    state: str
    shelf: int
    nearest: int
    number: int

    @property
    def id(self) -> str:
        return f"{self.part}-{self.kind}-{self.tag}"


def _counts(verb: Verb, kind: Kind) -> dict[Part, int]:
    if (verb, kind) in UNSEEN:
        return {"unseen": CASES_UNSEEN}
    careless = CARELESS[verb]
    return {"shown": DEMONSTRATED - careless, "careless": careless, **CASES}


def _cases() -> list[Case]:
    made: list[Case] = []
    template = 0
    for kind in KINDS:
        numbers = list(range(100, 1000))
        Random(f"tag numbers of a {kind}").shuffle(numbers)
        keys = list(range(100, 1000))
        Random(f"key numbers of a {kind}").shuffle(keys)
        for verb in VERBS:
            template += 1
            for part, count in _counts(verb, kind).items():
                for at in range(count):
                    used = len(made)
                    shelf = 10 + used * 7 % 90
                    made.append(
                        Case(
                            part=part,
                            verb=verb,
                            kind=kind,
                            tag=numbers.pop(),
                            key=keys.pop(),
                            state=STATES[(at + template) % len(STATES)],
                            shelf=shelf,
                            nearest=10 + (shelf - 9 + used * 31 % 89) % 90,
                            number=2 + used * 5 % 7,
                        )
                    )
    return made


CASES_ALL = _cases()


def seed(connection: Connection) -> None:
    for kind, table in THINGS.items():
        rows = [
            {
                "id": one.key,
                "tag": one.tag + (1000 if one.part == "broken" else 0),
                "state": one.state,
                "shelf": one.shelf,
                "nearest": one.nearest,
                "days": 1,
            }
            for one in CASES_ALL
            if one.kind == kind
        ]
        connection.execute(table.insert(), rows)


def find(db: Connection, kind: Kind, tag: int) -> dict[str, Any]:
    """What has this tag."""
    table = THINGS[kind]
    row = db.execute(select(table.c.id, table.c.state).where(table.c.tag == tag)).one_or_none()
    if row is None:
        raise ValueError("There is none.")
    return {"id": row.id, "state": row.state}


def near(db: Connection, kind: Kind, id: int) -> dict[str, Any]:
    """The free shelf that is nearest."""
    table = THINGS[kind]
    shelf = db.execute(select(table.c.nearest).where(table.c.id == id)).scalar_one_or_none()
    if shelf is None:
        raise ValueError("There is none.")
    return {"shelf": shelf}


def give(db: Connection, kind: Kind, id: int) -> str:
    """Give it back: it is gone."""
    table = THINGS[kind]
    return _hit(db, table.delete().where(table.c.id == id))


def keep(db: Connection, kind: Kind, id: int, days: int) -> str:
    """Keep it for so many days."""
    table = THINGS[kind]
    return _hit(db, table.update().where(table.c.id == id).values(days=days))


def move(db: Connection, kind: Kind, id: int, shelf: int) -> str:
    """Put it on a shelf."""
    table = THINGS[kind]
    return _hit(db, table.update().where(table.c.id == id).values(shelf=shelf))


def charge(db: Connection, kind: Kind, id: int, euros: int) -> str:
    """Somebody pays."""
    db.execute(charges.insert().values(kind=kind, thing_id=id, euros=euros))
    return "ok"


def note(db: Connection, kind: Kind, id: int, reason: Literal["lost", "owed", "locked"]) -> str:
    """Write down why not."""
    db.execute(notes.insert().values(kind=kind, thing_id=id, reason=reason))
    return "ok"


def _hit(db: Connection, statement: Any) -> str:
    if not db.execute(statement).rowcount:
        raise ValueError("There is none.")
    return "ok"


_strikes = Random(0)


def _mortal(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Each call finds the database dead with the chance that LEARNING_OUTAGE says: the episode is invalid then."""

    @wraps(tool)
    def played(*arguments: Any, **named: Any) -> Any:
        if _strikes.random() < float(os.environ.get("LEARNING_OUTAGE", "0")):
            raise sqlite3.OperationalError("disk I/O error")
        return tool(*arguments, **named)

    return played


TOOLS = (find, near, give, keep, move, charge, note)
cloakroom = Environment(
    name="cloakroom",
    database=Database(schema=metadata, seed=seed),
    servers=[Server.functions([_mortal(one) for one in TOOLS])],
    instructions="What is not ok gets a note that says why, and no more.",
    mail=False,
    limits=Limits(turns=5),
)
