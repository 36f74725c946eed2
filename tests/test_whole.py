"""Files that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_thinkingbox.whole import whole


@pytest.mark.parametrize("durable", [False, True])
def test_what_was_written_takes_the_place_of_what_was_there(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with whole(path, durable=durable) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_breaks_off_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def write() -> None:
        with whole(path) as part:
            part.write_text("ne")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
