"""An MCP result as text for the agent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mcp_types import CallToolResult, ContentBlock, TextResourceContents

from pytest_thinkingbox.agents.base import ToolOutput


def render(result: CallToolResult, output_schema: Mapping[str, Any] | None) -> ToolOutput:
    """Text, images, sounds and resources in words; structured content as the value.

    The SDK wraps what is no object as `{"result": x}`; the value is then `x`.
    """
    value: Any = result.structured_content
    text = "\n".join(words(result.content))
    if not text and value is not None:
        text = json.dumps(value, ensure_ascii=False)
    if (
        output_schema is not None
        and _wraps(output_schema)
        and isinstance(value, dict)
        and list(value) == ["result"]
    ):
        value = value["result"]
    error = bool(result.is_error)
    return ToolOutput(text, error=error, value=None if error else value)


def words(content: Sequence[ContentBlock]) -> list[str]:
    return [_words(block) for block in content]


def _words(block: ContentBlock) -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return f"[{block.type}: {block.mime_type}, {_size(block.data)} bytes]"
        case "resource_link":
            described = f", {block.description}" if block.description else ""
            return f"[resource {block.name}: {block.uri}{described}]"
        case "resource":
            resource = block.resource
            if isinstance(resource, TextResourceContents):
                return resource.text
            return f"[resource {resource.uri}: {resource.mime_type}, {_size(resource.blob)} bytes]"


def _size(base64: str) -> int:
    return len(base64) * 3 // 4 - base64[-2:].count("=")


def _wraps(schema: Mapping[str, Any]) -> bool:
    return list(schema.get("properties", ())) == ["result"] and str(schema.get("title", "")).endswith(
        "Output"
    )
