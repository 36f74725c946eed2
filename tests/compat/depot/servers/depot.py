"""A tool server of a lending depot: MCP over standard input and output, with nothing but Python's own library.

Run as `python -m depot [NAME]`. What it holds is told by its own tool `__reserved__init`, what was done with it by
`__reserved__geteffects`.
"""

from __future__ import annotations

import json
import os
import sys
from copy import deepcopy
from typing import Any

NAME = sys.argv[1] if len(sys.argv) > 1 else "depot"


def tool(name: str, description: str, **parameters: str) -> dict[str, Any]:
    properties = {one: {"type": kind, "description": f"The {one}."} for one, kind in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    tool("__reserved__init", "Begin.", config="object"),
    tool("__reserved__geteffects", "Tell everything, the expected end included.", session_id="string"),
    tool("__reserved__teardown", "End."),
    tool("list_items", "All things and how many of each are here."),
    tool("lend", "Lend a thing to somebody.", item="string", to="string"),
    tool("take_back", "Take a lent thing back.", item="string", to="string"),
    tool("opening_hours", "When the depot is open."),
    tool("call_a_person", "Hand the conversation over.", reason="string"),
    tool("who", "Which server this is."),
    tool("crash", "End the server."),
]

state: dict[str, Any] = {}
start: dict[str, Any] = {}


def begin(config: dict[str, Any]) -> str:
    if "sources" in config:
        return json.dumps({"status": "error", "message": "no search engine at port 8108"})
    if config.get("broken"):
        return json.dumps({"status": "error", "message": config["broken"]})
    state.update(
        items=config.get("items", {}), loans=config.get("loans", []), hours=config.get("hours", "9 to 5")
    )
    start.update(deepcopy({"state": dict(state), "golden": config.get("golden_test_case")}))
    return json.dumps({"status": "ok", "keeper": config.get("keeper", "Ines"), "told": sorted(config)})


def effects(session_id: str) -> str:
    done = dict(state)
    expected = None
    if start["golden"] is not None:
        state.clear()
        state.update(deepcopy(start["state"]))
        for step in start["golden"]["tool_interactions"]:
            call(step["tool"], step["parameters"])
        expected = dict(state)
    told = {"state": done, "expected": expected, "session": session_id, "process": os.getpid()}
    return json.dumps(told)


def call(name: str, arguments: dict[str, Any]) -> str:
    match name:
        case "__reserved__init":
            return begin(arguments["config"])
        case "__reserved__geteffects":
            return effects(arguments["session_id"])
        case "list_items":
            return json.dumps(state["items"])
        case "lend":
            if state["items"].get(arguments["item"], 0) < 1:
                raise ValueError(f"there is no {arguments['item']} left")
            state["items"][arguments["item"]] -= 1
            state["loans"].append({"item": arguments["item"], "to": arguments["to"]})
            return json.dumps({"lent": arguments["item"]})
        case "take_back":
            state["loans"].remove({"item": arguments["item"], "to": arguments["to"]})
            state["items"][arguments["item"]] += 1
            return json.dumps({"back": arguments["item"]})
        case "opening_hours":
            return json.dumps({"hours": state["hours"]}) if state["hours"] else "nobody knows"
        case "who":
            return NAME
        case "crash":
            os._exit(3)
    return json.dumps({"status": "ok"})


def answer(request: dict[str, Any]) -> dict[str, Any] | None:
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": NAME, "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            try:
                text, failed = (
                    call(request["params"]["name"], request["params"].get("arguments") or {}),
                    False,
                )
            except Exception as error:  # noqa: BLE001 - what a tool raises is its answer
                text, failed = str(error), True
            return {"content": [{"type": "text", "text": text}], "isError": failed}
    return None


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request)
        unknown = {"error": {"code": -32601, "message": f"no method {request['method']}"}}
        reply = {"jsonrpc": "2.0", "id": request["id"], **(unknown if result is None else {"result": result})}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
