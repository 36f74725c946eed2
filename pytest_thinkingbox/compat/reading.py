"""Test functions of a file, found in its syntax tree: nothing of the file runs when it is read."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_thinkingbox.compat.files import BrokenDataset, load_yaml

MARK = "!"
"""What the first character of a string says: the rest of it is YAML."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SourceFile:
    """A file of test functions. `functions` are those with YAML; everything else is `shared` by all of them."""

    path: Path
    shared: tuple[ast.stmt, ...]
    functions: Mapping[str, SourceFunction]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SourceFunction:
    """`config` is the YAML of the file with that of the function over it."""

    name: str
    node: ast.FunctionDef
    config: Mapping[str, Any]

    @property
    def parameters(self) -> tuple[str, ...]:
        """What it wants to be called with."""
        arguments = self.node.args
        return tuple(one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))

    @property
    def asks_judge(self) -> bool:
        """Whether its body uses `judge`: most functions take one and never ask."""
        return any(
            isinstance(one, ast.Name) and one.id == "judge"
            for statement in self.node.body
            for one in ast.walk(statement)
        )


def read_source(path: Path) -> SourceFile:
    """Raises BrokenDataset for a file that is no Python, or whose YAML is none."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, filename=str(path))
    except OSError as error:
        raise BrokenDataset(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BrokenDataset(f"{path}: no UTF-8 at byte {error.start}") from None
    except SyntaxError as error:
        raise BrokenDataset(f"{path}, line {error.lineno}: no Python: {error.msg}") from None
    except ValueError as error:  # a NUL byte
        raise BrokenDataset(f"{path}: no Python: {error}") from None
    common: dict[str, Any] = {}
    shared: list[ast.stmt] = []
    functions: dict[str, SourceFunction] = {}
    for node in tree.body:
        own = _yaml_of_function(node, path)
        if own is not None:
            assert isinstance(node, ast.FunctionDef)
            if node.name in functions:
                raise BrokenDataset(
                    f"{path}, line {node.lineno}: {node.name} is there twice; the first is in line "
                    f"{functions[node.name].node.lineno}"
                )
            config = _together(common, own)
            functions[node.name] = SourceFunction(name=node.name, node=node, config=config)
            continue
        found = _yaml(node, path)
        if found is not None:
            common.update(found)
        shared.append(node)
    return SourceFile(path=path, shared=tuple(shared), functions=functions)


def _yaml_of_function(node: ast.stmt, path: Path) -> dict[str, Any] | None:
    if isinstance(node, ast.AsyncFunctionDef) and _text(node.body[0]) is not None:
        raise BrokenDataset(f"{path}, line {node.lineno}: {node.name} is async: a test function must not be")
    return _yaml(node.body[0], path) if isinstance(node, ast.FunctionDef) else None


def _yaml(node: ast.stmt, path: Path) -> dict[str, Any] | None:
    text = _text(node)
    if text is None:
        return None
    where = f"{path}, YAML from line {node.lineno}"
    found = load_yaml(textwrap.dedent(text.removeprefix(MARK)), where=where)
    if not isinstance(found, dict):
        raise BrokenDataset(f"{where}: must be a mapping of keys to values, not {found!r:.80}")
    for key in found:
        if not isinstance(key, str):
            raise BrokenDataset(f"{where}: the key {key!r} must be a text")
    return found


def _text(node: ast.stmt) -> str | None:
    """The text of a string that stands for itself and is marked as YAML."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        value = node.value.value
        if isinstance(value, str) and value.startswith(MARK):
            return value
    return None


def _together(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    both = {**common, **own}
    if isinstance(common.get("tags"), list) and isinstance(own.get("tags"), list):
        both["tags"] = [*common["tags"], *own["tags"]]
    return both
