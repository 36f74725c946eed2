"""`thinkingbox serve`: a checkpoint of the transformers library behind `/v1/completions`."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.errors import ConfigurationError

if TYPE_CHECKING:
    from thinkingbox_trainer.server import Served

# Torch and transformers take seconds to import: first it is seen whether there is anything to do with them.


def serve(checkpoint: Path, *, host: str, port: int) -> None:
    """Until SIGINT or SIGTERM. Raises ConfigurationError for what cannot be served, or not there."""
    with _bound(host, port) as listener:
        served = load(checkpoint)
        asyncio.run(_serve(served, listener))


def _bound(host: str, port: int) -> socket.socket:
    """Before anything is loaded; nobody is let in until it is."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {host} port {port}: {error.strerror or error}. Take another port with --port (0 for any "
            "that is free), or another address with --host"
        ) from None
    return listener


def load(checkpoint: Path) -> Served:
    """Says on standard error how far it is."""
    if not (checkpoint / "config.json").is_file():
        what = "holds no config.json" if checkpoint.is_dir() else "is no folder"
        if (checkpoint / "adapter_config.json").is_file():
            what = "holds adapters only, and what is served is a whole model (of a run: `model`, or `export`)"
        raise ConfigurationError(
            f"{checkpoint} {what}: name the folder of a checkpoint, as `save_pretrained` writes it"
        )
    _say(f"loading {checkpoint} ...")
    started = time.monotonic()
    import transformers

    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint, local_files_only=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            checkpoint, dtype="auto", local_files_only=True
        )
    except Exception as error:  # a damaged file raises what its format's library raises
        raise ConfigurationError(f"{checkpoint} cannot be loaded: {type(error).__name__}: {error}") from error
    served = _served(checkpoint, model, tokenizer)
    _say(
        f"loaded in {time.monotonic() - started:.1f} s: {model.num_parameters():,} parameters in "
        f"{str(model.dtype).removeprefix('torch.')}, at most {served.longest:,} ids"
    )
    return served


def _served(checkpoint: Path, model: Any, tokenizer: Any) -> Served:
    longest = model.config.get_text_config().to_dict().get("max_position_embeddings")
    if not isinstance(longest, int):
        raise ConfigurationError(f"{checkpoint}/config.json has no max_position_embeddings")
    ends = model.generation_config.eos_token_id
    known = {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}
    if not known:
        raise ConfigurationError(f"{checkpoint} names no token that ends a generation (eos_token)")
    from thinkingbox_trainer.engine import TransformersEngine
    from thinkingbox_trainer.server import Served

    return Served(
        name=str(checkpoint),
        engine=TransformersEngine(model, end=min(known)),
        tokenizer=tokenizer,
        ends=frozenset(known),
        longest=longest,
        vocabulary=model.get_input_embeddings().num_embeddings,
    )


async def _serve(served: Served, listener: socket.socket) -> None:
    import uvicorn

    from thinkingbox_trainer.server import make_app

    config = uvicorn.Config(
        make_app(served),
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=1,
    )
    running = uvicorn.Server(config)
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    # Not `serve`, which ends the process by the signal that it got.
    serving = asyncio.create_task(running._serve(sockets=[listener]))
    stopping = asyncio.create_task(stopped.wait())
    while not running.started and not serving.done():
        await asyncio.sleep(0.01)
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print(f"serving {served.name} on http://{shown}:{port}/v1 (Ctrl-C ends it)", flush=True)
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        running.should_exit = True
        await served.engine.aclose()  # what is being generated ends with its next token
        await asyncio.wait({serving})
    _say("ended")


def _say(text: str) -> None:
    print(f"thinkingbox serve: {text}", file=sys.stderr, flush=True)
