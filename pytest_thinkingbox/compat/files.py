"""The YAML files of a dataset: agents, scenarios, servers, fixtures. What they hold is checked here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pytest_thinkingbox.errors import ConfigurationError

M = TypeVar("M", bound=BaseModel)

_Loader: Any = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)  # the C one is ten times as fast, and not everywhere


class BrokenDataset(ConfigurationError):
    """A file of a dataset is not what its format asks for; the message names the file and the place."""


class _File(BaseModel):
    """Keys that are not known here belong to other tools and are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class AnyToolFile(_File):
    """With `direct_response` the tool speaks to the user itself; with `is_end_turn` its call ends the conversation."""

    name: str
    direct_response: str | None = None
    is_end_turn: bool = False


class ToolFile(AnyToolFile):
    """A tool as a scenario shows it to the agent."""

    override_description: str | None = None
    override_arg_description: dict[str, str] | None = None


class BuiltinFile(AnyToolFile):
    """A tool without a server: calling it is all there is."""

    description: str = ""
    input_schema: dict[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})


class AgentFile(_File):
    system_instructions: str
    builtin_tools: list[BuiltinFile] = Field(default_factory=list)


class FixtureFile(BaseModel):
    """Where a fixture comes from; all other keys are its arguments."""

    model_config = ConfigDict(extra="allow", frozen=True)
    type: str


class ConftestFile(_File):
    fixtures: dict[str, FixtureFile] = Field(default_factory=dict)


class ScenarioFile(_File):
    world_state: dict[str, dict[str, Any] | None]
    tools: list[ToolFile]
    bot_instructions: str | None = None
    tags: list[str] = Field(default_factory=list)
    fixtures: dict[str, FixtureFile] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)


class ServerFile(_File):
    type: Literal["mcp-process", "mcp-remote"] = "mcp-process"
    command: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    endpoint: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    transport: Literal["stdio", "sse", "streamable-http"] | None = None
    credential: Any = None


class ServersFile(_File):
    servers: dict[str, ServerFile] = Field(default_factory=dict)


def _reference(value: Any) -> Any:
    """`key:start:end`; the key may hold colons itself."""
    if not isinstance(value, str):
        return value
    parts = value.rsplit(":", 2)
    if len(parts) != 3 or not parts[0]:
        raise ValueError(f"{value!r} must be 'key:start:end', for example \"talk:0:\"")
    key, start, end = parts
    return {"key": key, "start": int(start) if start.lstrip("-").isdigit() else start, "end": end}


class HistoryReference(_File):
    """Which messages of `$history` went before: from `start` (a position or a message_id) up to `end` ("" for all)."""

    key: str
    start: int | str
    end: str


class TaskFile(BaseModel):
    """The YAML of one test function. Other keys are refused: they would be ignored in silence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: str
    query: str = Field(min_length=1)
    user_context: str | None = None
    max_user_sim_turns: int = Field(default=10, ge=0)
    max_agent_sim_turns: int | None = Field(default=None, ge=1)
    bot_instructions: str | None = None
    history: Annotated[HistoryReference, BeforeValidator(_reference)] | None = None
    init: dict[str, dict[str, Any]] = Field(default_factory=dict)
    format_query: bool = False
    tags: list[str] = Field(default_factory=list)


def load_yaml(text: str, *, where: str) -> Any:
    """Raises BrokenDataset with the line, counted from where the text begins."""
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1} of it"
        raise BrokenDataset(f"{where}{line}: no YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise BrokenDataset(f"{where}: no YAML: {error}") from None


def read_yaml(path: Path) -> Any:
    """Raises BrokenDataset for a file that is not there, is no UTF-8 or is no YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BrokenDataset(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BrokenDataset(f"{path}: no UTF-8 at byte {error.start}") from None
    return load_yaml(text, where=str(path))


def check(model: type[M], data: Any, *, where: str) -> M:
    """`data` as this model. Raises BrokenDataset that names every key that is wrong."""
    if not isinstance(data, dict):
        raise BrokenDataset(f"{where}: must be a mapping of keys to values, not {_kind(data)}")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise BrokenDataset(f"{where}: {'; '.join(_words(one, model) for one in error.errors())}") from None


def read(model: type[M], path: Path) -> M:
    return check(model, read_yaml(path), where=str(path))


def _words(error: Any, model: type[BaseModel]) -> str:
    place = ".".join(str(part) for part in error["loc"])
    match error["type"]:
        case "missing":
            return f"{place} is missing"
        case "extra_forbidden":
            return f"{place} is no key; there are {', '.join(model.model_fields)}"
    said = error["msg"].removeprefix("Value error, ")
    return f"{place}: {said}" if error["type"] == "value_error" else f"{place}={_cut(error['input'])}: {said}"


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", type(None): "nothing"}.get(type(value), type(value).__name__)
