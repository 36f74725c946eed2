"""Files that are not what their format asks for, and what is said about each."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_thinkingbox.compat.dataset import Dataset
from pytest_thinkingbox.compat.files import BrokenDataset
from pytest_thinkingbox.compat.golden import solution_of
from pytest_thinkingbox.compat.servers import Servers
from tests.compat.conftest import DEPOT

TASKS = "dataset/test_case/branches.py"
SAWS = "dataset/test_case/lending/lending_saws.py"
META = "dataset/test_case/lending/lending_saws.meta.yaml"
CONFTEST = "dataset/test_case/conftest.yaml"
QUERY = "query: Which depot is this?"
REMOTE = "type: mcp-remote\n    endpoint: http://127.0.0.1:9"
WHOLE = ""  # the file becomes what follows

WRONG = {
    "no python": (TASKS, "def helper(x):", "def helper(x:", "line 8: no Python: '(' was never closed"),
    "a NUL byte": (TASKS, "def helper(x):", "\0def helper(x):", "no Python: source code string cannot contain null"),
    "no yaml": (TASKS, QUERY, "query: [Which", "YAML from line 14, line 3 of it: no YAML: "),
    "yaml that is a list": (TASKS, "scenario: two", "- two", "must be a mapping of keys to values, not ['two']"),
    "a key that is a number": (TASKS, QUERY, "7: x", "the key 7 must be a text"),
    "no query": (TASKS, QUERY, "tags: [a]", "the_later_server_answers (line 13): query is missing"),
    "no scenario": (TASKS, "scenario: two", "tags: [x]", "the_later_server_answers (line 13): scenario is missing"),
    "a scenario that is not there": (TASKS, "scenario: two", "scenario: three", "scenario/three.yaml is not there; "),
    "a key that is unknown": (TASKS, QUERY, f"{QUERY}\n    querry: x", "querry is no key; there are scenario, query, "),
    "a key of the wrong kind": (TASKS, QUERY, f"{QUERY}\n    max_user_sim_turns: many", "max_user_sim_turns='many': "),
    "a limit below its least": (TASKS, QUERY, f"{QUERY}\n    max_agent_sim_turns: 0", "max_agent_sim_turns=0: Input "),
    "one name twice": (
        TASKS, "def test_a_program_that_is_no_module", "def the_later_server_answers",
        "line 27: the_later_server_answers is there twice; the first is in line 13",
    ),
    "an async test": (TASKS, "def the_later", "async def the_later", "the_later_server_answers is async"),
    "a history without parts": (SAWS, '"a: saw:0:second"', '"a saw"', "history: 'a saw' must be 'key:start:end'"),
    "a history that is not there": (SAWS, '"a: saw:0:second"', '"b:0:"', "$history has no list 'b', which "),
    "a history that ends nowhere": (SAWS, '"a: saw:0:second"', '"a: saw:0:third"', "the end 'third' is no message_id"),
    "a history that starts behind": (SAWS, '"a: saw:0:second"', '"a: saw:9:"', "start 9 is outside of its 6 messages"),
    "a history upside down": (SAWS, '"a: saw:0:second"', '"a: saw:second:first"', "'first' does not come after"),
    "a message of no kind": (META, "T: Text, role: assis", "T: Speech, role: assis", "$history.a: saw, message 4"),
    "a scenario without tools": ("dataset/scenario/two.yaml", "tools:", "tolls:", "two.yaml: tools is missing"),
    "a tool without a name": ("dataset/scenario/two.yaml", "- name: who", "- title: who", "tools.0.name is missing"),
    "an agent without instructions": (
        "dataset/agent/think.yaml", "system_instructions", "instructions", "think.yaml: system_instructions is missing",
    ),
    "a fixture without a type": (
        CONFTEST, "type: depot_fixtures.cards", "kind: x", "fixtures.cards.type is missing",
    ),
    "a conftest that is a list": (
        CONFTEST, WHOLE, "- a", "conftest.yaml: must be a mapping of keys to values, not a list",
    ),
    "a solution without a tool": (TASKS, "{tool: who, parameters: {}}", "{}", "must have a tool and its parameters"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEPOT, tmp_path / "depot"))


def read_all(folder: Path) -> list[str]:
    """Everything that collecting reads; the ids of the tasks."""
    dataset = Dataset(folder / "dataset", agent="think")
    found = [dataset.task(path, name) for path, functions in dataset.all() for name in functions]
    for task in found:
        solution_of(task)
    return [task.uid for task in found]


def test_as_it_is_nothing_is_wrong(folder):
    assert len(read_all(folder)) == 11


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_named_with_what_is_wrong(name, folder):
    file, old, new, words = WRONG[name]
    text = (folder / file).read_text("utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old or text, new, 1), encoding="utf-8")
    with pytest.raises(BrokenDataset) as raised:
        read_all(folder)
    assert words in str(raised.value)
    assert str(folder) in str(raised.value) or "golden_test_case" in str(raised.value)


def test_a_file_that_is_no_utf_8_is_named(folder):
    (folder / TASKS).write_bytes(b'"""!\nscenario: t\xff\n"""\n')
    with pytest.raises(BrokenDataset, match=r"branches\.py: no UTF-8 at byte 16"):
        read_all(folder)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "must be a YAML list of names"),
        ("- a", "'a' must be a name such as 'file.py:function'"),
        ("- a.py:b\n- a.py:b", "a.py:b stands there twice"),
        ("- no_such.py:a", "there is no no_such.py (looked in "),
        ("- ../branches.py:a", "must be a name such as"),
    ],
    ids=["no list", "no name", "twice", "no file", "outside"],
)
def test_a_wrong_list_is_named(text, words, folder):
    (folder / "list.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(BrokenDataset) as raised:
        Dataset(folder / "dataset", agent="think").listed(folder / "list.yaml")
    assert words in str(raised.value)


def test_a_function_that_is_not_there_is_named(folder):
    dataset = Dataset(folder / "dataset", agent="think")
    with pytest.raises(BrokenDataset, match="has no test function 'helper'"):
        dataset.task(folder / TASKS, "helper")


def test_an_agent_that_is_not_there_is_named(folder):
    with pytest.raises(BrokenDataset, match=r"agent/swift\.yaml is not there; .*agent has: think"):
        Dataset(folder / "dataset", agent="swift")


def test_a_folder_that_is_no_dataset_is_named(tmp_path):
    with pytest.raises(BrokenDataset, match="no dataset: it has no folder test_case"):
        Dataset(tmp_path, agent="think")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("  depot:", "  shop:", "no server 'depot'; there are: shop, branch, loose"),
        ('command: ["{python}", "-m", "depot"]', "cwd: /", "servers.depot.command is missing"),
        ("type: mcp-process", "type: mcp-remote", "servers.depot.endpoint is missing"),
        ("type: mcp-process", f"{REMOTE}\n    transport: sse", "servers.depot.transport: "),
        ("type: mcp-process", "type: daemon", "servers.depot.type='daemon'"),
    ],
    ids=["not there", "no command", "no endpoint", "another transport", "another type"],
)  # fmt: skip
def test_a_wrong_server_is_named(old, new, words, folder):
    path = folder / "servers" / "servers.yaml"
    path.write_text(path.read_text("utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(BrokenDataset) as raised:
        Servers(path, python="python", data=folder).file("depot")
    assert words in str(raised.value)
    assert str(path) in str(raised.value)


def test_pytest_says_it_where_it_collects(depot, run):
    path = depot / TASKS
    path.write_text(path.read_text("utf-8").replace(QUERY, "tags: [a]"), encoding="utf-8")
    outcome = run(f"--tb-dataset={depot / 'dataset'}", "--co", "-q")
    assert outcome.status == 2
    assert "the_later_server_answers (line 13): query is missing" in outcome.text
