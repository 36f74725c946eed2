"""An MCP server over standard input and output in plain Python, so that it starts in no time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = {
    "echo": {"type": "object", "properties": {"text": {"type": "string"}}},
    "environment": {"type": "object", "properties": {"name": {"type": "string"}}},
    "arguments": {"type": "object"},
    "die": {"type": "object"},
    "hang": {"type": "object"},
    "big": {"type": "object"},
    "child": {"type": "object"},
    "refuse": {"type": "object"},
    "chatter": {"type": "object"},
    "ask": {"type": "object", "properties": {"method": {"type": "string"}}},
}

QUESTIONS: dict[str, dict[str, Any]] = {
    "elicitation/create": {
        "message": "How many beds?",
        "requestedSchema": {"type": "object", "properties": {}},
    },
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Write a poem."}}],
        "maxTokens": 10,
    },
    "roots/list": {},
}


def play(name: str, arguments: dict[str, Any]) -> str:
    match name:
        case "echo":
            return str(arguments["text"])
        case "environment":
            return os.environ.get(arguments["name"], "unset")
        case "arguments":
            return json.dumps(sys.argv[1:])
        case "die":
            sys.stderr.write("out of memory, sorry\n")
            sys.stderr.flush()
            os._exit(3)
        case "hang":
            time.sleep(1.0)
            return "late"
        case "big":
            return "é" * 2_500_000
        case "child":
            started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            return json.dumps([os.getpid(), started.pid])
        case "ask":
            request = {
                "jsonrpc": "2.0",
                "id": "q1",
                "method": arguments["method"],
                "params": QUESTIONS[arguments["method"]],
            }
            print(json.dumps(request), flush=True)
            return json.dumps(json.loads(sys.stdin.readline()).get("error", "answered"))
        case "chatter":
            print("loading the model ...\n\n{}", flush=True)
            return "done"
    raise LookupError(name)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            return {
                "result": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "plain", "version": "1"},
                }
            }
        case "tools/list":
            return {"result": {"tools": [{"name": one, "inputSchema": TOOLS[one]} for one in TOOLS]}}
        case "tools/call":
            if request["params"]["name"] == "refuse":
                return {"error": {"code": -32000, "message": "not today"}}
            text = play(request["params"]["name"], request["params"].get("arguments") or {})
            return {"result": {"content": [{"type": "text", "text": text}]}}
    return {"error": {"code": -32601, "message": "no such method"}}


def main() -> None:
    if log := os.environ.get("PLAIN_STARTS"):
        with Path(log).open("a") as file:
            file.write(f"{time.monotonic()} start\n")
        time.sleep(0.2)
        with Path(log).open("a") as file:
            file.write(f"{time.monotonic()} ready\n")
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer(request)}), flush=True)


if __name__ == "__main__":
    main()
