"""Result rows of ThinkingBox's own tools as a campaign, so that it can be reported and compared."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_thinkingbox.errors import Cause, ThinkingboxError
from pytest_thinkingbox.records.model import (
    AttemptRecord,
    CampaignInfo,
    Outcome,
    ToolCallRecord,
    UsageRecord,
    add_usage,
)
from pytest_thinkingbox.records.store import CampaignFolder

AGENT = "thinkingbox"
_STOPPED = {"agent_limit": "turn_limit", "user_limit": "user_turn_limit", "agent_error": "crashed"}


class CannotImport(ThinkingboxError):
    """The file is not one of result rows; the message names the line."""


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Details(_Row):
    cached_tokens: int = 0
    reasoning_tokens: int = 0


class _Usage(_Row):
    input_tokens: int = 0
    input_tokens_details: _Details = _Details()
    output_tokens: int = 0
    output_tokens_details: _Details = _Details()


class _TestResult(_Row):
    result: bool
    is_system_error: bool = False
    tb: str = ""
    line_content: str = ""


class _Call(_Row):
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    id: str = ""


class _Message(_Row):
    """Of any kind: `T` says which, and those that are not known are passed over."""

    T: str = ""
    role: str = "user"
    content: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    name: str = ""
    arguments: dict[str, Any] = Field(default_factory=dict)
    id: str = ""
    tool_calls: list[_Call] = Field(default_factory=list)

    @property
    def calls(self) -> list[_Call]:
        match self.T:
            case "ToolCall":
                return [_Call(name=self.name, arguments=self.arguments, id=self.id)]
            case "ParallelToolCall":
                return self.tool_calls
        return []


class _Result(_Row):
    uid: str = Field(min_length=1)
    messages: list[_Message] = Field(default_factory=list)
    test_result: _TestResult | None = None
    test_tags: dict[str, Any] | None = None
    usage: list[_Usage] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    is_system_error: bool = False
    finish_reason: str = "done"


def import_rows(path: Path, target: Path, *, model: str | None) -> CampaignFolder:
    """A new campaign in `target` with an attempt for each row, numbered in the order of the file.

    Raises CannotImport, and then makes nothing.
    """
    if target.exists():
        raise CannotImport(f"{target}: there is something already; name a folder that is not there")
    counts: dict[str, int] = {}
    for row in _rows(path):
        counts[row.uid] = counts.get(row.uid, 0) + 1
    if not counts:
        raise CannotImport(f"{path}: it has no row")
    building = target.with_name(f".{target.name}.importing")
    shutil.rmtree(building, ignore_errors=True)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    info = CampaignInfo(
        campaign=target.name, created=now, agent=AGENT, model=model, tasks=counts, finished=now
    )  # fmt: skip
    try:
        folder = CampaignFolder.create(building, info)
        numbers = dict.fromkeys(counts, 0)
        for row in _rows(path):
            numbers[row.uid] += 1
            folder.append(
                _record(row, campaign=target.name, attempt=numbers[row.uid], requested=counts[row.uid],
                        model=model, started_at=now)
            )  # fmt: skip
        target.parent.mkdir(parents=True, exist_ok=True)
        building.rename(target)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return CampaignFolder.open(target)


def _rows(path: Path) -> Iterator[_Result]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = _Result.model_validate(json.loads(line.decode("utf-8")))
            except (ValueError, RecursionError) as error:
                said: object = error
                if isinstance(error, ValidationError):
                    first = error.errors()[0]
                    said = f"{'.'.join(map(str, first['loc'])) or 'the row'}: {first['msg']}"
                raise CannotImport(f"{path}:{number}: no result row of ThinkingBox: {said}") from None
            yield row


def _record(
    row: _Result, *, campaign: str, attempt: int, requested: int, model: str | None, started_at: str
) -> AttemptRecord:
    outcome, cause, detail = _outcome(row)
    messages = list(_chat(row.messages))
    seconds = row.metadata.get("execution_time")
    tags = (row.test_tags or {}).get("labels")
    return AttemptRecord(
        campaign=campaign,
        task=row.uid,
        attempt=attempt,
        try_number=1,
        final=True,
        requested=requested,
        outcome=outcome,
        cause=cause,
        detail=detail,
        stop_reason=_STOPPED.get(row.finish_reason, "done"),
        reward=None if outcome == "invalid" else float(outcome == "passed"),
        messages=messages,
        tool_calls=_calls(row.messages),
        response=next(
            (one["content"] for one in reversed(messages) if one["role"] == "assistant" and one["content"]),
            "",
        ),
        usage={"agent": _usage(row.usage)},
        agent=AGENT,
        model=model,
        seconds={"converse": float(seconds)} if isinstance(seconds, int | float) else {},
        started_at=started_at,
        seed=0,
        tags=tuple(str(one) for one in tags) if isinstance(tags, list) else (),
    )


def _outcome(row: _Result) -> tuple[Outcome, Cause | None, str]:
    result = row.test_result
    if row.is_system_error or result is None:
        error = row.metadata.get("error")
        said = error.get("message") if isinstance(error, Mapping) else error
        return "invalid", "unknown", str(said or "there is no result of its test")
    if result.is_system_error:
        return "invalid", "checker", result.tb or result.line_content
    return ("passed", None, "") if result.result else ("failed", None, result.tb or result.line_content)


def _usage(usages: list[_Usage] | None) -> UsageRecord:
    if not usages:
        return UsageRecord()
    total = add_usage(
        {
            "agent": UsageRecord(
                requests=1,
                input_tokens=one.input_tokens,
                cached_tokens=one.input_tokens_details.cached_tokens,
                output_tokens=one.output_tokens,
                reasoning_tokens=one.output_tokens_details.reasoning_tokens,
            )
        }
        for one in usages
    )
    return total["agent"]


def _chat(messages: list[_Message]) -> Iterator[dict[str, Any]]:
    """As chat completions have them; what was thought is left out."""
    for one in messages:
        match one.T:
            case "Text" if one.metadata.get("tag") != "think":
                yield {"role": one.role, "content": one.content}
            case "ToolResponse":
                yield {"role": "tool", "tool_call_id": one.id, "content": one.content}
            case "ToolCall" | "ParallelToolCall":
                made = [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                    }
                    for call in one.calls
                ]
                yield {"role": "assistant", "content": None, "tool_calls": made}


def _calls(messages: list[_Message]) -> list[ToolCallRecord]:
    answers = {one.id: one.content for one in messages if one.T == "ToolResponse"}
    return [
        ToolCallRecord(
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            result=answers.get(call.id, ""),
            error=False,
            seconds=0.0,
        )
        for one in messages
        for call in one.calls
    ]
