"""What is installed: one package, its data files, the plugin and the command."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from email.message import Message
from email.parser import Parser
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PARTS = {"mcp_types", "pydantic_core", "requests", "starlette"}
"""Libraries that one of the declared ones is made of, and gives out in its own interface."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def wheel(built: Path) -> Iterator[ZipFile]:
    [path] = built.glob("*.whl")
    with ZipFile(path) as opened:
        yield opened


@pytest.fixture
def metadata(wheel: ZipFile) -> Message:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode("utf-8"))


def test_the_wheel_holds_the_packages_and_no_other_top_level_name(wheel: ZipFile) -> None:
    tops = {PurePosixPath(name).parts[0] for name in wheel.namelist()}
    assert tops == {"pytest_thinkingbox", "thinkingbox_trainer", "pytest_thinkingbox-0.1.0.dist-info"}


def test_the_trainer_is_in_the_wheel_under_its_own_name(wheel: ZipFile) -> None:
    there = {f"thinkingbox_trainer/{path.name}" for path in (ROOT / "trainer").iterdir() if path.is_file()}
    assert {name for name in wheel.namelist() if name.startswith("thinkingbox_trainer/")} == there


def test_the_wheel_holds_every_module_and_every_data_file(wheel: ZipFile) -> None:
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "pytest_thinkingbox").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {name for name in wheel.namelist() if name.startswith("pytest_thinkingbox/")}
    assert packed == there
    assert {"pytest_thinkingbox/py.typed", "pytest_thinkingbox/records/attempt.schema.json"} <= packed


def test_the_record_schema_in_the_wheel_is_json(wheel: ZipFile) -> None:
    schema = json.loads(wheel.read("pytest_thinkingbox/records/attempt.schema.json"))
    assert schema["type"] == "object"


def test_pytest_finds_the_plugin_and_a_shell_the_command(wheel: ZipFile) -> None:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt")]
    points = ConfigParser()
    points.read_string(wheel.read(name).decode("utf-8"))
    assert {section: dict(points[section]) for section in points.sections()} == {
        "pytest11": {"thinkingbox": "pytest_thinkingbox.plugin"},
        "console_scripts": {
            "thinkingbox": "pytest_thinkingbox.cli:main",
            "thinkingbox-train": "thinkingbox_trainer.cli:main",
        },
    }


def test_the_wheel_carries_the_licence_and_shows_the_readme(wheel: ZipFile, metadata: Message) -> None:
    assert metadata["License-Expression"] == "MIT"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())
    assert metadata.get_payload() == (ROOT / "README.md").read_text("utf-8")


def test_the_core_needs_no_driver_no_container_and_no_training_library(metadata: Message) -> None:
    needed = {Requirement(one).name for one in metadata.get_all("Requires-Dist", []) if "extra ==" not in one}
    assert needed & {"psycopg", "pymysql", "testcontainers", "torch", "transformers", "trl"} == set()


def test_every_library_that_the_package_imports_is_declared(metadata: Message) -> None:
    declared = {Requirement(one).name for one in metadata.get_all("Requires-Dist", [])}
    imported = {
        name
        for path in (ROOT / "pytest_thinkingbox").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in _tops(node)
    }
    third_party = imported - sys.stdlib_module_names - {"pytest_thinkingbox", "thinkingbox_trainer", *PARTS}
    modules = {{"pyyaml": "yaml"}.get(name, name.replace("-", "_")) for name in declared}
    assert third_party - modules == {"_pytest", "xdist"}


def _tops(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return [node.module.split(".")[0]]
    return []


def test_the_source_distribution_can_run_its_own_tests(built: Path) -> None:
    [path] = built.glob("*.tar.gz")
    with tarfile.open(path) as opened:
        tops = {PurePosixPath(name).parts[1] for name in opened.getnames()}
    assert {"pytest_thinkingbox", "tests", "example_suites", "docs", "pyproject.toml", "tox.ini"} <= tops


def test_the_group_of_training_has_the_pins_of_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    group = [one for one in project["dependency-groups"]["train"] if isinstance(one, str)]
    assert group == project["project"]["optional-dependencies"]["train"]


def test_the_lowest_versions_are_those_that_the_package_allows() -> None:
    """`tests/lowest.txt` pins each direct dependency to its floor, so that the floors are tried."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    floors = {}
    for one in map(Requirement, project["dependencies"]):
        [floor] = [spec.version for spec in one.specifier if spec.operator == ">="]
        floors[one.name] = floor
    lines = (ROOT / "tests" / "lowest.txt").read_text("utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert {name: pins.get(name) for name in floors} == floors
