from __future__ import annotations

import json
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

NODE = """Error: no such row
    at Object.<anonymous> (/srv/shop.js:3:9)
    at async refund (file:///srv/shop.mjs:30:11)
    at node:internal/main/run_main_module:28:49
"""
JAVA = """java.lang.IllegalStateException: closed
\tat com.acme.Shop.refund(Shop.java:33)
\tat java.base/java.lang.Thread.run(Native Method)
Caused by: java.io.IOException: no
\t... 12 more
"""
DOTNET = """System.InvalidOperationException: no row
   at Acme.Shop.Refund(Int32 id) in /srv/Shop.cs:line 12
   at Acme.Program.Main(String[] args)
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
        ("cannot read '/tmp/x y'", "cannot read '[path]'"),
        ("cannot read C:\\Users\\dana\\x.txt now", "cannot read [path] now"),
        ("POST /api/v1/bookings and 3/4 of https://example.com/home/dana", None),
        ("the guest in room 12 is not you", None),
        ("at 10:30 at Hotel Sol (Boston), port=80", None),
        (TRACEBACK.replace("\n", "\r\n"), "boom\r\nKeyError: 'amount'"),
        (json.dumps({"error": TRACEBACK}), '{"error": "boom\\nKeyError: \'amount\'\\n"}'),
        (repr(TRACEBACK), "\"boom\\nKeyError: 'amount'\\n\"".replace("'", "\\'").replace('"', "'")),
        (NODE, "Error: no such row"),
        (json.dumps({"error": NODE}), '{"error": "Error: no such row\\n"}'),
        (JAVA, "java.lang.IllegalStateException: closed\nCaused by: java.io.IOException: no"),
        (DOTNET, "System.InvalidOperationException: no row"),
        ("panic: x\n\ngoroutine 1 [running]:\nmain.pay()\n\t/go/src/main.go:12 +0x1d\n", "panic: x"),
        ("no row (NoRow)\n\tfrom /srv/shop.rb:12:in 'refund'\n\tfrom x.rb:1:in '<main>'", "no row (NoRow)"),
        ("postgresql://agent_8@127.0.0.1:5432/x is down", "[database] is down"),
        ("host=127.0.0.1 port=5432 user=a password='b c' dbname=d is down", "[database] is down"),
        ("Server=db;User Id=sa;Password=abc;", "Server=db;User Id=sa;Password=[password];"),
        ("cannot open:/home/dana/x.db", "cannot open:[path]"),
        ("open /builds/dana/app/server and /code/server.py", "open [path] and [path]"),
        ("see file:///home/dana/server.mjs:3", "see [path]:3"),
        ("no ~/.pgpass", "no [path]"),
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
