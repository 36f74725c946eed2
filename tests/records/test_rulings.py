from __future__ import annotations

from pathlib import Path

import pytest

from pytest_thinkingbox.records.redact import Redactor
from pytest_thinkingbox.records.rulings import RulingStore
from pytest_thinkingbox.records.schema import BrokenRecords
from pytest_thinkingbox.state.rulings import Ruling


def ruling(**named: object) -> Ruling:
    fields = {
        "question": "Is it?",
        "about": "ab",
        "answer": "yes",
        "reason": "x",
        "model": "j",
        "cached": False,
    }
    return Ruling(**fields | named)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "judge.jsonl"


def store(path: Path) -> RulingStore:
    return RulingStore(path, redactor=Redactor())


def test_what_was_kept_is_found_by_another_process_and_is_cached_then(path: Path) -> None:
    assert store(path).find("k") is None
    assert store(path).keep("k", ruling()) == ruling()
    assert store(path).find("k") == ruling(cached=True)
    assert store(path).find("l") is None


def test_the_first_of_two_answers_counts(path: Path) -> None:
    late = store(path)
    assert late.find("k") is None
    store(path).keep("k", ruling())
    assert late.keep("k", ruling(answer="no")) == ruling(cached=True)
    assert store(path).find("k") == ruling(cached=True)
    assert len(path.read_text().splitlines()) == 1


def test_any_text_survives(path: Path) -> None:
    odd = ruling(reason="\ud800\x00\u2028</script>", question="'\"\n")
    store(path).keep("k", odd)
    assert store(path).find("k") == ruling(reason=odd.reason, question=odd.question, cached=True)


def test_half_a_line_of_a_killed_process_is_written_over(path: Path) -> None:
    store(path).keep("k", ruling())
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key": "l", "que')
    assert store(path).find("l") is None
    store(path).keep("m", ruling(answer="no"))
    assert store(path).find("k") == ruling(cached=True)
    assert store(path).find("m") == ruling(answer="no", cached=True)
    assert path.read_bytes().startswith(whole)


def test_a_line_that_is_no_ruling_is_named(path: Path) -> None:
    path.write_text('{"key": "k", "answer": "perhaps"}\n')
    with pytest.raises(BrokenRecords, match=r"judge\.jsonl: at byte 0: "):
        store(path).find("k")
