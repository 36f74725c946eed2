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


class _Result(_Row):
    uid: str = Field(min_length=1)
    messages: list[dict[str, Any]] = Field(default_factory=list)
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
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield _Result.model_validate(json.loads(line))
            except (ValueError, RecursionError) as error:
                said: object = error
                if isinstance(error, ValidationError):
                    first = error.errors()[0]
                    said = f"{'.'.join(map(str, first['loc'])) or 'the row'}: {first['msg']}"
                raise CannotImport(f"{path}:{number}: no result row of ThinkingBox: {said}") from None


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


def _chat(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """As chat completions have them; what was thought is left out."""
    for one in messages:
        match one.get("T"):
            case "Text" if one.get("metadata", {}).get("tag") != "think":
                yield {"role": str(one.get("role", "user")), "content": str(one.get("content", ""))}
            case "ToolResponse":
                yield {
                    "role": "tool",
                    "tool_call_id": str(one.get("id")),
                    "content": str(one.get("content", "")),
                }
            case "ToolCall" | "ParallelToolCall":
                made = [
                    {
                        "id": str(call.get("id")),
                        "type": "function",
                        "function": {
                            "name": call.get("name"),
                            "arguments": json.dumps(call.get("arguments", {})),
                        },
                    }
                    for call in one.get("tool_calls", [one])
                ]
                yield {"role": "assistant", "content": None, "tool_calls": made}


def _calls(messages: list[dict[str, Any]]) -> list[ToolCallRecord]:
    answers = {
        one.get("id"): str(one.get("content", "")) for one in messages if one.get("T") == "ToolResponse"
    }
    made = [
        call
        for one in messages
        if one.get("T") in ("ToolCall", "ParallelToolCall")
        for call in one.get("tool_calls", [one])
    ]
    return [
        ToolCallRecord(
            id=str(call.get("id")),
            name=str(call.get("name")),
            arguments=call.get("arguments") or {},
            result=answers.get(call.get("id"), ""),
            error=False,
            seconds=0.0,
        )
        for call in made
    ]
