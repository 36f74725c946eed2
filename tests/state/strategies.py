"""Values as drivers return them, and small states made of them."""

from __future__ import annotations

from datetime import timedelta, timezone

from hypothesis import settings
from hypothesis import strategies as st

from pytest_thinkingbox.state.model import TableInfo

PROPERTY = settings(max_examples=60, deadline=None)

TEXT = st.text(st.characters(codec=None), max_size=8)  # lone surrogates and NUL too
# To the second, as databases have them at most: Python itself reads an offset below one second back as none.
OFFSETS = st.integers(-82_800, 82_800).map(lambda seconds: timezone(timedelta(seconds=seconds)))

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(2**80), max_value=2**80),
    st.floats(),
    st.decimals(allow_nan=True, allow_infinity=True),
    TEXT,
    st.binary(max_size=8),
    st.dates(),
    st.times().map(lambda value: value.replace(fold=0)),  # no database keeps a fold
    st.datetimes().map(lambda value: value.replace(fold=0)),
    st.datetimes(timezones=OFFSETS).map(lambda value: value.replace(fold=0)),
    st.timedeltas(),
    st.uuids(),
)
TAGLIKE = st.sampled_from(["$dict", "$int", "$text", "$tuple", "$", "a"]) | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda children: (
        st.lists(children, max_size=3)
        | st.lists(children, max_size=3).map(tuple)
        | st.dictionaries(TAGLIKE, children, max_size=3)
    ),
    max_leaves=6,
)

KEYED = TableInfo(name="keyed", columns=("id", "a", "b"), key=("id",), generated=frozenset({"id"}))
COMPOSITE = TableInfo(name="composite", columns=("x", "y", "a"), key=("x", "y"))
KEYLESS = TableInfo(name="keyless", columns=("a", "b"), key=())
TABLES = {info.name: info for info in (KEYED, COMPOSITE, KEYLESS)}

# Few values, some of them equal although they are not alike, so that rows meet.
SMALL = st.sampled_from([None, 0, 1, 1.0, True, "1", "x", float("nan"), [1, True], {"a": 1, "b": [None]}])
KEYS = st.sampled_from([None, 0, 1, 2, "1", b"1"])


@st.composite
def dumps(draw: st.DrawFn) -> dict[str, list[dict[str, object]]]:
    """A dump of all three tables; keys that are not NULL are unique."""
    dump: dict[str, list[dict[str, object]]] = {}
    for info in TABLES.values():
        row = st.fixed_dictionaries(
            {column: KEYS if column in info.key else SMALL for column in info.columns}
        )
        rows = draw(st.lists(row, max_size=6))
        seen: set[tuple[object, ...]] = set()
        kept = []
        for one in rows:
            key = tuple(one[column] for column in info.key)
            if not info.key or None in key or key not in seen:
                seen.add(key)
                kept.append(one)
        dump[info.name] = kept
    return dump
