"""`thinkingbox serve`."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import add_command
from pytest_thinkingbox.errors import ConfigurationError

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands

_NEEDED = ("torch", "transformers")


def add(commands: Commands) -> None:
    parser = add_command(commands, "serve", run, help="a local model by token ids, on this machine's CPU")
    parser.epilog = (
        "POST /v1/completions takes what vLLM's server takes: a prompt of token ids (or several), max_tokens, "
        "temperature, top_p, top_k, seed, stop_token_ids, ignore_eos, logprobs, return_token_ids. Requests that come "
        "together are generated together. GET /v1/models and /health. There is no key: whoever reaches the address "
        "may use it. `pytest --tb-agent=tokens` evaluates what is served."
    )
    parser.add_argument(
        "checkpoint",
        metavar="CHECKPOINT",
        type=Path,
        help="a folder as `save_pretrained` of transformers writes it, tokenizer included; also the model's name",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument(
        "--port", type=_port, default=8000, help="0 takes any that is free, and says which (default: 8000)"
    )


def run(options: argparse.Namespace) -> int:
    """Serve a checkpoint over HTTP, token ids in and out, until Ctrl-C or SIGTERM. For CPUs and small models; on a GPU
    take vLLM's server."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"serve needs {' and '.join(missing)}: pip install 'pytest-thinkingbox[serve]' (on a machine without a GPU "
            "install the CPU wheel of torch first)"
        )
    from thinkingbox_trainer.serve import serve

    try:
        serve(options.checkpoint, host=options.host, port=options.port)
    except KeyboardInterrupt:  # while it loads
        return 130
    return 0


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} must be a number from 0 to 65535")
    return number
