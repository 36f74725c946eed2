"""The page: figures first, then any attempt. One string of UTF-8 text, made of records alone."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo
from pytest_thinkingbox.report.cost import cost_texts
from pytest_thinkingbox.report.html import curve, overview
from pytest_thinkingbox.report.html.packing import Details, Packed
from pytest_thinkingbox.report.text import escape
from pytest_thinkingbox.report.tokens import token_texts
from pytest_thinkingbox.report.words import FEWEST, asked_for
from pytest_thinkingbox.stats.cost import cost_of, models_of, stored_prices
from pytest_thinkingbox.stats.gates import Gate
from pytest_thinkingbox.stats.suite import reliable
from pytest_thinkingbox.stats.verdict import Verdict

LARGEST = 5_000_000
"""Bytes that the whole file takes at most, as long as the last of the packing rules reaches it."""

_SPARE = 20_000  # bytes for what is written after the details were packed
_REASONS = 8  # why the exit status is not 0, before the rest is only counted
_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """A gate, or a reason for the exit status: `kind` and `mark` tell at a glance which way it went."""

    kind: Literal["holds", "fails", "open"]
    mark: str
    status: str = ""
    name: str = ""
    why: str = ""
    text: str = ""


def html_report(
    *,
    rows: Sequence[AttemptRow],
    info: CampaignInfo,
    verdict: Verdict,
    details: Details,
    folder: Path | None = None,
    largest: int = LARGEST,
) -> Iterator[str]:
    """The file in parts, to be written as UTF-8. `details` has seen all records; `folder` is where they are.

    Only what the packing rule allows is in it, and the page says what was cut.
    """
    script = _source("page.js")
    tasks = [*verdict.tasks, *verdict.xfail_tasks]
    head = _head(rows, info, verdict, script)
    size = len(_render(head, _notices(None, folder)).encode()) + len(script.encode())
    packed = details.pack(tasks=[task.task for task in tasks], room=largest - size - _SPARE)
    yield _render(head, _notices(packed, folder))
    yield _data(f'"start" data-skip="{packed.skip}"', packed.start)
    yield _data('"shared"', packed.shared)
    for at, block in enumerate(packed.blocks):
        yield _data(f'"d{at}"', block)
    yield f"<script>{script}</script>\n</body>\n</html>\n"


def _data(name: str, block: str) -> str:
    return f'<script type="application/octet-stream" id={name}>{block}</script>\n'


def _render(head: Mapping[str, Any], notices: Mapping[str, Any]) -> str:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html").render(**head, **notices)


def _head(rows: Sequence[AttemptRow], info: CampaignInfo, verdict: Verdict, script: str) -> dict[str, Any]:
    style = _source("page.css")
    counted = [row for row in rows if not row.xfail]
    tags = overview.tags_of(verdict.tasks)
    every_tag = dict.fromkeys(
        escape(tag) for task in (*verdict.tasks, *verdict.xfail_tasks) for tag in task.tags
    )
    cost = cost_of(
        rows=rows,
        models=models_of(info),
        agent=info.agent,
        prices=stored_prices(info, where="campaign.json: options.prices"),
        reliable=reliable(tasks=verdict.tasks).low,
    )
    causes, others = overview.causes_of(counted)
    return {
        "policy": _policy(script=script, style=style),
        "style": style,
        "campaign": escape(info.campaign),
        "about": [(name, escape(text)) for name, text in _about(info, verdict)],
        "gates": [_gate(gate) for gate in verdict.gates],
        "reasons": _reasons(verdict, info)[:_REASONS],
        "more_reasons": max(len(_reasons(verdict, info)) - _REASONS, 0),
        "figures": overview.figures_of(rows=rows, verdict=verdict, cost=cost),
        "ledgers": cost_texts(cost),
        "tokens": [escape(text) for text in token_texts(rows, agent=info.agent)],
        "curve": curve.curve_of(verdict.tasks),
        "curve_width": curve.WIDTH,
        "curve_height": curve.HEIGHT,
        "causes": causes,
        "other_causes": others,
        "tags": tags,
        "tag_numbers": {tag: at for at, tag in enumerate(every_tag)},
        "fewest": FEWEST,
        "groups": overview.groups_of(tasks=verdict.tasks, rows=rows, causes=causes),
        "xfail_groups": overview.groups_of(
            tasks=verdict.xfail_tasks, rows=rows, causes=(), first=len(verdict.tasks)
        ),
    }


def _source(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _policy(*, script: str, style: str) -> str:
    """Nothing is loaded, and nothing runs but the one script and the one style that are named by their hashes."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(source: str) -> str:
    return f"sha256-{b64encode(sha256(source.encode('utf-8')).digest()).decode('ascii')}"


def _about(info: CampaignInfo, verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield "agent", info.agent
    if info.model:
        yield "model", info.model
    yield "asked for", asked_for((*verdict.tasks, *verdict.xfail_tasks))
    yield "started", info.created
    if info.finished:
        yield "ended", info.finished
    yield "seed", str(info.seed)
    if info.purpose != "evaluation":
        yield "purpose", info.purpose
    if info.shard:
        yield "shard", info.shard
    if "pytest-thinkingbox" in info.versions:
        yield "pytest-thinkingbox", info.versions["pytest-thinkingbox"]


def _gate(gate: Gate) -> _Answer:
    kind: Literal["holds", "fails", "open"] = (
        "holds" if gate.status == "holds" else "fails" if gate.status == "fails" else "open"
    )
    mark = {"holds": "✓", "fails": "×", "open": "?"}[kind]
    return _Answer(kind=kind, mark=mark, status=gate.status, name=escape(gate.name), why=escape(gate.why))


def _reasons(verdict: Verdict, info: CampaignInfo) -> list[_Answer]:
    gates = {gate.line for gate in verdict.gates}
    answers = []
    if verdict.partial:
        why = f" ({escape(info.partial)})" if info.partial else ""
        text = f"Partial{why}: not every attempt was run; figures cover those that were."
        answers.append(_Answer(kind="open", mark="!", text=text))
    for reason in verdict.reasons:
        if reason not in gates:
            kind: Literal["fails", "open"] = "fails" if verdict.exit_status == 1 else "open"
            mark = "×" if kind == "fails" else "!"
            answers.append(
                _Answer(kind=kind, mark=mark, text=f"exit {verdict.exit_status}: {escape(reason)}")
            )
    if not verdict.gates and not answers:
        answers.append(
            _Answer(kind="holds", mark="✓", text="exit 0: nothing failed, and nothing was invalid")
        )
    return answers


def _notices(packed: Packed | None, folder: Path | None) -> dict[str, str]:
    where = f" in {escape(str(folder))}" if folder is not None else ""
    kept = f"The records{where} hold everything; thinkingbox show prints one attempt of them."
    if packed is None or not packed.shortened:
        return {"cut_notice": "", "kept_notice": f"This file needs no other. {kept}"}
    rule, cut = packed.rule, packed.shortened
    parts = [
        f"texts of more than {rule.longest:,} characters are shortened in the middle ({cut.texts:,} are)",
        f"lists of more than {rule.most:,} entries likewise ({cut.lists:,} are)",
    ]
    if rule.alike is not None:
        first = f"only the first {rule.alike}" if rule.alike else "none"
        parts.append(
            f"of the attempts of a task that ended with the same outcome and reason, {first} keep their conversation "
            f"({cut.conversations:,} tries have none)"
        )
    notice = (
        f"Shortened, so that the file stays below 5 MB: {'; '.join(parts)}. A try of more than 2 MB is shortened "
        "further. Every such place says so."
    )
    return {"cut_notice": notice, "kept_notice": kept}
