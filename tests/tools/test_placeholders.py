from __future__ import annotations

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.tools.placeholders import database_file, fill

VALUES = {
    "database_url": "sqlite:////d.db",
    "database_path": None,
    "attempt_id": "a[try1]",
    "now": None,
    "mail_host": None,
}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("--db={database_url}", "--db=sqlite:////d.db"),
        ("{attempt_id}/{attempt_id}", "a[try1]/a[try1]"),
        ('{"url": "{database_url}", "n": {}}', '{"url": "sqlite:////d.db", "n": {}}'),
        ("${HOME} ${database_url} {0} { attempt_id }", "${HOME} ${database_url} {0} { attempt_id }"),
        ("awk '{{print}}'", "awk '{print}'"),
    ],
)
def test_placeholders_are_filled_and_other_braces_stay(text: str, filled: str) -> None:
    assert fill(text, VALUES, where="here") == filled


def test_an_unknown_placeholder_is_named_with_the_way_out() -> None:
    with pytest.raises(
        ConfigurationError, match=r"here: \{databse_url\} in '\{databse_url\}' is no placeholder"
    ) as e:
        fill("{databse_url}", VALUES, where="here")
    assert "there are {database_url}, {database_path}, {attempt_id}, {now}, {mail_host}" in str(e.value)
    assert "Write {{databse_url}} for the text {databse_url}" in str(e.value)


@pytest.mark.parametrize(
    ("name", "way_out"),
    [("now", "now=datetime"), ("mail_host", "mail=False"), ("database_path", "sqlite backend")],
)
def test_a_placeholder_without_a_value_says_what_the_environment_lacks(name: str, way_out: str) -> None:
    with pytest.raises(ConfigurationError, match=way_out):
        fill(f"{{{name}}}", VALUES, where="here")


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:////tmp/a b/d.db", "/tmp/a b/d.db"),
        ("sqlite+pysqlite:////tmp/d.db?timeout=5", "/tmp/d.db"),
        ("sqlite://", None),
        ("sqlite:///:memory:", None),
        ("postgresql+psycopg://user:secret@127.0.0.1:5432/shop", None),
    ],
)
def test_the_path_of_a_database_is_that_of_its_file(url: str, file: str | None) -> None:
    assert database_file(url) == file
