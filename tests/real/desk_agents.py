"""Agents made with pydantic-ai for the hotel's desk; what their model says is a script.

`python:tests.real.desk_agents:careful` and its like take the tools from the task; run as a program, with the name of
one as its argument, they take them from the MCP endpoint, with pydantic-ai's own client.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent, Tool
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

if TYPE_CHECKING:
    from pytest_thinkingbox.agents.base import AgentTask

Script = Callable[[list[ModelMessage], AgentInfo], ModelResponse]


def ask_the_manager(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Two calls at once, then calls that need what those gave."""
    results = _results(messages)
    if "get_booking" not in results:
        return _calls(get_booking={"booking_id": 1042}, get_paperwork={"booking_id": 1042})
    booking = _read(results["get_booking"])
    if "get_guest" not in results:
        return _calls(get_guest={"guest_id": booking["guest"]["manager_id"]})
    manager = _read(results["get_guest"])
    if "request_approval" not in results:
        asked = {"booking_id": 1042, "kind": "downgrade", "approver_id": manager["id"]}
        return _calls(request_approval=asked | {"amount": booking["total"]})
    if "send_mail" not in results:
        body = f"{booking['guest']['name']} wants a standard room; the total is 1,450.00 USD. Please decide on HB-1042."
        return _calls(send_mail={"to": manager["email"], "subject": "Approval needed: HB-1042", "body": body})
    return ModelResponse(parts=[TextPart("Your manager has to approve this first; I have asked her.")])


def change_at_once(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if "change_booking" not in _results(messages):
        return _calls(change_booking={"booking_id": 1042, "room_class": "standard"})
    return ModelResponse(parts=[TextPart("Your manager has to approve this first; I have asked her.")])


def _results(messages: list[ModelMessage]) -> dict[str, Any]:
    return {
        part.tool_name: part.content
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }


def _read(content: Any) -> Any:
    return json.loads(content) if isinstance(content, str) else content


def _calls(**calls: dict[str, Any]) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(name, arguments) for name, arguments in calls.items()])


MODELS: dict[str, Callable[[], Model]] = {
    "careful": lambda: FunctionModel(ask_the_manager),
    "hasty": lambda: FunctionModel(change_at_once),
    "everything": lambda: TestModel(seed=1),
}


async def careful(task: AgentTask) -> str:
    return await _play(task, "careful")


async def hasty(task: AgentTask) -> str:
    return await _play(task, "hasty")


async def everything(task: AgentTask) -> str:
    """Calls every tool once, with arguments that only its schema has chosen."""
    return await _play(task, "everything")


async def _play(task: AgentTask, name: str) -> str:
    def tool(tool_name: str) -> Callable[..., Any]:
        async def call(**arguments: Any) -> str:
            return (await task.call_tool(tool_name, arguments)).text

        return call

    tools = [
        Tool.from_schema(tool(one.name), one.name, one.description, dict(one.input_schema))
        for one in task.tools
    ]
    agent = Agent(MODELS[name](), instructions=task.instructions, tools=tools)
    return (await agent.run(task.prompt)).output


async def main(name: str) -> None:
    toolset = MCPToolset(
        os.environ["THINKINGBOX_MCP_URL"],
        headers={"Authorization": f"Bearer {os.environ['THINKINGBOX_MCP_TOKEN']}"},
    )
    agent = Agent(MODELS[name](), instructions=os.environ["THINKINGBOX_INSTRUCTIONS"], toolsets=[toolset])
    async with agent:
        for line in sys.stdin:  # a task with a user: one message on each line, until it is over
            reply = (await agent.run(json.loads(line)["content"])).output
            print(json.dumps({"role": "assistant", "content": reply}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
