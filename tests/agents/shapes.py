"""What the providers document that they send, case by case: `tests/agents/wire/*.json`."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.support.stub_endpoint import Reply

_FOLDER = Path(__file__).parent / "wire"


@cache
def _cases(provider: str) -> dict[str, Any]:
    cases: dict[str, Any] = json.loads((_FOLDER / f"{provider}.json").read_text(encoding="utf-8"))
    return cases


def names(provider: str) -> list[str]:
    """The cases of one file."""
    return list(_cases(provider))


def shape(case: str) -> dict[str, Any]:
    """`"openai/text"`: its `status` and `body`, maybe `headers`."""
    provider, name = case.split("/")
    return dict(_cases(provider)[name])


def body(case: str) -> bytes:
    return json.dumps(shape(case)["body"]).encode()


def reply(case: str) -> Reply:
    """The same for the stub endpoint."""
    one = shape(case)
    return Reply(status=one["status"], body=body(case), headers=one.get("headers", {}))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
"""Whatever JSON there is."""


def objects_with(keys: Collection[str], types: Collection[str] = ()) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of these keys and any JSON behind them; `type` is mostly one of `types`."""
    made = st.dictionaries(st.sampled_from(sorted(keys)), json_values)
    if not types:
        return made
    return st.tuples(made, st.sampled_from(sorted(types))).map(lambda both: {**both[0], "type": both[1]})
