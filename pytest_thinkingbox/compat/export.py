"""Records as the result rows that ThinkingBox's own tools read: one JSON object for each attempt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pytest_thinkingbox.compat.context import messages_of
from pytest_thinkingbox.records.model import AttemptRecord, UsageRecord
from pytest_thinkingbox.records.store import CampaignFolder

FORMAT = "thinkingbox-jsonl"
_FINISHED = {"done": "done", "turn_limit": "agent_limit", "user_turn_limit": "user_limit"}


def rows_of(folder: CampaignFolder) -> Iterator[str]:
    """The lines, each with its end. The try that decided an attempt is its row; tasks in the campaign's order.

    A try that was graded again has another line: the last one counts.
    """
    deciding: dict[tuple[str, int], tuple[int, bool]] = {}
    for offset, record in folder.read_entries():
        key = record.task, record.attempt
        if record.final or not deciding.get(key, (0, False))[1]:
            deciding[key] = offset, record.final
    order = {task: at for at, task in enumerate(dict.fromkeys(task for task, _ in deciding))}
    for key in sorted(deciding, key=lambda one: (order[one[0]], one[1])):
        record = folder.read_at(deciding[key][0])
        yield json.dumps(row_of(record), ensure_ascii=True) + "\n"


def row_of(record: AttemptRecord) -> dict[str, Any]:
    """One row. An attempt that says nothing of its agent is a system error there, and counts as a failure."""
    metadata: dict[str, Any] = {
        "test_case_name": record.task.rpartition(":")[2],
        "repetition": record.attempt - 1,
        "execution_time": sum(record.seconds.values()),
        "agent_model": record.model or record.agent,
        "campaign": record.campaign,
    }
    broken = record.outcome == "invalid" and record.cause != "checker"
    if broken:
        metadata["error"] = {"type": record.cause, "message": record.detail, "tb": ""}
    return {
        "uid": record.task,
        "messages": [asdict(one) for one in messages_of(record.messages)],
        "test_result": None if broken else _test_result(record),
        "test_tags": {"labels": list(record.tags)},
        "usage": _usage(record.usage.get("agent", UsageRecord())),
        "metadata": metadata,
        "is_system_error": broken,
        "finish_reason": "agent_error" if broken else _FINISHED.get(record.stop_reason or "", "agent_error"),
    }


def _test_result(record: AttemptRecord) -> dict[str, Any]:
    passed = record.outcome == "passed"
    return {
        "result": passed,
        "reward": 1.0 if passed else 0.0,
        "is_system_error": record.outcome == "invalid",
        "tb": record.detail,
        "line_content": next(iter(record.detail.splitlines()), ""),
        "metadata": {
            "judge_motivation": [
                {"question": one.question, "answer": one.answer == "yes", "motivation": one.reason}
                for one in record.rulings
            ]
            or None
        },
    }


def _usage(usage: UsageRecord) -> list[dict[str, Any]]:
    """The sum over all requests; nothing where the endpoint did not say."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return []
    return [
        {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens or 0},
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
            "total_tokens": usage.input_tokens + usage.output_tokens,
        }
    ]
