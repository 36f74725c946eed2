"""The training pool: many small tasks of five companies, of which nothing is in the evaluation suites."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
from sqlalchemy import MetaData, create_engine

from example_suites.common.kinds import DIFFICULTIES, KINDS
from pytest_thinkingbox.agents import make_agent
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.plugin.collect import Plan
from pytest_thinkingbox.plugin.collected import collect
from pytest_thinkingbox.rewards import Suite, load_suite
from pytest_thinkingbox.rewards.contents import contents_of
from pytest_thinkingbox.rewards.player import Player
from pytest_thinkingbox.selection.contents import Contents, contamination, keys_of, overlaps
from tests.example_suites.suites import FOLDER, ROOT

POOL = "example_suites/training"
COMPANIES = ("library", "clinic", "workshop", "depot", "school")
SOME = [
    f"{POOL}/clinic/test_booked_visits.py::test_nothing_is_cancelled_for_a_stranger",
    f"{POOL}/depot/test_losses.py::test_a_lost_parcel_is_claimed",
    f"{POOL}/library/test_lendings.py::test_what_comes_to_mind_later_is_renewed_too",
    f"{POOL}/school/test_trips.py::test_a_place_goes_to_who_waits_first",
    f"{POOL}/workshop/test_decisions.py::test_a_wrong_part_is_replaced",
]
"""A function of each company; among them are users who speak."""


def plans_of(*paths: str, cwd: Path = ROOT) -> dict[str, Plan]:
    return collect(paths, cwd=cwd, agent="none").plans


@pytest.fixture(scope="module")
def pool() -> dict[str, Plan]:
    return plans_of(POOL)


@pytest.fixture(scope="module")
def evaluation() -> dict[str, Plan]:
    return plans_of("example_suites")


@pytest.fixture(scope="module")
def evaluated(evaluation: dict[str, Plan]) -> Contents:
    return contents_of(evaluation)


@pytest.fixture(params=COMPANIES)
def environment(request: pytest.FixtureRequest) -> Environment:
    module = import_module(f"example_suites.training.{request.param}.environment")
    found = getattr(module, request.param)
    assert isinstance(found, Environment)
    return found


# ---------------------------------------- what there is


def test_there_are_more_than_two_hundred_tasks_of_twenty_one_templates(pool: dict[str, Plan]) -> None:
    assert len(pool) == 247
    tags = Counter(tag for plan in pool.values() for tag in plan.task.tags)
    assert len([tag for tag in tags if tag.startswith("template:")]) == 21
    assert len({plan.function for plan in pool.values()}) == 55
    assert all(tags[one] >= 40 for one in COMPANIES)
    assert all(tags[one] >= 40 for one in DIFFICULTIES)


def test_a_task_has_a_kind_a_difficulty_a_company_and_a_template(pool: dict[str, Plan]) -> None:
    for plan in pool.values():
        kind, difficulty, company, template = plan.task.tags
        assert kind in {*KINDS, "routine"}
        assert difficulty in DIFFICULTIES
        assert company == plan.task.environment.name
        assert template.startswith(f"template:{company}-")


def test_no_two_tasks_ask_the_same(pool: dict[str, Plan]) -> None:
    assert [one for one, times in Counter(plan.prompt for plan in pool.values()).items() if times > 1] == []


def test_a_task_says_what_must_be_true_and_why(pool: dict[str, Plan]) -> None:
    """In two sentences, of which one names the rule."""
    short = {
        plan.function.__name__
        for plan in pool.values()
        if not re.search(r"[.:]\s+[A-Z].*\.\s*$", plan.function.__doc__ or "", re.DOTALL)
        or not re.search(r"\b\d\.\d\b", plan.function.__doc__ or "")
    }
    assert short == set()


def test_nobody_needs_a_model_to_play_the_user(pool: dict[str, Plan]) -> None:
    users = Counter(type(plan.user).__name__ for plan in pool.values())
    assert users.keys() == {"NoneType", "Script"}
    assert users["Script"] >= 15


def test_every_task_has_something_to_show(pool: dict[str, Plan]) -> None:
    assert not any(plan.task.no_change for plan in pool.values())


# ---------------------------------------- what it is made of


def test_a_company_has_five_to_eight_tables_and_six_to_twelve_tools(environment: Environment) -> None:
    schema = environment.database.schema
    assert isinstance(schema, MetaData)
    assert 5 <= len(schema.tables) <= 8
    [server] = environment.servers
    assert 6 <= len(server.functions_) <= 12


def test_a_seed_is_whole(environment: Environment, tmp_path: Path) -> None:
    schema, seed = environment.database.schema, environment.database.seed
    assert isinstance(schema, MetaData)
    assert callable(seed)
    engine = create_engine(f"sqlite:///{tmp_path / 'seed.db'}")
    with engine.begin() as connection:
        schema.create_all(connection)
        seed(connection)
    engine.dispose()
    with closing(sqlite3.connect(tmp_path / "seed.db")) as opened:
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []
        for table in schema.tables:
            assert opened.execute(f'SELECT count(*) FROM "{table}"').fetchone() > (0,), table


def test_a_policy_names_only_what_there_is(environment: Environment) -> None:
    policy = str(environment.instructions)
    schema = import_module(f"example_suites.training.{environment.name}.schema")
    known = {value for literal in vars(schema).values() for value in get_args(literal)}
    known |= {column.name for table in schema.metadata.tables.values() for column in table.columns}
    assert set(re.findall(r"`([^`]+)`", policy)) - known == set()
    sections = set(re.findall(r"^(\d\.\d) ", policy, re.MULTILINE))
    assert set(re.findall(r"\b\d\.\d\b", policy)) == sections


def test_a_policy_says_what_day_it_is(environment: Environment) -> None:
    assert environment.now is not None
    today = f"{environment.now:%A} {environment.now.day} {environment.now:%B %Y}"
    assert today in str(environment.instructions).replace("\n", " ")


# ---------------------------------------- apart from the evaluation suites


def test_the_evaluation_leaves_the_pool_out(pool: dict[str, Plan], evaluation: dict[str, Plan]) -> None:
    """`pytest example_suites` is what people run first; the pool runs where it is named."""
    suites = {path.parent.name for path in FOLDER.glob("*/test_*.py")}
    assert {task.split("/")[1] for task in evaluation} == suites
    assert {task.split("/")[2] for task in pool} == set(COMPANIES)


def test_a_part_of_the_pool_can_be_named() -> None:
    assert len(plans_of(f"{POOL}/library/test_waiting.py")) == 14


def test_pool_and_evaluation_have_nothing_in_common(pool: dict[str, Plan], evaluated: Contents) -> None:
    """Neither tasks, companies, tables, tools, prompts nor checkers, and hardly a longer phrase."""
    assert overlaps(contents_of(pool), evaluated) == []


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Path]:
    """A folder for a copy of a task, whose modules are forgotten afterwards."""
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]
    sys.path[:] = [one for one in sys.path if not one.startswith(str(tmp_path))]


def kinds_in_common(folder: Path, evaluated: Contents) -> set[str]:
    found = contents_of(plans_of(str(folder), "-p", "no:asyncio", cwd=folder))
    assert contamination(found, evaluated).keys() == found.tasks.keys()  # no task of it may be trained on
    return {line.split(":")[0] for line in overlaps(found, evaluated)}


def test_a_copied_task_is_noticed(copied: Path, evaluated: Contents) -> None:
    source = (FOLDER / "hotel" / "test_deadlines.py").read_text("utf-8")
    (copied / "test_deadlines.py").write_text(source, encoding="utf-8")
    assert kinds_in_common(copied, evaluated) == {*keys_of(evaluated), "texts"} - {"templates"}


RENAMED = """
from example_suites.hotel import test_deadlines
from example_suites.hotel.environment import hotel
from pytest_thinkingbox import Environment
from pytest_thinkingbox.declare.task import task_of

