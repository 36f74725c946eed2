from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_thinkingbox.backends.sqlite import SqliteBackend, store


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[SqliteBackend]:
    """One backend that is closed at the end."""
    made = SqliteBackend(label="test", directory=tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["copy", "overlay"])
def placed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the files of attempts come from, whatever their size."""
    monkeypatch.setattr(store, "_OVERLAY_FROM", 0 if request.param == "overlay" else 10**12)
    return str(request.param)
