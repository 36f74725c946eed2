from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_thinkingbox.effects import files
from pytest_thinkingbox.effects.files import WorkDir


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "start"
    (folder / "rates").mkdir(parents=True)
    (folder / "rates" / "berlin.csv").write_text("single,98\n")
    (folder / "readme.txt").write_text("Rates.")
    return folder


@pytest.fixture
def workdir(source: Path) -> Iterator[WorkDir]:
    made = WorkDir(source)
    yield made
    made.remove()


def said(workdir: WorkDir) -> list[tuple[str, str, str]]:
    return [(one.change, one.path, one.text) for one in workdir.changes()]


def test_a_copy_that_nobody_touched_has_no_changes(workdir: WorkDir, source: Path) -> None:
    assert workdir.changes() == ()
    assert (workdir.folder / "rates" / "berlin.csv").read_text() == "single,98\n"
    assert workdir.folder != source


def test_files_that_are_added_changed_and_removed_are_told_by_path(workdir: WorkDir, source: Path) -> None:
    (workdir.folder / "rates" / "berlin.csv").write_text("single,99\n")
    (workdir.folder / "readme.txt").unlink()
    (workdir.folder / "out").mkdir()
    (workdir.folder / "out" / "bill.txt").write_text("99")
    assert said(workdir) == [
        ("added", "out/bill.txt", "99"),
        ("changed", "rates/berlin.csv", "single,99\n"),
        ("removed", "readme.txt", ""),
    ]
    assert (source / "rates" / "berlin.csv").read_text() == "single,98\n"


def test_a_file_written_with_the_content_that_it_had_is_no_change(workdir: WorkDir) -> None:
    (workdir.folder / "readme.txt").write_text("Rates.")
    os.utime(workdir.folder / "readme.txt", (0, 0))
    assert workdir.changes() == ()


def test_a_link_is_not_followed(workdir: WorkDir, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (workdir.folder / "link").symlink_to(tmp_path / "secret")
    (workdir.folder / "folder").symlink_to(tmp_path)
    assert [(path, text) for _, path, text in said(workdir)] == [
        ("folder", f"-> {tmp_path}"),
        ("link", f"-> {tmp_path}/secret"),
    ]


def test_of_a_large_file_only_size_and_digest_are_kept(
    workdir: WorkDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST_KEPT", 10)
    (workdir.folder / "large").write_bytes(b"x" * 11)
    (workdir.folder / "small").write_bytes(b"x" * 10)
    large, small = workdir.changes()
    assert (large.size, large.data, small.size, small.data) == (11, None, 10, b"x" * 10)
    assert large.digest != small.digest


def test_odd_files_are_no_trouble(workdir: WorkDir) -> None:
    os.mkfifo(workdir.folder / "pipe")
    Path(os.fsdecode(os.fsencode(workdir.folder) + b"/\xff")).write_text("odd")
    assert said(workdir) == [("added", "\udcff", "odd")]


def test_the_folder_goes_whatever_permissions_were_taken(source: Path) -> None:
    workdir = WorkDir(source)
    (workdir.folder / "rates" / "berlin.csv").chmod(0)
    (workdir.folder / "rates").chmod(0)
    workdir.remove()
    assert not workdir.folder.exists()


def test_the_folders_of_a_process_lie_in_one_that_goes_with_the_last(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    one, other = WorkDir(source), WorkDir(None)
    assert one.folder != other.folder
    [place] = temporary.iterdir()
    one.remove()
    assert [place] == list(temporary.iterdir())
    other.remove()
    assert list(temporary.iterdir()) == []


CLOSES = """
import fcntl
import os
from pytest_thinkingbox.effects.files import WorkDir

if os.geteuid() == 0:
    os.setuid(65534)  # to root nothing is closed
made = WorkDir(None)
(made.folder / "in" / "deep").mkdir(parents=True)
(made.folder / "in" / "deep" / "note.txt").write_text("x")
(made.folder / "in" / "deep").chmod(0)
(made.folder / "in").chmod(0)
made.folder.chmod(0)
print([(one.change, one.path, one.text) for one in made.changes()])
made.remove()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be closed")
def test_files_in_folders_that_were_closed_are_seen() -> None:
    done = subprocess.run([sys.executable, "-c", CLOSES], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[('added', 'in/deep/note.txt', 'x')]\n", "")


def test_a_file_or_a_link_in_the_place_of_the_folder_is_seen_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("x")
    made = WorkDir(None)
    made.folder.rmdir()
    made.folder.symlink_to(tmp_path)
    assert said(made) == [("added", ".", f"-> {tmp_path}")]
    made.folder.unlink()
    made.folder.write_text("not a folder")
    assert said(made) == [("added", ".", "not a folder")]
    made.folder.unlink()
    assert said(made) == []
    made.remove()
