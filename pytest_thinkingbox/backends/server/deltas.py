"""From the definitions of two schemas to what changed."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_thinkingbox.state.model import SchemaDelta


def schema_deltas(
    before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]
) -> tuple[SchemaDelta, ...]:
    """Objects, by (kind, name), that were created, dropped or altered, tables first."""
    deltas = []
    for (kind, name), old in before.items():
        new = after.get((kind, name))
        if new is None:
            deltas.append(SchemaDelta("dropped", kind, name, before=old))
        elif new != old:
            deltas.append(SchemaDelta("altered", kind, name, before=old, after=new))
    deltas += [
        SchemaDelta("created", kind, name, after=new)
        for (kind, name), new in after.items()
        if (kind, name) not in before
    ]
    return tuple(sorted(deltas, key=lambda delta: (delta.type != "table", delta.type, delta.name)))
