"""What authors write. Imports nothing heavy: no pytest, sqlalchemy, mcp or pydantic at run time."""

from pytest_thinkingbox.declare.database import Database
from pytest_thinkingbox.declare.effects import Reply
from pytest_thinkingbox.declare.environment import Environment
from pytest_thinkingbox.declare.limits import Limits
from pytest_thinkingbox.declare.server import Server, ServerContext
from pytest_thinkingbox.declare.solution import Call, Say, call
from pytest_thinkingbox.declare.task import Task, task_of

__all__ = [
    "Call",
    "Database",
    "Environment",
    "Limits",
    "Reply",
    "Say",
    "Server",
    "ServerContext",
    "Task",
    "call",
    "task_of",
]