inn = Environment(
    name="inn",
    database=hotel.database,
    servers=hotel.servers,
    instructions="# The inn: rules\\n" + hotel.instructions.partition("\\n")[2].replace("hotel", "inn"),
)
check = next(one for name, one in vars(test_deadlines).items() if name.startswith("test_"))


@inn.task("Something else entirely, please.", solution=task_of(check).solution)
def test_of_another_name(changes):
    check(changes)
"""


def test_a_task_that_was_renamed_and_reworded_is_noticed(copied: Path, evaluated: Contents) -> None:
    (copied / "test_renamed_pool.py").write_text(RENAMED, encoding="utf-8")
    assert kinds_in_common(copied, evaluated) == {"tables", "columns", "tools", "schemas", "seeds", "texts"}


# ---------------------------------------- as rewards


@pytest.fixture(scope="module")
def suite() -> Iterator[Suite]:
    with load_suite(POOL, cwd=ROOT, seconds=20) as loaded:
        yield loaded


@pytest.mark.slow
def test_the_pool_is_a_dataset(suite: Suite, pool: dict[str, Plan]) -> None:
    rows = suite.dataset()
    assert [row["task_id"] for row in rows] == list(pool)
    assert [one["role"] for one in rows[0]["prompt"]] == ["system", "user"]
    assert {len(row["tags"]) for row in rows} == {4}


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "reward"), [("solution", 1.0), ("none", 0.0)])
def test_the_pool_rewards_what_was_done(suite: Suite, agent: str, reward: float) -> None:
    player = Player(SOME, make_agent(agent), name="pool", concurrency=4, cwd=ROOT)
    try:
        tasks = player.tasks[::3]
        assert {task.split("/")[2] for task in tasks} == set(COMPANIES)
        played = [(task, player.play(task, member=1, seed=3)) for task in tasks]
        assert {suite.reward(task, one.result(timeout=60)) for task, one in played} == {reward}
    finally:
        player.close()


# ---------------------------------------- as a whole


@pytest.mark.slow
def test_collecting_the_pool_imports_no_mcp() -> None:
    code = (
        f"import sys, pytest; status = pytest.main(['--co', '-qq', '-p', 'no:cacheprovider', '{POOL}']);"
        "print('mcp' in sys.modules, int(status))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "False 0", done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sqlite", "postgres-embedded"])
def test_the_solutions_pass_on_every_backend(backend: str, tmp_path: Path) -> None:
    options = [f"--tb-backend={backend}", "--tb-agent=solution", f"--tb-dir={tmp_path}", "-q", "-rN"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", POOL, *options, "-p", "no:cacheprovider"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "247/247 passed, 247 of 247 valid" in done.stdout, done.stdout[-3000:] + done.stderr[-1000:]
    assert done.returncode == 0
