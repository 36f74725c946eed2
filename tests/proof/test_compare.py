"""What counts as the same, and what does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_thinkingbox.proof.compare import Effects, Reference
from pytest_thinkingbox.state.model import ReceivedMail, RowChange, Rules, SchemaDelta, StateDiff
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from tests.state.world import TABLES, VOLATILE, booking, delete, insert, refund, update

RULES = Rules(tables=TABLES, volatile=VOLATILE, bookkeeping=frozenset({"audit_log"}))


def line(id: int, refund_id: int, amount: int) -> RowChange:
    return insert("refund_lines", id=id, refund_id=refund_id, amount=amount)


def mail(to: str = "dana@example.com", text: str = "Hello", **fields: Any) -> ReceivedMail:
    return ReceivedMail(sender="desk@example.com", recipients=(to,), subject="Hi", text=text, **fields)


def compared(one: Effects, other: Effects) -> list[str]:
    reference = Reference(one, RULES)
    lines = reference.differences(other)
    assert reference.same(other) is not bool(lines)
    return lines


def between(
    one: list[RowChange],
    other: list[RowChange],
    mails: tuple[list[ReceivedMail], list[ReceivedMail]] = ([], []),
) -> list[str]:
    before, after = (
        Effects(diff=StateDiff(rows=tuple(rows)), mail=mail)
        for rows, mail in zip((one, other), mails, strict=True)
    )
    return compared(before, after)


def test_nothing_and_nothing_are_the_same() -> None:
    assert between([], []) == []


def test_generated_keys_and_their_order_make_no_difference() -> None:
    assert between([line(1, 9, 10), line(2, 9, 20)], [line(1, 9, 20), line(2, 9, 10)]) == []


def test_a_generated_key_is_followed_to_the_rows_that_hold_it() -> None:
    one = [refund(id=1), line(1, 1, 10)]
    assert between(one, [refund(id=5), line(8, 5, 10)]) == []
    assert between(one, [refund(id=5), line(8, 6, 10)]) != []


def test_lines_of_two_new_rows_may_not_change_places() -> None:
    one = [refund(id=1, amount=100), refund(id=2, amount=200), line(1, 1, 10), line(2, 2, 20)]
    renumbered = [refund(id=1, amount=200), refund(id=2, amount=100), line(1, 2, 10), line(2, 1, 20)]
    crossed = [refund(id=1, amount=100), refund(id=2, amount=200), line(1, 2, 10), line(2, 1, 20)]
    assert between(one, renumbered) == []
    assert between(one, crossed) != []


def test_a_key_that_was_there_before_is_compared_as_it_is() -> None:
    assert between([line(1, 9, 10)], [line(1, 8, 10)]) == [
        'Inserted("refund_lines", id=1, refund_id=8, amount=10) instead of '
        'Inserted("refund_lines", id=1, refund_id=9, amount=10)'
    ]


def test_volatile_columns_and_bookkeeping_make_no_difference() -> None:
    assert (
        between([refund(created_at=1), booking(status="x", updated_at=5)], [refund(), booking(status="x")])
        == []
    )
    assert between([], [insert("audit_log", id=1, what="read")]) == []


@pytest.mark.parametrize(
    "other",
    [
        [],
        [booking(status="no_show")],
        [booking(status="cancelled", room="single")],
        [booking(status="cancelled"), refund()],
        [update("bookings", {"id": 7, "status": "confirmed"}, status="cancelled")],
        [delete("bookings", id=1042)],
    ],
)
def test_another_value_column_row_or_kind_is_a_difference(other: list[RowChange]) -> None:
    assert between([booking(status="cancelled")], other) != []


def test_another_value_before_is_a_difference() -> None:
    one = update("bookings", {"id": 7, "status": "a"}, status="c")
    other = update("bookings", {"id": 7, "status": "b"}, status="c")
    assert between([one], [other]) != []


def test_rows_without_a_key_are_counted() -> None:
    note = insert("notes", author="me", body="x")
    assert between([note], [note]) == []
    assert between([note], [note, note]) == ['more: Inserted("notes", author="me", body="x")']


def test_mails_are_compared_in_any_order() -> None:
    one, two = mail(), mail("kim@example.com")
    assert between([], [], ([one, two], [two, one])) == []
    assert between([], [], ([one], [one, one])) == [
        'more: Mail(to="dana@example.com", subject="Hi", text="Hello", sender="desk@example.com")'
    ]
    assert len(between([], [], ([one], [two]))) == 2
    assert len(between([], [], ([one], [mail(text="Bye")]))) == 2
    assert between([], [], ([one], [mail(headers={"Message-ID": "<2>"})])) == []


def test_objects_of_the_schema_are_compared_with_what_they_became() -> None:
    def effects(after: str) -> Effects:
        delta = SchemaDelta("altered", "table", "bookings", "CREATE a", after)
        return Effects(diff=StateDiff(schema=(delta,)), mail=None)

    assert compared(effects("CREATE b"), effects("CREATE b")) == []
    assert compared(effects("CREATE b"), effects("CREATE c")) == [
        "table bookings became CREATE c instead of CREATE b"
    ]


LINES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=5)
"""Lines of three new refunds: whose they are, and their amount."""


def three_refunds(lines: list[tuple[int, int]], keys: list[int], line_keys: list[int]) -> list[RowChange]:
    refunds = [refund(id=key, amount=100 * number) for number, key in enumerate(keys)]
    return refunds + [
        line(key, keys[owner], amount) for key, (owner, amount) in zip(line_keys, lines, strict=False)
    ]


@given(lines=LINES, keys=st.permutations([1, 2, 3]), line_keys=st.permutations([1, 2, 3, 4, 5]))
def test_other_generated_keys_never_make_a_difference(
    lines: list[tuple[int, int]], keys: list[int], line_keys: list[int]
) -> None:
    one = three_refunds(lines, [1, 2, 3], [1, 2, 3, 4, 5])
    assert between(one, three_refunds(lines, keys, line_keys)) == []


@given(lines=LINES, others=LINES, keys=st.permutations([1, 2, 3]))
def test_other_lines_always_do(
    lines: list[tuple[int, int]], others: list[tuple[int, int]], keys: list[int]
) -> None:
    one = three_refunds(lines, [1, 2, 3], [1, 2, 3, 4, 5])
    other = three_refunds(others, keys, [1, 2, 3, 4, 5])
    assert (between(one, other) == []) is (sorted(lines) == sorted(others))


def test_requests_and_files_count_whatever_their_order_and_their_headers() -> None:
    def effects(*bodies: bytes, files: tuple[FileChange, ...] = ()) -> Effects:
        requests = [
            ReceivedRequest(method="POST", path="/hooks", data=body, headers={"date": str(number)})
            for number, body in enumerate(bodies)
        ]
        return Effects(diff=StateDiff(), mail=None, http=requests, files=files)

    assert compared(effects(b"1", b"2"), effects(b"2", b"1")) == []
    assert compared(effects(b"1"), effects(b"2")) == [
        'missing: Webhook(method="POST", path="/hooks", json=1)',
        'more: Webhook(method="POST", path="/hooks", json=2)',
    ]
    file = FileChange(change="added", path="a.txt", size=1, digest="x", data=b"a")
    assert compared(effects(files=(file,)), effects()) == ['missing: File("a.txt", change="added", text="a")']
