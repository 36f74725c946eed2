from __future__ import annotations

import base64

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.tools.results import render

DATA = base64.b64encode(b"12345").decode()


def test_texts_are_joined_and_structured_content_is_the_value() -> None:
    result = CallToolResult(
        content=[TextContent(text="one"), TextContent(text="two")], structured_content={"id": 7}
    )
    assert render(result, None) == ToolOutput("one\ntwo", value={"id": 7})


def test_structured_content_without_text_is_shown_as_json() -> None:
    assert (
        render(CallToolResult(content=[], structured_content={"guest": "Zoë"}), None).text
        == '{"guest": "Zoë"}'
    )


def test_an_empty_result_is_an_empty_text() -> None:
    assert render(CallToolResult(content=[]), None) == ToolOutput("")


def test_images_sounds_and_resources_are_told_in_words() -> None:
    content = [
        ImageContent(data=DATA, mime_type="image/png"),
        AudioContent(data=DATA, mime_type="audio/wav"),
        ResourceLink(name="invoice", uri="shop://invoice/7", description="of March"),
        EmbeddedResource(resource=TextResourceContents(uri="shop://terms", text="No smoking.")),
        EmbeddedResource(resource=BlobResourceContents(uri="shop://scan", blob=DATA, mime_type="image/tiff")),
    ]
    assert render(CallToolResult(content=content), None).text.splitlines() == [
        "[image: image/png, 5 bytes]",
        "[audio: audio/wav, 5 bytes]",
        "[resource invoice: shop://invoice/7, of March]",
        "No smoking.",
        "[resource shop://scan: image/tiff, 5 bytes]",
    ]


def test_what_the_sdk_wrapped_is_unwrapped_again() -> None:
    schema = {"title": "find_roomsOutput", "properties": {"result": {"type": "array"}}}
    result = CallToolResult(content=[TextContent(text="[1, 2]")], structured_content={"result": [1, 2]})
    assert render(result, schema).value == [1, 2]


def test_an_object_of_the_authors_own_with_a_result_stays_an_object() -> None:
    schema = {"title": "Verdict", "properties": {"result": {"type": "string"}}}
    result = CallToolResult(content=[], structured_content={"result": "guilty"})
    assert render(result, schema).value == {"result": "guilty"}


def test_an_error_has_no_value() -> None:
    result = CallToolResult(content=[TextContent(text="no")], structured_content={"id": 7}, is_error=True)
    assert render(result, None) == ToolOutput("no", error=True)
