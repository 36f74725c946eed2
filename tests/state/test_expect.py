from __future__ import annotations

import datetime
import enum
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from unittest.mock import ANY
from uuid import UUID

import pytest

from pytest_thinkingbox.state.expect import Deleted, Inserted, Mail, Same, SchemaChange, Updated


@pytest.mark.parametrize(
    ("expectation", "code"),
    [
        (Inserted("approvals"), 'Inserted("approvals")'),
        (
            Inserted("approvals", booking_id=1042, kind="downgrade", amount=Decimal("1.50"), note=None),
            'Inserted("approvals", booking_id=1042, kind="downgrade", amount=Decimal("1.50"), note=None)',
        ),
        (Inserted("a", table="x", key=1, self=2), 'Inserted("a", table="x", key=1, self=2)'),
        (
            Inserted("a", **{"first name": "x", "class": 1}),
            'Inserted("a", **{"first name": "x", "class": 1})',
        ),
        (Inserted("a", x=float("nan"), y=Same("r")), 'Inserted("a", x=float("nan"), y=Same("r"))'),
        (
            Inserted("a", x='say "hi"', y="it's", z="\x1b[0m"),
            """Inserted("a", x='say "hi"', y="it's", z="\\x1b[0m")""",
        ),
        (
            Inserted("a", on=datetime.date(2024, 5, 1), id=UUID(int=1), x=b"\x00"),
            'Inserted("a", on=datetime.date(2024, 5, 1), id=UUID("00000000-0000-0000-0000-000000000001"), '
            "x=b'\\x00')",
        ),
        (Updated("a", 1, status=("old", "new")), 'Updated("a", 1, status=("old", "new"))'),
        (Updated("a", (1, "x"), tags=["t"]), 'Updated("a", (1, "x"), tags=["t"])'),
        (Deleted("a", 1, x={"k": [True]}), 'Deleted("a", 1, x={"k": [True]})'),
        (Deleted("a", x=1), 'Deleted("a", x=1)'),
        (Deleted("a", None), 'Deleted("a", None)'),
        (SchemaChange(), "SchemaChange()"),
        (SchemaChange("dropped", "table", "bookings"), 'SchemaChange("dropped", "table", "bookings")'),
        (SchemaChange(type="table"), 'SchemaChange(type="table")'),
        (Mail(to="a@b.c", text="x\ny"), 'Mail(to="a@b.c", text="x\\ny")'),
        (Mail(to=("a@b.c", "d@e.f"), sender="s@t.u"), 'Mail(to=["a@b.c", "d@e.f"], sender="s@t.u")'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_repr_is_code(expectation: object, code: str) -> None:
    assert repr(expectation) == code
    assert repr(eval(code)) == code


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Inserted(""), r"Inserted: table='' must be a non-empty string"),
        (lambda: Inserted(3), r"Inserted: table=3 must be a non-empty string"),
        (lambda: Inserted("a", pair=(1, 2)), r"Inserted: pair=\(1, 2\): a tuple means \(old, new\)"),
        (lambda: Inserted("a", colour=Colour.RED), r"Inserted: colour=<Colour\.RED: 1> can never equal"),
        (lambda: Inserted("a", colour=str), r"Inserted: colour=<class 'str'> can never equal"),
        (lambda: Updated("a", 1), r"Updated\('a', 1\): name the columns that changed"),
        (lambda: Updated("a", 1, x=(1, 2, 3)), r"Updated: x=\(1, 2, 3\): a tuple means \(old, new\)"),
        (lambda: Updated("a", 1, x=(Colour.RED, 1)), r"Updated: x=<Colour\.RED: 1> can never equal"),
        (lambda: Updated("a", [1, 2], x=1), r"Updated: key=\[1, 2\] must be a value, or a tuple"),
        (lambda: Updated("a", Colour, x=1), r"Updated: key=<enum 'Colour'> can never equal"),
        (lambda: Deleted("a", 1, x=(1, 2)), r"Deleted: x=\(1, 2\): a tuple means \(old, new\)"),
        (lambda: Deleted(None, 1), r"Deleted: table=None must be a non-empty string"),
        (lambda: SchemaChange("removed"), r"SchemaChange: action='removed' must be one of created, dropped, alt"),
        (lambda: SchemaChange(type=3), r"SchemaChange: type=3 must be a non-empty string"),
        (lambda: SchemaChange(name=3), r"SchemaChange: name=3 must be a string"),
        (lambda: Mail(to=3), r"Mail: to=3 must be a string"),
        (lambda: Mail(to=["a@b.c", 3]), r"Mail: to item=3 must be a string"),
        (lambda: Mail(subject=["x"]), r"Mail: subject=\['x'\] must be a string"),
        (lambda: Mail(text=Colour.RED), r"Mail: text=<Colour\.RED: 1> can never equal"),
        (lambda: Mail("a@b.c"), r"positional argument"),
        (lambda: Mail(body="x"), r"unexpected keyword argument 'body'"),
        (lambda: Updated("a", x=1), r"missing 1 required positional argument: 'key'"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_at_once(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_objects_that_compare_may_stand_everywhere() -> None:
    assert repr(Updated("a", ANY, x=(ANY, 1))) == 'Updated("a", <ANY>, x=(<ANY>, 1))'
    assert repr(Mail(to=ANY, subject=ANY, text=ANY, sender=ANY)) == (
        "Mail(to=<ANY>, subject=<ANY>, text=<ANY>, sender=<ANY>)"
    )
    assert repr(SchemaChange(name=ANY)) == "SchemaChange(name=<ANY>)"
