"""What authors write. Imports nothing heavy: no pytest, sqlalchemy, mcp or pydantic at run time."""

from pytest_thinkingbox.declare.database import Database
from pytest_thinkingbox.declare.effects import Reply
from pytest_thinkingbox.declare.environment import Environment
from pytest_thinkingbox.declare.faults import Fault
from pytest_thinkingbox.declare.limits import Limits
from pytest_thinkingbox.declare.server import Server, ServerContext
from pytest_thinkingbox.declare.solution import Call, Say, call
from pytest_thinkingbox.declare.task import Task, task_of
from pytest_thinkingbox.declare.tools import Tools
from pytest_thinkingbox.declare.user import Fact, Player, Script, User

__all__ = [
    "Call",
    "Database",
    "Environment",
    "Fact",
    "Fault",
    "Limits",
    "Player",
    "Reply",
    "Say",
    "Script",
    "Server",
    "ServerContext",
    "Task",
    "Tools",
    "User",
    "call",
    "task_of",
]
