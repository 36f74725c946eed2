"""Who acts in an episode: `make_agent` turns the text of `--tb-agent` into an agent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.errors import ConfigurationError

if TYPE_CHECKING:
    from pytest_thinkingbox.agents.base import Agent

KINDS = "openai, anthropic, tokens, solution, none, mutant[:RATE], python:MODULE:FUNCTION, command:PROGRAM ARGS..."


def make_agent(
    spec: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    api: str = "chat",
    parameters: Mapping[str, Any] | None = None,
    concurrency: int = 8,
    tokenizer: str | None = None,
) -> Agent:
    """The agent that `--tb-agent` names; its module is imported only now.

    All else is for agents that talk to a model endpoint, with the key in `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`:
    `api` is how it is asked, `parameters` are further fields of every request, `concurrency` is how many requests
    it gets at once, `tokenizer` where that of `tokens` comes from. Raises
    ConfigurationError when the kind is unknown or its argument is wrong.
    """
    kind, _, argument = spec.strip().partition(":")
    match kind:
        case "openai" if not argument:
            from pytest_thinkingbox.agents.openai import APIS, OpenAIAgent

            if api not in APIS:
                raise ConfigurationError(f"--tb-api={api!r} names no API; there are: {', '.join(APIS)}")
            return OpenAIAgent(
                _named(model, kind),
                api=api,
                base_url=base_url,
                api_key=os.environ.get("OPENAI_API_KEY"),
                parameters=parameters,
                concurrency=concurrency,
            )
        case "anthropic" if not argument:
            from pytest_thinkingbox.agents.anthropic import AnthropicAgent

            return AnthropicAgent(
                _named(model, kind),
                base_url=base_url,
                api_key=os.environ.get("ANTHROPIC_API_KEY"),
                parameters=parameters,
                concurrency=concurrency,
            )
        case "tokens" if not argument:
            from pytest_thinkingbox.agents.served import ServedAgent
            from pytest_thinkingbox.tokens.loading import load_tokenizer

            return ServedAgent(
                _named(model, kind),
                tokenizer=load_tokenizer(tokenizer or _named(model, kind)),
                base_url=base_url,
                api_key=os.environ.get("OPENAI_API_KEY"),
                parameters=parameters,
                concurrency=concurrency,
            )
        case "solution" if not argument:
            from pytest_thinkingbox.agents.solution import SolutionAgent

            return SolutionAgent()
        case "none" if not argument:
            from pytest_thinkingbox.agents.none import NoneAgent

            return NoneAgent()
        case "mutant":
            from pytest_thinkingbox.agents.mutant import MutantAgent

            return MutantAgent(_rate(argument)) if argument else MutantAgent()
        case "python":
            from pytest_thinkingbox.agents.python import PythonAgent

            return PythonAgent(argument)
        case "command":
            from pytest_thinkingbox.agents.command import CommandAgent

            return CommandAgent(argument, model=model)
    raise ConfigurationError(f"--tb-agent={spec!r} names no agent; the kinds are: {KINDS}")


def _named(model: str | None, kind: str) -> str:
    if not model:
        raise ConfigurationError(f"--tb-agent={kind} needs the name of a model: --tb-model=NAME")
    return model


def _rate(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(
            f"--tb-agent=mutant:{text} must be a number from 0 to 1, for example mutant:0.3"
        ) from None
