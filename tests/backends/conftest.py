from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_thinkingbox.backends.sqlite import SqliteBackend


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[SqliteBackend]:
    """One backend that is closed at the end."""
    made = SqliteBackend(label="test", directory=tmp_path)
    yield made
    made.close()
