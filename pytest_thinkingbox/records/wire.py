"""Records as JSON lines, written. Reading them back is `schema`'s part."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from typing import Any

from pytest_thinkingbox.records.model import AttemptRecord, CampaignInfo, shallow
from pytest_thinkingbox.records.redact import Redactor
from pytest_thinkingbox.state.model import Attachment, ReceivedMail
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest

_FIXED = frozenset({"campaign", "outcome", "cause", "stop_reason", "started_at"})
"""Fields whose values are ours and hold no text of others: masking would only break them."""
_DEEPEST = 100  # levels
_LARGEST_BITS = 10_000  # of a whole number; Python refuses to write much longer ones as decimals


def record_data(record: AttemptRecord) -> dict[str, Any]:
    """A record as a JSON object."""
    data = shallow(record)
    data["tool_calls"] = [shallow(one) for one in record.tool_calls]
    data["mail"] = None if record.mail is None else [_mail_data(one) for one in record.mail]
    data["http"] = None if record.http is None else [_with_content(one) for one in record.http]
    data["files"] = None if record.files is None else [_with_content(one) for one in record.files]
    data["rulings"] = [shallow(one) for one in record.rulings]
    data["usage"] = {role: shallow(one) for role, one in record.usage.items()}
    data["hashes"] = shallow(record.hashes)
    return data


def _mail_data(mail: ReceivedMail) -> dict[str, Any]:
    return {**shallow(mail), "attachments": [_with_content(one) for one in mail.attachments]}


def _with_content(item: Attachment | ReceivedRequest | FileChange) -> dict[str, Any]:
    return {**shallow(item), "data": content_data(item.data)}


def content_data(data: bytes | None) -> Any:
    """UTF-8 as text, so that people can read it; other bytes as an object with their base64."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode("ascii")}


def info_data(info: CampaignInfo) -> dict[str, Any]:
    """A campaign's description as a JSON object."""
    data = shallow(info)
    data["environments"] = {name: shallow(one) for name, one in info.environments.items()}
    data["task_hashes"] = {name: shallow(one) for name, one in info.task_hashes.items()}
    return data


def dump(data: dict[str, Any], *, redactor: Redactor, indent: int | None = None) -> str:
    """ASCII JSON without secrets.

    What JSON has no word for is written as text, and what has no end is cut, because a record that was paid for
    is not lost over one odd argument.
    """
    line = _dump(data, indent)
    if not redactor.in_json(line):
        return line
    # From the line, not from the data: a secret may be in the text of an object.
    masked = {key: one if key in _FIXED else redactor.value(one) for key, one in json.loads(line).items()}
    return _dump(masked, indent)


def _dump(data: Any, indent: int | None) -> str:
    separators = (",", ": ") if indent else (",", ":")
    try:
        return json.dumps(data, allow_nan=False, separators=separators, indent=indent, default=_text)
    except (ValueError, TypeError, RecursionError):
        return json.dumps(_plain(data, ()), allow_nan=False, separators=separators, indent=indent)


def _plain(value: Any, above: tuple[Any, ...]) -> Any:
    """The value as JSON can say it; `above` are the objects that it is in."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < _LARGEST_BITS else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if not isinstance(value, dict | list | tuple):
        return _text(value)
    if any(value is one for one in above):
        return "[a circle]"
    if len(above) >= _DEEPEST:
        return "[deeper than a record goes]"
    inside = (*above, value)
    if isinstance(value, dict):
        return {
            key if isinstance(key, str) else _text(key): _plain(one, inside) for key, one in value.items()
        }
    return [_plain(one, inside) for one in value]


def _text(value: Any) -> str:
    """Any object's own words, or that it has none."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - whatever an object of somebody else does when it is asked
        return f"[{type(value).__name__} without text]"
