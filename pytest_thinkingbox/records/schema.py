"""The border: what is read from a file is validated here, strictly, before it becomes data of ours.

Run `python -m pytest_thinkingbox.records.schema` to write `attempt.schema.json` anew after a change.
"""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_thinkingbox.errors import Cause, ThinkingboxError
from pytest_thinkingbox.records.model import (
    RECORD_VERSION,
    AttemptRecord,
    CampaignInfo,
    Hashes,
    Outcome,
    Purpose,
    ToolCallRecord,
    UsageRecord,
)
from pytest_thinkingbox.state.model import Attachment, ReceivedMail
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from pytest_thinkingbox.state.rulings import Ruling

SCHEMA_PATH = Path(__file__).with_name("attempt.schema.json")

_Count = Annotated[int, Field(ge=0)]
_Number = Annotated[int, Field(ge=1)]
_Seconds = Annotated[float, Field(ge=0)]
_Rate = Annotated[float, Field(ge=0, le=1)]


class BrokenRecords(ThinkingboxError):
    """A file of a campaign does not hold what it should; the message names file, line, field and value."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Usage(_Strict):
    requests: _Count
    input_tokens: _Count | None
    cached_tokens: _Count | None
    output_tokens: _Count | None
    reasoning_tokens: _Count | None


class _ToolCall(_Strict):
    id: str
    name: str
    arguments: dict[str, Any]
    result: str
    error: bool
    seconds: _Seconds
    fault: str


class _Base64(_Strict):
    base64: str


_Content = str | _Base64


class _Attachment(_Strict):
    name: str
    type: str
    data: _Content


class _Request(_Strict):
    method: str
    path: str
    query: dict[str, str | list[str]]
    headers: dict[str, str]
    data: _Content
    status: int | None


class _File(_Strict):
    change: Literal["added", "changed", "removed"]
    path: str
    size: _Count
    digest: str
    data: _Content | None


class _Mail(_Strict):
    sender: str
    recipients: list[str]
    subject: str
    text: str
    html: str
    headers: dict[str, str]
    attachments: list[_Attachment]


class _Ruling(_Strict):
    question: str
    about: str
    answer: Literal["yes", "no"]
    reason: str
    model: str
    cached: bool


class RulingLine(_Ruling):
    """One line of judge.jsonl."""

    key: str


class _Hashes(_Strict):
    prompt: str | None
    environment: str | None
    seed: str | None
    checker: str | None


class AttemptLine(_Strict):
    """One line of attempts.jsonl: one try of one attempt."""

    version: Literal[2]
    campaign: str
    task: str
    attempt: _Number
    try_number: _Number
    final: bool
    requested: _Number
    outcome: Outcome
    cause: Cause | None
    detail: str
    stop_reason: str | None
    stop_detail: str
    reward: _Rate | None
    credit: _Rate | None
    messages: list[dict[str, Any]]
    tool_calls: list[_ToolCall]
    response: str
    rulings: list[_Ruling]
    changes: Any
    mail: list[_Mail] | None
    http: list[_Request] | None
    files: list[_File] | None
    usage: dict[str, _Usage]
    agent: str
    model: str | None
    seconds: dict[str, _Seconds]
    started_at: str
    seed: int
    tags: list[str]
    no_change: bool
    xfail: bool
    xfail_strict: bool
    min_pass_rate: _Rate | None
    hashes: _Hashes
    volatile: list[str]
    regraded_at: str | None
    chat: str | None = None


class CampaignFile(_Strict):
    """campaign.json."""

    version: Literal[2]
    campaign: str
    created: str
    agent: str
    model: str | None
    seed: int
    purpose: Purpose
    shard: str | None
    tasks: dict[str, _Number]
    min_pass_rate: _Rate | None
    options: dict[str, Any]
    versions: dict[str, str]
    environments: dict[str, _Hashes]
    task_hashes: dict[str, _Hashes]
    partial: str | None
    finished: str | None


def parse_record(text: str, *, where: str) -> AttemptRecord:
    """One line read strictly. `where` names file and line in errors. Raises BrokenRecords."""
    data = _validated(AttemptLine, text, where)
    data["tool_calls"] = tuple(ToolCallRecord(**one) for one in data["tool_calls"])
    try:
        _read_sinks(data)
    except ValueError as error:
        raise BrokenRecords(f"{where}: {error}") from None
    data["usage"] = {role: UsageRecord(**one) for role, one in data["usage"].items()}
    data["hashes"] = Hashes(**data["hashes"])
    data["rulings"] = tuple(Ruling(**one) for one in data["rulings"])
    data["messages"] = tuple(data["messages"])
    data["tags"] = tuple(data["tags"])
    data["volatile"] = tuple(data["volatile"])
    try:
        return AttemptRecord(**data)
    except ValueError as error:
        raise BrokenRecords(f"{where}: {error}") from None


def _read_sinks(data: dict[str, Any]) -> None:
    """What was received, from its JSON form. Raises ValueError for content that is no base64."""
    if data["mail"] is not None:
        data["mail"] = tuple(
            ReceivedMail(
                **one
                | {
                    "recipients": tuple(one["recipients"]),
                    "attachments": tuple(
                        Attachment(**file | {"data": _content(file["data"])}) for file in one["attachments"]
                    ),
                }
            )
            for one in data["mail"]
        )
    if data["http"] is not None:
        data["http"] = tuple(ReceivedRequest(**one | {"data": _content(one["data"])}) for one in data["http"])
    if data["files"] is not None:
        data["files"] = tuple(
            FileChange(**one | {"data": None if one["data"] is None else _content(one["data"])})
            for one in data["files"]
        )


def _content(data: Any) -> bytes:
    if isinstance(data, str):
        return data.encode("utf-8", "surrogatepass")
    return b64decode(data["base64"], validate=True)


def parse_ruling(text: str) -> tuple[str, Ruling]:
    """One line of `judge.jsonl` and its key. Raises ValueError."""
    data = json.loads(text)
    RulingLine.model_validate(data)
    return data.pop("key"), Ruling(**data)


def parse_info(text: str, *, where: str) -> CampaignInfo:
    """`campaign.json` read strictly. Raises BrokenRecords."""
    data = _validated(CampaignFile, text, where)
    data["environments"] = {name: Hashes(**one) for name, one in data["environments"].items()}
    data["task_hashes"] = {name: Hashes(**one) for name, one in data["task_hashes"].items()}
    return CampaignInfo(**data)


def _validated(model: type[_Strict], text: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(text)  # pydantic's own parser refuses lone surrogates
    except (ValueError, RecursionError) as error:
        raise BrokenRecords(f"{where}: not JSON: {error}") from None
    if not isinstance(data, dict):
        raise BrokenRecords(f"{where}: a JSON object was expected, not {type(data).__name__}")
    if data.get("version") == 1:
        _migrate(data, model)
    if data.get("version") != RECORD_VERSION:
        raise BrokenRecords(
            f"{where}: record version {data.get('version')!r}; this version of pytest-thinkingbox reads "
            f"versions 1 to {RECORD_VERSION}. Read it with the version that wrote it"
        )
    try:
        model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BrokenRecords(f"{where}: {field}: {first['msg']}, got {_short(first['input'])}") from None
    return data


_ADDED: dict[type[_Strict], dict[str, Any]] = {
    AttemptLine: {"rulings": [], "volatile": [], "regraded_at": None, "http": None, "files": None},
    CampaignFile: {"purpose": "evaluation", "shard": None},
}
"""What version 2 has and version 1 had not, with the value that says so."""


def _migrate(data: dict[str, Any], model: type[_Strict]) -> None:
    """From version 1, whose hashes were made of less: they say nothing about today's."""
    data.update({name: value for name, value in _ADDED[model].items() if name not in data})
    if model is AttemptLine and isinstance(data.get("hashes"), dict):
        data["hashes"] = dict.fromkeys(data["hashes"])
    if model is AttemptLine:
        for call in _objects(data.get("tool_calls")):
            call.setdefault("fault", "")
        for mail in _objects(data.get("mail")):  # whose attachments were names, without what they held
            names = mail.get("attachments")
            if isinstance(names, list):
                mail["attachments"] = [{"name": one, "type": "", "data": ""} for one in names]
    data["version"] = RECORD_VERSION


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def attempt_schema() -> str:
    """The JSON Schema of a line, as the package ships it."""
    return json.dumps(AttemptLine.model_json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA_PATH.write_text(attempt_schema(), encoding="ascii")
