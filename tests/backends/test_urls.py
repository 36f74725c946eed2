from __future__ import annotations

import pytest

from pytest_thinkingbox.backends import make_backend
from pytest_thinkingbox.errors import ConfigurationError


@pytest.mark.parametrize(
    "url",
    [
        "postgresql//me:secret123@host/db",
        "postgresql+psycopg://me:secret123@host:port/db",
        "postgres://me:secret123@host/db",
        "mysql+pymysql://me:secret123@host:port",
        "oracle://me:secret123@host",
    ],
)
def test_an_error_about_a_url_does_not_show_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make_backend(url, label="x")
    assert caught.value.__cause__ is None
    assert "secret123" not in str(caught.value)
