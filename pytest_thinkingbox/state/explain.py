"""Why a comparison failed and what was left unaccounted for, in rows and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_thinkingbox.state.accounting import Accounted, Comparison
from pytest_thinkingbox.state.claims import Changes
from pytest_thinkingbox.state.code import SHOWN, call_code, literal, plain, printable, shown, shown_pair
from pytest_thinkingbox.state.describe import paste_changes, paste_mail, paste_received
from pytest_thinkingbox.state.expect import ANY_KEY, File, Inserted, Mail, SchemaChange, Webhook
from pytest_thinkingbox.state.fields import Received
from pytest_thinkingbox.state.fits import Difference
from pytest_thinkingbox.state.model import ReceivedMail, RowChange, SchemaDelta
from pytest_thinkingbox.state.outbox import Outbox
from pytest_thinkingbox.state.values import Same, matches, parse_json

_LISTED = 20  # items of one kind that an explanation lists
_PASTED = 50  # items of code to paste
_PAIRED = 100  # missing expectations and unexpected items that are compared with each other


def explain_comparison(op: str, left: object, right: object) -> list[str] | None:
    """The lines for `pytest_assertrepr_compare`; None when neither side is `changes` or a sink."""
    claims, other = (left, right) if isinstance(left, Accounted) else (right, left)
    if not isinstance(claims, Accounted):
        return None
    if op in ("in", "not in"):
        return [f"{_short(other)} {op} {claims.noun}s", *_listed("there is", map(claims.describe, claims))]
    if op not in ("==", "!="):
        return None
    try:
        comparison = claims.compare(other)
        if not comparison.holds:
            return _explain_mismatch(claims, comparison)
        said = f"the {claims.noun}s are exactly what was expected"
    except Exception as error:  # noqa: BLE001 - an object that stands for a value may raise anything, and words
        # about a comparison that was decided must not change what it decided
        said = f"the {claims.noun}s are not compared further: {_short(error)} was raised"
    return [said, *_listed("there is", map(claims.describe, claims))]


def explain_unaccounted(changes: Changes, outbox: Outbox) -> str:
    """Everything that nobody accounted for, then all that happened as code to paste; "" when nothing is left."""
    left = changes.unaccounted()
    lines: list[str] = []
    counts: list[str] = []
    if left:
        counts.append(_count(len(left), "change"))
        lines += _listed("", map(changes.describe, left))
        lines += _summary_by_table(left)
    for _, box in outbox.sinks():
        sink: Accounted[Any, Any] = box
        items = sink.unaccounted()
        if items:
            counts.append(_count(len(items), sink.noun))
            lines += _listed("", map(sink.describe, items))
    if not counts:
        return ""
    head = f"the checker did not account for {' and '.join(counts)}:"
    return "\n".join([head, *lines, "all that happened, as code:", *_paste(changes, outbox)])


def _explain_mismatch(claims: Accounted[Any, Any], comparison: Comparison[Any, Any]) -> list[str]:
    expected, actual, pairs = comparison.expected, comparison.actual, comparison.pairs
    missing = [at for at in range(len(expected)) if at not in pairs]
    unexpected = [at for at in range(len(actual)) if at not in set(pairs.values())]
    differing = _closest(claims, comparison, missing, unexpected)
    for expectation, item, _ in differing:
        missing.remove(expectation)
        unexpected.remove(item)
    counts = [f"{len(pairs)} as expected"]
    counts += [f"{len(differing)} differ{'s' * (len(differing) == 1)}"] if differing else []
    counts += [f"{len(missing)} missing"] if missing else []
    counts += [f"{len(unexpected)} unexpected"] if unexpected else []
    lines = [f"{claims.noun}s differ: {', '.join(counts)}"]
    origins = _origins(comparison)
    for at, item, found in differing[:_LISTED]:
        lines.append(f"differs: {_short(expected[at])}")
        for difference in found:
            lines += [f"    {line}" for line in _difference(difference, origins)]
        lines.append(f"    it is {claims.describe(actual[item])}")
    lines += _more(len(differing), "that differ")
    lines += _listed("missing", (_short(expected[at]) for at in missing))
    for at in unexpected[:_LISTED]:
        lines.append(f"unexpected: {claims.describe(actual[at])}")
        lines += [f"    {line}" for line in _definition(actual[at])]
    lines += _more(len(unexpected), "unexpected")
    return lines


def _closest(
    claims: Accounted[Any, Any],
    comparison: Comparison[Any, Any],
    missing: Sequence[int],
    unexpected: Sequence[int],
) -> list[tuple[int, int, list[Difference]]]:
    """Pairs of what is missing with what is there instead, the most similar first; each is used once."""
    candidates: list[tuple[int, int, int, list[Difference]]] = []
    alone = len(missing) == len(unexpected) == 1
    for at in missing[:_PAIRED]:
        for item in unexpected[:_PAIRED]:
            found = claims.differences(comparison.expected[at], comparison.actual[item], comparison.bindings)
            if found and (alone or _is_near(comparison.expected[at], found)):
                candidates.append((len(found), at, item, found))
    chosen: list[tuple[int, int, list[Difference]]] = []
    for _, at, item, found in sorted(candidates, key=lambda candidate: candidate[:3]):
        if all(at != other and item != another for other, another, _ in chosen):
            chosen.append((at, item, found))
    return sorted(chosen, key=lambda pair: pair[:2])


def _is_near(expectation: Any, found: Sequence[Difference]) -> bool:
    """Whether showing the two side by side helps more than showing each by itself."""
    if isinstance(expectation, Mail | Webhook | File | SchemaChange):
        return len(found) < len(expectation.named())
    # Another row of the same table is another row, unless all else is as expected.
    return isinstance(expectation, Inserted) or len(found) == 1 or all(one.name != "key" for one in found)


def _difference(difference: Difference, origins: dict[str, tuple[Any, str]]) -> Iterator[str]:
    name, expected, actual = difference.name, difference.expected, plain(difference.actual)
    if not difference.named:
        before, after = shown_pair(plain(expected), actual)
        yield f"{name}: changed from {before} to {after}, and is not named"
        return
    was = "was" if difference.old else "is"
    if isinstance(expected, Same):
        value, place = origins.get(expected.name, (None, ""))
        known = f", which is {shown(plain(value))} in {place}" if place else ""
        yield f"{name}: not linked: expected {literal(expected)}{known}, {was} {shown(actual)}"
        return
    for path, wanted, value in _leaves(expected, difference.actual):
        left, right = shown_pair(wanted, plain(value))
        yield f"{name}{path}: expected {left}, {was} {right}{_type_hint(wanted, value, left, right)}"


def _type_hint(wanted: Any, value: Any, left: str, right: str) -> str:
    """Says what cannot be seen: that text and a number, or an object and its repr, print alike."""
    if left == right or left.strip("\"'") == right.strip("\"'"):
        return f" ({type(wanted).__name__}, {type(value).__name__})"
    return ""


_ABSENT = type("_Absent", (), {"__repr__": lambda self: "nothing"})()


def _leaves(expected: Any, actual: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two JSON values or arrays differ, or the two themselves."""
    if isinstance(actual, str) and isinstance(expected, dict | list):
        try:
            actual = parse_json(actual)
        except ValueError:
            yield path, expected, actual
            return
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in dict.fromkeys((*expected, *actual)):
            place = f"{path}[{literal(key)}]"
            if key not in expected or key not in actual:
                yield place, expected.get(key, _ABSENT), actual.get(key, _ABSENT)
            elif not matches([expected[key]], [actual[key]]):
                yield from _leaves(expected[key], actual[key], place)
    elif isinstance(expected, list) and isinstance(actual, list | tuple) and len(expected) == len(actual):
        for at, (wanted, value) in enumerate(zip(expected, actual, strict=True)):
            if not matches([wanted], [value]):
                yield from _leaves(wanted, value, f"{path}[{at}]")
    else:
        yield path, expected, actual


