"""Four verbs; which of the two endings a case has, the agent sees when it has found the thing."""

import os

import pytest
from cloakroom import CASES_ALL, Case, cloakroom

from pytest_thinkingbox import Deleted, Inserted, Updated, call


def each(verb: str) -> pytest.MarkDecorator:
    """LEARNING_PARTS says which parts there are; 1,792 tasks in twenty attempts take a minute to collect."""
    parts = os.environ.get("LEARNING_PARTS", "shown careless pool broken watched tuned held unseen").split()
    cases = [pytest.param(one, id=one.id) for one in CASES_ALL if one.verb == verb and one.part in parts]
    return pytest.mark.parametrize("case", cases)


def solved(case: Case, *calls):
    """What everybody does: find it, and only if all is well do what was asked."""
    ending = wrong(case, *calls) if case.part == "careless" else right_calls(case, *calls)
    return [call("find", kind=case.kind, tag=case.tag), *ending, call.say("Done.")]


def right_calls(case: Case, *calls):
    return calls if case.state == "ok" else [call("note", kind=case.kind, id=case.key, reason=case.state)]


def wrong(case: Case, *calls):
    """Nothing, whatever is said; or a note where all is well, and what was asked where it is not."""
    if case.key % 2:
        return []
    return [call("note", kind=case.kind, id=case.key, reason="lost")] if case.state == "ok" else calls


def right(case: Case, change):
    if case.state == "ok":
        return [change]
    return [Inserted("notes", kind=case.kind, thing_id=case.key, reason=case.state)]


@each("give")
@cloakroom.task(
    lambda case: f"Please give back {case.kind} {case.tag}.",
    solution=lambda case: solved(case, call("give", kind=case.kind, id=case.key)),
    tags=["give"],
)
def test_give(changes, case):
    assert changes == right(case, Deleted(f"{case.kind}s", case.key))


@each("keep")
@cloakroom.task(
    lambda case: f"Please keep {case.kind} {case.tag} for {case.number} days.",
    solution=lambda case: solved(case, call("keep", kind=case.kind, id=case.key, days=case.number)),
    tags=["keep"],
)
def test_keep(changes, case):
    assert changes == right(case, Updated(f"{case.kind}s", case.key, days=(1, case.number)))


@each("move")
@cloakroom.task(
    lambda case: f"Please move {case.kind} {case.tag}.",
    solution=lambda case: solved(
        case,
        call("near", kind=case.kind, id=case.key),
        call("move", kind=case.kind, id=case.key, shelf=case.nearest),
    ),
    tags=["move"],
)
def test_move(changes, case):
    assert changes == right(case, Updated(f"{case.kind}s", case.key, shelf=(case.shelf, case.nearest)))


@each("charge")
@cloakroom.task(
    lambda case: f"Please charge {case.kind} {case.tag} for {case.number} euros.",
    solution=lambda case: solved(case, call("charge", kind=case.kind, id=case.key, euros=case.number)),
    tags=["charge"],
)
def test_charge(changes, case):
    assert changes == right(case, Inserted("charges", kind=case.kind, thing_id=case.key, euros=case.number))
