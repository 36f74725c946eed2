"""A server that runs somewhere and is reached over HTTP."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer

remote: MCPServer[Any] = MCPServer("remote")


@remote.tool(name="__reserved__init")
def init(config: dict) -> str:  # type: ignore[type-arg]
    return json.dumps({"status": "ok", "wares": sorted(config.get("items", {}))})


@remote.tool(name="__reserved__geteffects")
def geteffects() -> str:
    return json.dumps({"seen": True})


@remote.tool()
def who() -> str:
    return "remote"


@pytest.fixture
def url():
    server = uvicorn.Server(
        uvicorn.Config(remote.streamable_http_app(), host="127.0.0.1", port=0, log_level="error")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join(10)


@pytest.mark.slow
def test_a_remote_server_begins_is_asked_and_tells(url, depot, run_depot):
    servers = depot / "servers" / "servers.yaml"
    servers.write_text(f"servers:\n  depot:\n    type: mcp-remote\n    endpoint: {url}\n", encoding="utf-8")
    (depot / "dataset" / "scenario" / "far.yaml").write_text(
        "world_state:\n  depot: {items: {saw: 1}}\ntools:\n- name: who\n", encoding="utf-8"
    )
    (depot / "dataset" / "test_case" / "far.py").write_text(
        "def test_far(x):\n"
        '    """!\n    scenario: far\n    query: Who is there?\n'
        "    init: {depot: {golden_test_case: {tool_interactions: [{tool: who}]}}}\n"
        '    """\n'
        "    assert x.tool_calls[0].tool_response.content == 'remote'\n"
        "    assert x.init_result == {'depot': {'wares': ['saw']}}\n"
        "    assert x.effects == {'depot': {'seen': True}}\n",
        encoding="utf-8",
    )
    outcome = run_depot("-k", "far")
    assert outcome.counts == {"passed": 1, "deselected": 11}, outcome.text
