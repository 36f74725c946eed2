from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from tests.trainer.recipes import write_recipe
from thinkingbox_trainer.checkpoints import Checkpoints, Identity, State, occupy, rewind, set_aside
from thinkingbox_trainer.ledger import Ledger, totals
from thinkingbox_trainer.recipe import read_recipe


def identity(folder: Path, *changes: tuple[str, str], tasks=None, chat: str = "c") -> Identity:
    folder.mkdir(exist_ok=True)
    recipe = read_recipe(write_recipe(folder, *changes))
    given = tasks or {"a": "1", "b": "2"}
    return Identity.of(recipe, tasks=given, pool=list(given), chat=chat)


def publish(there: Checkpoints, step: int, of: Identity) -> Path:
    half = there.writing / f"checkpoint-{step}"
    half.mkdir(parents=True)
    (half / "weights").write_text("w", encoding="utf-8")
    rollouts = {"passes": step, "left": [], "skipped": 0}
    return there.publish(half, State(step=step, rollouts=rollouts, identity=of, spent={}, versions={}))


@pytest.fixture
def there(tmp_path) -> Checkpoints:
    return Checkpoints(tmp_path / "out", keep=2)


def refused(there: Checkpoints, now: Identity) -> str:
    with pytest.raises(ConfigurationError) as error:
        there.resume(now)
    return str(error.value)


def test_the_newest_checkpoint_is_taken_up(there, tmp_path):
    mine = identity(tmp_path)
    for step in (9, 10):
        publish(there, step, mine)
    taken = there.resume(mine)
    assert taken is not None
    assert (taken.path.name, taken.state.rollouts["passes"]) == ("step-10", 10)


def test_the_recipe_says_how_many_are_kept(there, tmp_path):
    for step in (8, 9, 10):
        publish(there, step, identity(tmp_path))
    assert [path.name for path in there.whole()] == ["step-9", "step-10"]
    assert [path.name for path in there.writing.iterdir()] == []


def test_half_a_checkpoint_is_never_taken_up(there, tmp_path):
    mine = identity(tmp_path)
    publish(there, 1, mine)
    half = there.writing / "checkpoint-2"
    half.mkdir()
    (half / "state.json").write_text("{}", encoding="utf-8")
    taken = there.resume(mine)
    assert taken is not None
    assert taken.state.step == 1
    assert not half.exists()


def test_a_failure_while_writing_says_what_is_still_whole(there, tmp_path):
    publish(there, 1, identity(tmp_path))
    (there.writing / "checkpoint-2").mkdir()
    message = str(there.failed(OSError(28, "No space left on device")))
    assert "the checkpoint of step 2 could not be written" in message
    assert "No space left on device" in message
    assert "step-1 is whole" in message
    assert there.half() is None


def test_a_state_that_cannot_be_read_is_named(there, tmp_path):
    mine = identity(tmp_path)
    (publish(there, 1, mine) / "state.json").write_text("{", encoding="utf-8")
    message = refused(there, mine)
    assert "step-1/state.json: " in message
    assert "move its folder away" in message


def test_what_differs_from_the_run_that_is_there_is_named(there, tmp_path):
    publish(there, 1, identity(tmp_path))
    now = identity(
        tmp_path, ("clip_low = 0.2", "clip_low = 0.3"), tasks={"a": "1", "b": "other"}, chat="another"
    )
    message = refused(there, now)
    assert "algorithm.clip_low was 0.2 and is 0.3" in message
    assert "a task is another one" in message
    assert "the chat template or the readings (chat c, now another)" in message
    assert "the pool has other tasks" not in message
    assert "--fresh" in message


def test_what_differs_is_named_also_before_the_first_checkpoint(there, tmp_path):
    (tmp_path / "out").mkdir()
    assert there.resume(identity(tmp_path)) is None
    assert there.resume(identity(tmp_path)) is None
    assert "the pool has other tasks" in refused(there, identity(tmp_path, tasks={"a": "1"}))


def test_a_run_may_become_longer_and_keep_more_checkpoints(there, tmp_path):
    publish(there, 2, identity(tmp_path))
    longer = identity(tmp_path, ("steps = 2", "steps = 9"), ("keep = 2", "keep = 5"))
    assert there.resume(longer) is not None


def test_steps_of_nobody_knows_which_run_are_refused(there, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "steps.jsonl").write_text('{"step": 0}\n', encoding="utf-8")
    assert "says nothing of itself" in refused(there, identity(tmp_path))


def test_a_disk_with_too_little_room_is_an_error_before_the_first_step(there):
    with pytest.raises(ConfigurationError, match=r"3 checkpoints of 1000000.00 GB are to come .*keep = 2"):
        there.demand_space(10**15)
    there.demand_space(1)


def test_beginning_again_renames_what_was_there(tmp_path):
    for _ in range(2):
        (tmp_path / "out").mkdir()
        set_aside(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.before-1", "out.before-2"]


def test_steps_that_are_done_again_have_one_line(tmp_path):
    lines = [json.dumps({"step": number, "time": number / 10}) for number in range(4)]
    (tmp_path / "steps.jsonl").write_text("\n".join(lines) + '\n{"step": 4, "ti', encoding="utf-8")
    assert rewind(tmp_path, step=2) == 3
    assert (tmp_path / "steps.jsonl").read_text() == f"{lines[0]}\n{lines[1]}\n"
    assert (tmp_path / "discarded.jsonl").read_text().splitlines() == [*lines[2:], '{"step": 4, "ti']
    assert rewind(tmp_path, step=2) == 0


def test_the_ledger_keeps_what_a_discarded_step_cost(tmp_path):
    """Two steps in one session; the second is done again in the next, which is killed in a third."""
    path = tmp_path / "ledger.jsonl"
    first = Ledger(path, step=0)
    first.begun(0, "a", 1, 1)
    first.begun(1, "b", 1, 1)
    first.close()
    with path.open("a", encoding="utf-8") as file:
        file.write('{"time": 1, "sess')
    second = Ledger(path, step=1)
    second.begun(1, "b", 1, 1)
    second.begun(2, "c", 1, 1)
    second.close()
    assert (second.session, totals(path).sessions) == (2, 2)
    assert (totals(path).kept.begun, totals(path).discarded.begun) == (3, 1)
    assert str(totals(path)) == (
        "4 episodes begun, 3 of them in steps that count, 0 tokens written, the tokens of 4 episodes are unknown"
    )


@pytest.mark.parametrize("fresh", [False, True])
def test_two_processes_do_not_train_into_one_folder(tmp_path, fresh):
    held = occupy(tmp_path / "out", fresh=fresh)
    with pytest.raises(ConfigurationError, match="another process is training into this folder"):
        occupy(tmp_path / "out", fresh=fresh)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    held.close()
    occupy(tmp_path / "out", fresh=fresh).close()
