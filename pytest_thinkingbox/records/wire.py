"""Records as JSON lines, written. Reading them back is `schema`'s part."""

from __future__ import annotations

import json
import math
from typing import Any

from pytest_thinkingbox.records.model import AttemptRecord, CampaignInfo, shallow
from pytest_thinkingbox.records.redact import Redactor

_FIXED = frozenset({"campaign", "outcome", "cause", "stop_reason", "started_at"})
"""Fields whose values are ours and hold no text of others: masking would only break them."""


def record_data(record: AttemptRecord) -> dict[str, Any]:
    """A record as a JSON object."""
    data = shallow(record)
    data["tool_calls"] = [shallow(one) for one in record.tool_calls]
    data["mail"] = None if record.mail is None else [shallow(one) for one in record.mail]
    data["usage"] = {role: shallow(one) for role, one in record.usage.items()}
    data["hashes"] = shallow(record.hashes)
    return data


def info_data(info: CampaignInfo) -> dict[str, Any]:
    """A campaign's description as a JSON object."""
    data = shallow(info)
    data["environments"] = {name: shallow(one) for name, one in info.environments.items()}
    data["task_hashes"] = {name: shallow(one) for name, one in info.task_hashes.items()}
    return data


def dump(data: dict[str, Any], *, redactor: Redactor, indent: int | None = None) -> str:
    """ASCII JSON without secrets.

    What JSON has no word for is written as text: NaN and infinities as `str()` gives them, and so is any
    other object, because a record that was paid for is not lost over one odd argument.
    """
    line = _dump(data, indent)
    if not redactor.in_json(line):
        return line
    return _dump({key: one if key in _FIXED else redactor.value(one) for key, one in data.items()}, indent)


def _dump(data: Any, indent: int | None) -> str:
    separators = (",", ": ") if indent else (",", ":")
    try:
        return json.dumps(data, allow_nan=False, separators=separators, indent=indent, default=str)
    except ValueError:
        return json.dumps(_finite(data), allow_nan=False, separators=separators, indent=indent, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value
