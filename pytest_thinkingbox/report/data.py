"""A campaign's figures as plain data, and its attempts as rows of a table: for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo, UsageRecord
from pytest_thinkingbox.report.words import FEWEST
from pytest_thinkingbox.stats.cost import Cost, cost_of, models_of, price_usage, stored_prices
from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.intervals import jeffreys, new_tasks, these_tasks
from pytest_thinkingbox.stats.suite import by_tag, mean_pass_at_k, mean_pass_hat_k, pooled, reliable
from pytest_thinkingbox.stats.verdict import Verdict

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet take text for a formula."""
COLUMNS = (
    "task", "attempt", "outcome", "cause", "detail", "stop_reason", "tries", "tool_calls", "seconds",
    "agent_input_tokens", "agent_cached_tokens", "agent_output_tokens", "agent_dollars", "tags",
)  # fmt: skip


def campaign_cost(*, rows: Sequence[AttemptRow], info: CampaignInfo, verdict: Verdict) -> Cost:
    """At the prices that the campaign was run with."""
    return cost_of(
        rows=rows,
        models=models_of(info),
        agent=info.agent,
        prices=stored_prices(info, where="campaign.json: options.prices"),
        reliable=reliable(tasks=verdict.tasks).low,
    )


def json_report(*, rows: Sequence[AttemptRow], info: CampaignInfo, verdict: Verdict) -> str:
    """One object. What is not available is null; shares are from 0 to 1, sums in US dollars."""
    cost = campaign_cost(rows=rows, info=info, verdict=verdict)
    data = {
        "campaign": info.campaign,
        "created": info.created,
        "agent": info.agent,
        "model": info.model,
        "seed": info.seed,
        "partial": info.partial,
        "exit_status": verdict.exit_status,
        "reasons": list(verdict.reasons),
        "gates": [{"name": one.name, "status": one.status, "why": one.why} for one in verdict.gates],
        "figures": _figures(verdict.tasks),
        "tags": {tag: _of_tag(tasks) for tag, tasks in by_tag(tasks=verdict.tasks).items()},
        "cost": _cost(cost),
        "tasks": [_task(task) for task in verdict.tasks],
        "xfail_tasks": [_task(task) for task in verdict.xfail_tasks],
    }
    return json.dumps(data, indent=2, ensure_ascii=True) + "\n"


def _figures(tasks: Sequence[TaskCounts]) -> dict[str, Any]:
    most = max((task.requested for task in tasks), default=0)
    observed = reliable(tasks=tasks)
    return {
        **_counts(tasks),
        "pass_at": {str(k): _mean(mean_pass_at_k(tasks=tasks, k=k)) for k in range(1, most + 1)},
        "pass_hat": {str(k): _mean(mean_pass_hat_k(tasks=tasks, k=k)) for k in range(1, most + 1)},
        "pass_at_1_interval_these_tasks": these_tasks(tasks=tasks),
        "pass_at_1_interval_new_tasks": _new_tasks(tasks),
        "every_attempt": {
            "low": observed.low,
            "high": observed.high,
            "of": observed.of,
            "unsettled": list(observed.unsettled),
        },
    }


def _counts(tasks: Sequence[TaskCounts]) -> dict[str, int]:
    total = pooled(tasks=tasks)
    return {
        "tasks": len(tasks),
        "requested": total.requested,
        "valid": total.valid,
        "passed": total.passed,
        "invalid": total.invalid,
    }


def _mean(figure: Any) -> dict[str, Any]:
    return {"mean": figure.mean, "tasks": len(figure.values), "of": figure.of}


def _new_tasks(tasks: Sequence[TaskCounts]) -> tuple[float, float] | None:
    values = mean_pass_at_k(tasks=tasks, k=1).values
    return new_tasks(values=values) if len(values) >= FEWEST else None


def _of_tag(tasks: Sequence[TaskCounts]) -> dict[str, Any]:
    """Counts; from ten tasks on a rate too."""
    enough = len(tasks) >= FEWEST
    return {**_counts(tasks), "pass_at_1": mean_pass_at_k(tasks=tasks, k=1).mean if enough else None}


def _task(task: TaskCounts) -> dict[str, Any]:
    return {
        "task": task.task,
        "requested": task.requested,
        "passed": task.passed,
        "failed": task.failed,
        "invalid": task.invalid,
        "interval": jeffreys(passed=task.passed, valid=task.valid),
        "every_attempt": task.reliable if task.settled else None,
        "tags": list(task.tags),
        "no_change": task.no_change,
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "ledgers": [{"role": one.role, "model": one.model, "total": one.total} for one in cost.ledgers],
        "total": cost.total,
        "agent_per_attempt": cost.per_attempt,
        "agent_per_passed_attempt": cost.per_pass,
        "agent_per_reliable_task": cost.per_reliable,
    }


def csv_report(*, rows: Sequence[AttemptRow], info: CampaignInfo) -> Iterator[str]:
    """A head and a line per attempt. Text that a spreadsheet would take for a formula begins with an apostrophe."""
    table = stored_prices(info, where="campaign.json: options.prices")
    price = table.get(info.model) if info.model is not None else None
    yield _line(COLUMNS)
    for row in rows:
        used = row.usage.get("agent", UsageRecord())
        yield _line(
            (
                row.task,
                row.attempt,
                row.outcome,
                row.cause or "",
                row.detail,
                row.stop_reason or "",
                row.tries,
                row.tool_calls,
                f"{row.seconds:.3f}",
                _known(used.input_tokens),
                _known(used.cached_tokens),
                _known(used.output_tokens),
                _known(price_usage(used, price) if used.requests else None),
                " ".join(row.tags),
            )
        )


def _known(value: float | None) -> str:
    return "" if value is None else str(value)


def _line(cells: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([_cell(one) for one in cells])
    return text.getvalue()


def _cell(value: object) -> str:
    text = str(value).encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text
