from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from pytest_thinkingbox.records.model import RECORD_VERSION, CampaignInfo, Hashes, ToolCallRecord, UsageRecord
from pytest_thinkingbox.records.redact import Redactor
from pytest_thinkingbox.records.schema import (
    SCHEMA_PATH,
    BrokenRecords,
    attempt_schema,
    parse_info,
    parse_record,
)
from pytest_thinkingbox.records.wire import dump, info_data, record_data
from pytest_thinkingbox.state.model import Attachment, ReceivedMail
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from tests.records.builders import info, record

FULL = record(
    "failed",
    detail="assert [] == [Inserted('approvals')]",
    credit=0.25,
    reward=0.25,
    messages=({"role": "user", "content": "hi"},),
    tool_calls=(
        ToolCallRecord(id="c1", name="book", arguments={"id": 1}, result="no", error=True, seconds=0.5),
    ),
    response="done",
    changes={"rows": [], "schema": []},
    mail=(ReceivedMail(sender="a@b", recipients=("c@d",), subject="s", text="t", headers={"X": "y"}),),
    usage={
        "agent": UsageRecord(requests=1, input_tokens=2, cached_tokens=0, output_tokens=3, reasoning_tokens=1)
    },
    seconds={"agent": 1.5},
    tags=("approval",),
    min_pass_rate=0.5,
    hashes=Hashes(prompt="aa", checker="bb"),
)


def written(**changed: Any) -> str:
    data = record_data(FULL) | changed
    return json.dumps({key: value for key, value in data.items() if value != "LEFT OUT"}, default=str)


def test_a_record_reads_back_as_it_was_written() -> None:
    assert parse_record(dump(record_data(FULL), redactor=Redactor()), where="here") == FULL


def test_a_campaign_reads_back_as_it_was_written() -> None:
    whole = info(
        tasks={"t": 20},
        min_pass_rate=0.3,
        options={"n": [1, None]},
        versions={"pytest": "9.2.0"},
        environments={"hotel": Hashes(seed="aa")},
        task_hashes={"t": Hashes(prompt="bb")},
        partial="-x",
    )
    assert parse_info(dump(info_data(whole), redactor=Redactor(), indent=2), where="here") == whole


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"surprise": 1}, "here:7: surprise: Extra inputs are not permitted, got 1"),
        ({"attempt": "1"}, "here:7: attempt: Input should be a valid integer, got '1'"),
        ({"attempt": 0}, "here:7: attempt: Input should be greater than or equal to 1, got 0"),
        ({"final": 1}, "here:7: final: Input should be a valid boolean, got 1"),
        (
            {"outcome": "skipped"},
            "here:7: outcome: Input should be 'passed', 'failed' or 'invalid', got 'skipped'",
        ),
        ({"reward": 2.0}, "here:7: reward: Input should be less than or equal to 1, got 2.0"),
        ({"seed": "LEFT OUT"}, "here:7: seed: Field required"),
        ({"cause": "user"}, "only invalid has a cause"),
        ({"usage": {"agent": {"requests": -1}}}, "here:7: usage.agent.requests: "),
    ],
)
def test_a_record_that_is_not_as_declared_is_refused_by_field_and_value(
    changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(BrokenRecords) as error:
        parse_record(written(**changed), where="here:7")
    assert message in str(error.value)


def test_another_version_is_refused_by_name() -> None:
    with pytest.raises(BrokenRecords, match=r"here: record version 3; this version .* reads versions 1 to 2"):
        parse_record(written(version=3), where="here")


def test_a_line_of_version_1_is_migrated_and_its_hashes_say_nothing() -> None:
    line = written(version=1, volatile="LEFT OUT", regraded_at="LEFT OUT")
    migrated = parse_record(line, where="here")
    assert (migrated.version, migrated.volatile, migrated.regraded_at) == (2, (), None)
    assert migrated.hashes == Hashes()
    assert migrated.messages == FULL.messages


def test_a_campaign_of_version_1_is_migrated() -> None:
    data = info_data(info(tasks={"t": 2})) | {"version": 1}
    del data["purpose"], data["shard"]
    migrated = parse_info(json.dumps(data), where="here")
    assert (migrated.purpose, migrated.shard, migrated.tasks) == ("evaluation", None, {"t": 2})


@pytest.mark.parametrize("text", ["", "{", "nonsense", "\x00", "[" * 100_000])
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(BrokenRecords, match="here: not JSON"):
        parse_record(text, where="here")


def test_json_that_is_no_object_is_refused() -> None:
    with pytest.raises(BrokenRecords, match="here: a JSON object was expected, not list"):
        parse_record("[]", where="here")


def test_the_shipped_schema_is_current() -> None:
    """Run `python -m pytest_thinkingbox.records.schema` after a change, and think of the version."""
    assert SCHEMA_PATH.read_text(encoding="ascii") == attempt_schema()
    assert json.loads(attempt_schema())["properties"]["version"]["const"] == RECORD_VERSION


def test_a_record_validates_against_the_shipped_schema() -> None:
    schema = json.loads(SCHEMA_PATH.read_text(encoding="ascii"))
    jsonschema.validate(json.loads(written()), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(written(surprise=1)), schema)


def test_campaign_info_has_a_field_for_each_of_the_file() -> None:
    assert isinstance(parse_info(json.dumps(info_data(info())), where="here"), CampaignInfo)


def test_what_the_sinks_held_survives_whatever_it_is() -> None:
    odd = "\udcff\x00\u202e"
    written_one = record(
        mail=[
            ReceivedMail(
                sender=odd,
                recipients=(odd,),
                subject=odd,
                text=odd,
                attachments=(Attachment(name=odd, type="a/b", data=b"\xff\x00"),),
            )
        ],
        http=[
            ReceivedRequest(
                method="POST", path=odd, query={odd: [odd, ""]}, headers={odd: odd}, data=b"\xff{"
            ),
            ReceivedRequest(method="GET", path="/", data='{"name": "Zoë"}'.encode(), status=None),
        ],
        files=[
            FileChange(change="added", path=odd, size=2, digest="d", data=b"\xff\x00"),
            FileChange(change="removed", path="a", size=2, digest="d"),
        ],
    )
    line = dump(record_data(written_one), redactor=Redactor())
    assert '"data":"{\\"name\\": \\"Zo\\u00eb\\"}"' in line
    read = parse_record(line, where="here")
    assert (read.mail, read.http, read.files) == (
        tuple(written_one.mail or ()), tuple(written_one.http or ()), tuple(written_one.files or ()),
    )  # fmt: skip


def test_content_that_is_no_base64_is_refused_by_name() -> None:
    data = record_data(record(files=[FileChange(change="added", path="a", size=1, digest="d", data=b"\xff")]))
    data["files"][0]["data"]["base64"] = "?"
    with pytest.raises(BrokenRecords, match=r"here: .*base64"):
        parse_record(json.dumps(data), where="here")
