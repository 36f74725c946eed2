"""What a task adds to its scenario."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any


def merge(base: Any, added: Any) -> Any:
    """`added` over `base`: dictionaries key by key, lists one after the other, anything else replaced.

    Neither is changed, and the result shares nothing with them.
    """
    if isinstance(base, Mapping) and isinstance(added, Mapping):
        merged = {key: deepcopy(value) for key, value in base.items()}
        for key, value in added.items():
            merged[key] = merge(base[key], value) if key in base else deepcopy(value)
        return merged
    if isinstance(base, list) and isinstance(added, list):
        return deepcopy(base) + deepcopy(added)
    return deepcopy(added)


def merge_servers(state: Mapping[str, Any], init: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of each server: the scenario's `world_state` with the task's `init`, servers in this order."""
    merged = {name: deepcopy(config) if config is not None else {} for name, config in state.items()}
    for name, config in init.items():
        merged[name] = merge(merged[name], config) if merged.get(name) else deepcopy(config)
    return merged
