"""A server of an older time, without any library: it asks its client for things while a tool runs."""

from __future__ import annotations

import json
import sys
from typing import Any

REQUESTS: dict[str, dict[str, Any]] = {
    "elicitation/create": {
        "message": "Really?",
        "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}},
    },
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
        "maxTokens": 5,
    },
    "roots/list": {},
    "ping": {},
    "odd/request": {},
}
TOOLS = [
    {"name": "ask", "inputSchema": {"type": "object", "properties": {"method": {"type": "string"}}}},
    {"name": "tell", "inputSchema": {"type": "object"}},
    {"name": "show", "inputSchema": {"type": "object"}},
]
SHOWN = [
    {"type": "text", "text": "see"},
    {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "file:///bill.pdf", "name": "bill", "description": "May"},
    {"type": "resource", "resource": {"uri": "note://1", "text": "inner", "mimeType": "text/plain"}},
    {"type": "resource", "resource": {"uri": "blob://1", "blob": "AAAA", "mimeType": "application/pdf"}},
]


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        raise SystemExit
    message: dict[str, Any] = json.loads(line)
    return message


def answer_to(method: str) -> dict[str, Any]:
    send(id="asked", method=method, params=REQUESTS[method])
    while True:
        message = receive()
        if message.get("id") == "asked" and "method" not in message:
            return message


def called(name: str, arguments: dict[str, Any], token: Any) -> dict[str, Any]:
    if name == "ask":
        answer = answer_to(arguments["method"])
        text = f"error {answer['error']['code']}" if "error" in answer else "answered"
        return {"content": [{"type": "text", "text": text}]}
    if name == "tell":
        send(method="notifications/tools/list_changed")
        send(method="notifications/resources/updated", params={"uri": "a://b"})
        send(method="notifications/message", params={"level": "info", "data": "going"})
        send(method="notifications/progress", params={"progressToken": token or "none", "progress": 1})
        send(method="notifications/odd")
        return {"content": [], "structuredContent": {"told": True}}
    return {"content": SHOWN}


def main() -> None:
    while True:
        message = receive()
        match message.get("method"):
            case "initialize":
                capabilities = {"tools": {"listChanged": True}, "logging": {}}
                info = {"name": "old", "version": "1"}
                result = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
                send(id=message["id"], result=result)
            case "tools/list":
                send(id=message["id"], result={"tools": TOOLS})
            case "tools/call":
                params = message["params"]
                token = (params.get("_meta") or {}).get("progressToken")
                send(id=message["id"], result=called(params["name"], params.get("arguments") or {}, token))
            case str() if "id" in message:
                send(id=message["id"], error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    main()
