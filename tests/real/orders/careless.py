"""An agent that forgets the WHERE, makes a table that nobody asked for, and asks for one that is not there."""

from __future__ import annotations

from pytest_thinkingbox.agents.base import AgentTask


async def agent(task: AgentTask) -> str:
    said = [
        await task.call_tool("write_query", {"query": "update orders set status = 'cancelled'"}),
        await task.call_tool("create_table", {"query": "create table scratch (id integer primary key)"}),
        await task.call_tool("read_query", {"query": "select * from customers"}),
    ]
    return "\n".join(one.text for one in said)