def _origins(comparison: Comparison[Any, Any]) -> dict[str, tuple[Any, str]]:
    """For each name of `Same` its value and the column in which it was found first."""
    origins: dict[str, tuple[Any, str]] = {}
    for at, item in sorted(comparison.pairs.items()):
        expectation, change = comparison.expected[at], comparison.actual[item]
        if not isinstance(change, RowChange):
            continue
        if (
            not isinstance(expectation, Inserted)
            and expectation.key is not ANY_KEY
            and change.key is not None
        ):
            key = expectation.key if isinstance(expectation.key, tuple) else (expectation.key,)
            for wanted, value in zip(key, change.key, strict=False):
                if isinstance(wanted, Same):
                    origins.setdefault(wanted.name, (value, f"the key of {change.table}"))
        row = change.after if change.after is not None else change.before or {}
        for column, wanted in expectation.columns.items():
            sides = [(wanted, row)]
            if isinstance(wanted, tuple):
                sides = [(wanted[0], change.before or {}), (wanted[1], row)]
            for one, side in sides:
                if isinstance(one, Same):
                    origins.setdefault(one.name, (side.get(column), f"{change.table}.{column}"))
    return origins


def _definition(item: Any) -> Iterator[str]:
    if isinstance(item, SchemaDelta):
        for when, text in (("before", item.before), ("after", item.after)):
            if text is not None:
                yield f"{when}: {_cut(printable(' '.join(text.split())))}"


def _listed(label: str, texts: Iterator[str]) -> list[str]:
    lines = list(texts)
    prefix = f"{label}: " if label else "    "
    return [f"{prefix}{line}" for line in lines[:_LISTED]] + _more(len(lines), label)


def _more(count: int, label: str) -> list[str]:
    return [f"... and {count - _LISTED:,} more {label}".rstrip()] if count > _LISTED else []


def _summary_by_table(changes: Sequence[Any]) -> list[str]:
    if len(changes) <= _LISTED:
        return []
    counts = Counter(change.table for change in changes if isinstance(change, RowChange))
    return [
        "    by table: " + ", ".join(f"{table} {count:,}" for table, count in counts.most_common(_LISTED))
    ]


def _paste(changes: Changes, outbox: Outbox) -> list[str]:
    lines: list[str] = []
    if changes.ignored:
        lines.append(call_code("changes.ignore", changes.ignored, {}))
    rows = [
        change
        for change in changes.everything()
        if not (isinstance(change, RowChange) and change.table in changes.ignored)
    ]
    lines += _list_code("changes", paste_changes(rows[:_PASTED], changes.book), len(rows))
    for name, box in outbox.sinks():
        items = box.everything()
        if items:
            lines += _list_code(name, [_paste_one(item) for item in items[:_PASTED]], len(items))
    return [f"    {line}" for line in lines]


def _paste_one(item: ReceivedMail | Received) -> str:
    return paste_mail(item) if isinstance(item, ReceivedMail) else paste_received(item)


def _list_code(name: str, items: Sequence[str], count: int) -> list[str]:
    if not items:
        return [f"assert {name} == []"]
    lines = [f"assert {name} == [", *(f"    {item}" for item in items)]
    if count > len(items):
        lines.append(f"    # ... and {count - len(items):,} more")
    return [*lines, "]"]


def _short(expectation: object) -> str:
    return _cut(printable(repr(expectation)))


def _cut(text: str) -> str:
    limit = 4 * SHOWN
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text):,} characters)"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
