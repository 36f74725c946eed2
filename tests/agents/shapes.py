"""What the providers document that they send, case by case: `tests/agents/wire/*.json`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

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
