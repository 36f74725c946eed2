from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_thinkingbox.state.codec import (
    decode_diff,
    decode_mail,
    decode_row_change,
    decode_rules,
    encode_diff,
    encode_mail,
    encode_row_change,
    encode_rules,
)
from pytest_thinkingbox.state.model import (
    Attachment,
    ReceivedMail,
    RowChange,
    Rules,
    SchemaDelta,
    StateDiff,
    TableInfo,
)
from tests.state.strategies import PROPERTY, TEXT, VALUES

ROWS = st.dictionaries(TEXT, VALUES, max_size=3)
ROW_CHANGES = st.builds(
    RowChange,
    st.sampled_from(["insert", "update", "delete"]),
    TEXT,
    st.none() | st.lists(VALUES, max_size=2).map(tuple),
    st.none() | ROWS,
    st.none() | ROWS,
)
SCHEMA_DELTAS = st.builds(
    SchemaDelta,
    st.sampled_from(["created", "dropped", "altered"]),
    TEXT,
    TEXT,
    st.none() | TEXT,
    st.none() | TEXT,
)
TABLES = st.builds(
    TableInfo,
    name=TEXT,
    columns=st.lists(TEXT, max_size=3).map(tuple),
    key=st.lists(TEXT, max_size=2).map(tuple),
    generated=st.frozensets(TEXT, max_size=2),
)


def through_json(data: Any) -> Any:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    text.encode()
    return json.loads(text)


@PROPERTY
@given(st.lists(ROW_CHANGES, max_size=2), st.lists(SCHEMA_DELTAS, max_size=2))
def test_a_difference_survives_json(rows: list[RowChange], schema: list[SchemaDelta]) -> None:
    diff = StateDiff(rows=tuple(rows), schema=tuple(schema))
    assert repr(decode_diff(through_json(encode_diff(diff)))) == repr(diff)


@PROPERTY
@given(st.lists(TABLES, max_size=2), st.lists(TEXT, max_size=2), st.frozensets(TEXT, max_size=2))
def test_rules_survive_json(
    tables: list[TableInfo], volatile: list[str], bookkeeping: frozenset[str]
) -> None:
    rules = Rules(
        tables={info.name: info for info in tables}, volatile=tuple(volatile), bookkeeping=bookkeeping
    )
    assert decode_rules(through_json(encode_rules(rules))) == rules


@PROPERTY
@given(TEXT, st.lists(TEXT, max_size=3), st.dictionaries(TEXT, TEXT, max_size=2))
def test_a_mail_survives_json(text: str, recipients: list[str], headers: dict[str, str]) -> None:
    mail = ReceivedMail(
        sender=text,
        recipients=tuple(recipients),
        subject=text,
        text=text,
        html=text,
        headers=headers,
        attachments=(Attachment(name=text, type=text, data=b"\x00\xff"),),
    )
    assert decode_mail(through_json(encode_mail(mail))) == mail


def test_t26_five_megabytes_and_markup_survive_json() -> None:
    text = "</script>\x00\ud800\U0001f600" + "x" * 5_000_000
    change = RowChange("insert", "notes", None, None, {"body": text})
    assert decode_row_change(through_json(encode_row_change(change))) == change


def test_an_ordinary_row_is_stored_as_it_reads() -> None:
    change = RowChange(
        "update", "bookings", (1042,), {"id": 1042, "room": "suite"}, {"id": 1042, "room": None}
    )
    assert encode_row_change(change) == {
        "kind": "update",
        "table": "bookings",
        "key": [1042],
        "before": {"id": 1042, "room": "suite"},
        "after": {"id": 1042, "room": None},
    }
