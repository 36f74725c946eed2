from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest

from pytest_thinkingbox.errors import MissingSink
from pytest_thinkingbox.state.claims import Changes
from pytest_thinkingbox.state.expect import File, Mail, Same, Webhook
from pytest_thinkingbox.state.explain import explain_comparison, explain_unaccounted
from pytest_thinkingbox.state.model import Attachment, ReceivedMail, Rules, StateDiff
from pytest_thinkingbox.state.outbox import FileBox, MailBox, Outbox, RequestBox
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest

NOTHING = Changes(StateDiff(), Rules(tables={}))


def request(**named: Any) -> ReceivedRequest:
    fields: dict[str, Any] = {
        "method": "POST",
        "path": "/bookings",
        "data": b'{"id": 1042, "total": 25.0}',
        "headers": {"content-type": "application/json", "x-signature": "abc"},
    }
    return ReceivedRequest(**fields | named)


def file(path: str = "out.txt", change: Any = "added", data: bytes | None = b"Hello") -> FileChange:
    return FileChange(change=change, path=path, size=len(data or b""), digest="d", data=data)


def test_requests_are_compared_in_any_order_and_stay_in_order_of_arrival() -> None:
    box = RequestBox([request(path="/a"), request(path="/b")])
    assert box == [Webhook(path="/b"), Webhook(path="/a")]
    assert [one.path for one in box] == ["/a", "/b"]


@pytest.mark.parametrize(
    "right",
    [
        {},
        {"method": "post", "path": "/bookings"},
        {"json": {"total": 25, "id": 1042}},
        {"json": {"id": ANY, "total": ANY}},
        {"text": '{"id": 1042, "total": 25.0}'},
        {"query": {}},
        {"headers": {"X-Signature": "abc"}},
        {"form": {}},
    ],
)
def test_what_is_not_named_is_free(right: dict[str, Any]) -> None:
    assert RequestBox([request()]) == [Webhook(**right)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "PUT"},
        {"path": "/booking"},
        {"json": {"id": 1042}},
        {"json": {"id": 1042, "total": "25"}},
        {"text": ""},
        {"query": {"a": "b"}},
        {"headers": {"X-Signature": "abd"}},
        {"headers": {"X-Other": ANY}},
        {"form": {"id": "1042"}},
    ],
)
def test_every_named_field_is_compared(wrong: dict[str, Any]) -> None:
    assert RequestBox([request()]) != [Webhook(**wrong)]


def test_same_links_requests() -> None:
    box = RequestBox([request(data=b'{"key": "k1"}'), request(data=b'{"key": "k1"}', path="/again")])
    both = [
        Webhook(path="/bookings", json={"key": Same("k")}),
        Webhook(path="/again", json={"key": Same("k")}),
    ]
    assert box == both
    assert RequestBox([request(data=b'{"key": "k1"}'), request(data=b'{"key": "k2"}', path="/again")]) != both


def test_in_json_true_is_not_one() -> None:
    assert RequestBox([request(data=b'{"paid": true}')]) != [Webhook(json={"paid": 1})]


def test_taking_one_of_two_retries_needs_no_more_names() -> None:
    box = RequestBox([request(headers={"date": "1"}), request(headers={"date": "2"})])
    box.take(Webhook(path="/bookings"))
    assert len(box) == 1
    with pytest.raises(AssertionError, match="2 requests are"):
        RequestBox([request(), request(data=b"{}")]).take(Webhook())


def test_a_mismatch_names_the_field_inside_the_body() -> None:
    box = RequestBox([request()])
    expected = [Webhook(method="POST", path="/bookings", json={"id": 1043, "total": 25})]
    assert explain_comparison("==", box, expected) == [
        "requests differ: 0 as expected, 1 differs",
        'differs: Webhook(method="POST", path="/bookings", json={"id": 1043, "total": 25})',
        '    json["id"]: expected 1043, is 1042',
        '    it is Webhook(method="POST", path="/bookings", json={"id": 1042, "total": 25.0})',
    ]


def test_files_are_named_by_path_change_and_content() -> None:
    box = FileBox([file(data=b'{"a": 1}', path="a.json"), file("gone.txt", "removed", None)])
    assert box == [File("gone.txt", change="removed"), File("a.json", json={"a": 1})]
    assert box == [File(change="added", text='{"a": 1}'), File(ANY)]
    assert box != [File("gone.txt", change="changed"), File("a.json")]
    assert box != [File("a.json")]


def test_attachments_are_named_in_any_order() -> None:
    attached = tuple(Attachment(name=name, type="text/plain", data=b"") for name in ("a.txt", "b.txt"))
    box = MailBox(
        [ReceivedMail(sender="a@x", recipients=("b@x",), subject="", text="", attachments=attached)]
    )
    assert box == [Mail(attachments=["b.txt", "a.txt"])]
    assert box == [Mail(attachments=[ANY, "a.txt"])]
    assert box != [Mail(attachments=["a.txt"])]
    assert box != [Mail(attachments=["a.txt", "a.txt"])]
    with pytest.raises(TypeError, match=r"must be a list of names"):
        Mail(attachments="a.txt")


def test_what_nobody_accounted_for_is_named_as_code() -> None:
    outbox = Outbox(None, [request(), request(data=b"x=1", headers={}, method="PUT")], [file()])
    assert outbox.http.take(Webhook(method="POST"))
    assert explain_unaccounted(NOTHING, outbox).splitlines() == [
        "the checker did not account for 1 request and 1 file:",
        '    Webhook(method="PUT", path="/bookings", text="x=1")',
        '    File("out.txt", change="added", text="Hello")',
        "all that happened, as code:",
        "    assert changes == []",
        "    assert attempt.outbox.http == [",
        '        Webhook(method="POST", path="/bookings", json={"id": 1042, "total": 25.0}),',
        '        Webhook(method="PUT", path="/bookings", text="x=1"),',
        "    ]",
        "    assert attempt.outbox.files == [",
        '        File("out.txt", change="added", text="Hello"),',
        "    ]",
    ]


def test_a_sink_that_is_not_there_raises_and_says_how_to_get_it() -> None:
    with pytest.raises(MissingSink, match=r"Environment\(http=True\)"):
        _ = Outbox([]).http
    with pytest.raises(MissingSink, match=r"Environment\(workdir=True\)"):
        _ = Outbox([]).files
    assert Outbox([], [], []).http == []
    assert Outbox([], [], []).files == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Webhook(path="bookings"), "must begin with '/'"),
        (lambda: Webhook(path="/a?b=c"), "holds a query"),
        (lambda: Webhook(method=1), "method=1 must be a string"),
        (lambda: File("/tmp/x"), "must be relative"),
        (lambda: File(change="moved"), "must be one of added, changed, removed"),
    ],
)
def test_wrong_expectations_are_refused_where_they_are_written(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()
