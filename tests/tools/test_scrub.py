from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_thinkingbox.tools.scrub import Scrubber

POSTGRES = Scrubber("postgresql+psycopg://agent_7:s3cret%21word@127.0.0.1:5432/attempt_7")
SQLITE = Scrubber("sqlite:////var/tmp/tb/attempt-7.db")

TRACEBACK = """boom
Traceback (most recent call last):
  File "/home/dana/shop/server.py", line 12, in refund
    connection.execute(statement)
    ^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3/x.py", line 1, in execute
KeyError: 'amount'
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at postgresql+psycopg://agent_7:s3cret%21word@127.0.0.1:5432/attempt_7!", "at [database]!"),
        ("at postgresql://agent_7:s3cret%21word@127.0.0.1:5432/attempt_7", "at [database]"),
        ("password s3cret!word is wrong", "password [database] is wrong"),
        ("password s3cret%21word is wrong", "password [database] is wrong"),
        ("other mysql://root:hunter2@db:3306/x here", "other [database] here"),
        (TRACEBACK, "boom\nKeyError: 'amount'"),
        ('  File "/home/dana/server.py", line 3, in f\n    f()\nValueError: no', "ValueError: no"),
        ("cannot read /home/dana/.ssh/id_rsa: denied", "cannot read [path]: denied"),
        ("cannot read '/tmp/x y'", "cannot read '[path] y'"),
        ("cannot read C:\\Users\\dana\\x.txt now", "cannot read [path] now"),
        ("POST /api/v1/bookings and 3/4 of https://example.com/home/dana", None),
        ("the guest in room 12 is not you", None),
    ],
)
def test_t46_an_error_holds_no_dsn_password_path_or_stack(text: str, expected: str | None) -> None:
    assert POSTGRES.error(text) == (text if expected is None else expected)


def test_t46_the_files_of_this_run_are_paths_wherever_they_lie() -> None:
    text = f"{sys.prefix}/bin/python {Path.home()}/notes.txt {Path.cwd()}/server.py"
    assert SQLITE.error(text) == "[path] [path] [path]"


def test_t46_the_database_file_is_hidden_in_results_too() -> None:
    assert SQLITE.result("main /var/tmp/tb/attempt-7.db") == "main [database]"
    assert SQLITE.result("sqlite:////var/tmp/tb/attempt-7.db") == "[database]"


def test_results_keep_paths_that_are_what_the_tool_is_about() -> None:
    assert SQLITE.result("saved as /home/guest/invoice.pdf") == "saved as /home/guest/invoice.pdf"


def test_a_short_password_does_not_eat_ordinary_words() -> None:
    assert Scrubber("mysql://root:room@db/x").error("the room is taken") == "the room is taken"


def test_an_in_memory_database_has_no_file_to_hide() -> None:
    assert Scrubber("sqlite://").error("all is well") == "all is well"
    assert Scrubber("sqlite:///:memory:").result("all is well") == "all is well"
