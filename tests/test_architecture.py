"""The way through the house: arrows go down only, and what a layer may know of the world outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = "pytest_thinkingbox"
ROOT = Path(__file__).parents[1] / PACKAGE
MOST_LINES = 450

# Lowest first. A module belongs to the longest name that fits; it may import its own kind and what lies below.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "lane", "folders", "whole"),
    ("threads",),
    ("declare", "state"),
    ("records", "episodes.model", "episodes.clock", "episodes.seeds"),
    ("stats", "effects", "tokens", "agents.base", "backends.base", "backends.server"),
    ("report", "tools", "backends"),
    ("selection",),
    ("agents", "people.base"),
    ("people",),
    ("episodes",),
    ("compat",),
    ("proof",),
    ("plugin",),
    ("rewards",),
    ("cli",),
)
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}

PURE = ("state", "records", "stats", "report", "selection")
OUT_OF_REACH = {"pytest", "_pytest", "xdist", "asyncio", "anyio", "sqlalchemy", "mcp", "httpx", "threading"}


@dataclass(frozen=True, slots=True)
class Import:
    """`module` imports `target`; `typing_only` under `if TYPE_CHECKING`."""

    module: str
    target: str
    line: int
    typing_only: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def modules() -> dict[str, Path]:
    """Every module of the package, by its name inside of it ("" is the package itself)."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(module: str, source: str) -> Iterator[Import]:
    tree = ast.parse(source)
    typing_only = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} imports relatively"
            # `from package import module` and `from module import name` look alike: the longer name is tried too.
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            yield Import(module, target, node.lineno, node in typing_only)


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return [one for module, path in modules().items() for one in imports_of(module, path.read_text("utf-8"))]


def layer_of(module: str) -> str:
    """The name in LAYERS that a module belongs to."""
    fitting = [name for name in HEIGHT if module == name or module.startswith(f"{name}.")]
    assert fitting, f"{module} stands in no layer: put it where it belongs in LAYERS and in ARCHITECTURE.md"
    return max(fitting, key=len)


def inside(target: str) -> str | None:
    """The part of a target after the package's name, None when it lies outside."""
    return target.removeprefix(f"{PACKAGE}.") if target.startswith(f"{PACKAGE}.") else None


def upward(one: Import) -> bool:
    target = inside(one.target)
    if target is None or one.typing_only or not one.module:
        return False
    here, there = layer_of(one.module), layer_of(target)
    return here != there and HEIGHT[there] >= HEIGHT[here]


def test_every_module_stands_in_a_layer() -> None:
    assert [name for name in modules() if name and layer_of(name) not in HEIGHT] == []


def test_imports_go_down_only(imports: list[Import]) -> None:
    assert [str(one) for one in imports if upward(one)] == []


def test_an_import_that_goes_up_is_seen() -> None:
    source = "from pytest_thinkingbox.episodes.run import run_episode\n"
    assert [upward(one) for one in imports_of("tools.session", source)] == [True]
    assert [upward(one) for one in imports_of("plugin.start", source)] == [False]


def test_a_module_of_the_same_height_but_another_kind_is_out_of_reach() -> None:
    source = "from pytest_thinkingbox.state.model import Rules\n"
    assert [upward(one) for one in imports_of("declare.database", source)] == [True]


def test_only_the_plugin_imports_pytest(imports: list[Import]) -> None:
    knows = {one.module for one in imports if one.target.split(".")[0] in ("pytest", "_pytest", "xdist")}
    assert knows
    assert sorted(name for name in knows if layer_of(name) != "plugin") == []


def test_private_names_of_pytest_are_in_one_module(imports: list[Import]) -> None:
    assert {one.module for one in imports if one.target.startswith("_pytest")} == {"plugin.private"}


@pytest.mark.parametrize("layer", PURE)
def test_what_is_pure_knows_neither_pytest_nor_an_event_loop(layer: str, imports: list[Import]) -> None:
    mine = [one for one in imports if one.module == layer or one.module.startswith(f"{layer}.")]
    assert mine
    assert [str(one) for one in mine if one.target.split(".")[0] in OUT_OF_REACH] == []


def test_declarations_import_nothing_of_the_package_but_each_other(imports: list[Import]) -> None:
    others = [
        str(one)
        for one in imports
        if one.module.split(".")[0] == "declare"
        and (target := inside(one.target)) is not None
        and target.split(".")[0] != "declare"
    ]
    assert others == []


def test_every_module_can_be_read_at_once() -> None:
    sizes = {name: len(path.read_text("utf-8").splitlines()) for name, path in modules().items()}
    assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}


def trainer_imports() -> list[Import]:
    trainer = Path(__file__).parents[1] / "trainer"
    return [one for path in trainer.glob("*.py") for one in imports_of(path.stem, path.read_text("utf-8"))]


def test_one_file_of_the_trainer_imports_trl() -> None:
    assert {one.module for one in trainer_imports() if one.target.split(".")[0] == "trl"} == {"trl_adapter"}


def test_the_command_line_of_the_trainer_imports_no_training_library() -> None:
    light = ("cli", "recipe", "plan", "groups", "commands", "evaluation", "pool", "shown")
    heavy = {"torch", "transformers", "trl", "peft", "datasets"}
    wrong = [one for one in trainer_imports() if one.module in light and one.target.split(".")[0] in heavy]
    assert wrong == []


def test_the_package_does_not_import_the_trainer(imports: list[Import]) -> None:
    above = (
        "cli.serve",
        "rewards.suite",
    )  # a command and a method whose work is done there, when they are called
    wrong = [
        one for one in imports if one.target.startswith("thinkingbox_trainer") and one.module not in above
    ]
    assert [str(one) for one in wrong] == []
