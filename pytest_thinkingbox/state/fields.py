"""Expectations of requests and files against what arrived, field by field."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from pytest_thinkingbox.state.expect import File, Webhook
from pytest_thinkingbox.state.fits import Difference
from pytest_thinkingbox.state.matching import Bindings
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from pytest_thinkingbox.state.values import matches

Received = ReceivedRequest | FileChange

_JSON = ("json", "query", "form", "headers")


def fits_fields(expectation: Webhook | File, item: Received) -> Bindings | None:
    """What the names of `Same` stand for if the item is the one expected; None if it is not."""
    bound: dict[str, Hashable] = {}
    for field, wanted in expectation.named().items():
        if not _fits(field, wanted, field_of(item, field, wanted), bound):
            return None
    return bound


def field_differences(expectation: Webhook | File, item: Received, bound: Bindings) -> list[Difference]:
    """The named fields that keep the item from being the one expected."""
    linked = dict(bound)
    found = []
    for field, wanted in expectation.named().items():
        value = field_of(item, field, wanted)
        if not _fits(field, wanted, value, linked):
            found.append(Difference(field, wanted, value))
    return found


def field_of(item: Received, field: str, wanted: Any = None) -> Any:
    """The field as its expectation names it; of headers only those that it names, as it writes them."""
    value = getattr(item, field)
    if field != "headers" or not isinstance(wanted, Mapping):
        return value
    return {name: value[name.lower()] for name in wanted if name.lower() in value}


def shown_fields(item: Received) -> list[str]:
    """The fields by which people know an item: the body in the most telling form that it has."""
    if isinstance(item, FileChange):
        kept = item.data is not None and (item.change != "removed")
        body = ["json" if isinstance(item.json, dict | list) else "text"] if kept else []
        return ["path", "change", *body]
    fields = ["method", "path"]
    fields += ["query"] if item.query else []
    if item.data:
        readable = item.json is not None
        fields.append("json" if readable else "form" if item.form else "text")
    return fields


def _fits(field: str, wanted: Any, value: Any, bound: dict[str, Hashable]) -> bool:
    if field == "method" and isinstance(wanted, str):
        return bool(wanted.upper() == value)
    if field in _JSON:  # in JSON true is not 1
        return matches([wanted], [value], bound)
    return matches(wanted, value, bound)
