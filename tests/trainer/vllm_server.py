"""A server that answers what TRL and the engine ask vLLM's, over a real socket, with a tiny model that writes.

Two things are not there without a GPU, and have a stand-in: the package vllm in the process that trains, and the
wire of NCCL by which weights go over. Here it is a queue.
"""

from __future__ import annotations

import asyncio
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from transformers import AutoModelForCausalLM, AutoTokenizer

from thinkingbox_trainer.engine import TransformersEngine
from thinkingbox_trainer.server import Served, make_app


class VllmServer:
    """`asked` are the paths in their order. `refuses` maps a path to which of its requests gets an error 400."""

    def __init__(self, checkpoint: Path, *, refuses: dict[str, int] | None = None) -> None:
        self.asked: list[str] = []
        self.wire: queue.Queue[tuple[str, torch.Tensor]] = queue.Queue()
        self.model = AutoModelForCausalLM.from_pretrained(checkpoint)
        with torch.no_grad():  # other weights than those of the run, until it sends its own
            for one in self.model.parameters():
                one.add_(torch.randn_like(one) * 0.05)
        tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        served = Served(
            name="served",
            engine=TransformersEngine(self.model, end=tokenizer.eos_token_id),
            tokenizer=tokenizer,
            ends=frozenset({tokenizer.eos_token_id}),
            longest=4096,
            vocabulary=len(tokenizer),
        )
        self._refuses = refuses or {}
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        post = {
            "/start_weight_update": self._nothing,
            "/update_weights": self._update,
            "/finish_weight_update": self._nothing,
            "/reset_prefix_cache": self._reset,
        }
        app = Starlette(
            routes=[
                Route("/server_info", self._info),
                *(Route(path, answer, methods=["POST"]) for path, answer in post.items()),
                *make_app(served).routes,
            ]
        )
        self._server = uvicorn.Server(uvicorn.Config(self._seen(app), log_level="error", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def _seen(self, app: Any) -> Any:
        async def seen(scope: Any, receive: Any, send: Any) -> None:
            path = scope["path"]
            self.asked.append(path)
            if self._refuses.get(path) == self.asked.count(path):
                await JSONResponse({"error": "not today"}, status_code=400)(scope, receive, send)
            else:
                await app(scope, receive, send)

        return seen

    def __enter__(self) -> VllmServer:
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()

    async def _info(self, request: Request) -> JSONResponse:
        config = {
            "weight_transfer_config": {"backend": "nccl"},
            "model_config": {"logprobs_mode": "processed_logprobs"},
        }
        return JSONResponse({"vllm_config": config})

    async def _nothing(self, request: Request) -> JSONResponse:
        return JSONResponse({})

    async def _reset(self, request: Request) -> JSONResponse:
        return JSONResponse({"success": True})

    async def _update(self, request: Request) -> JSONResponse:
        info = (await request.json())["update_info"]
        await asyncio.to_thread(self._receive, info)
        return JSONResponse({})

    def _receive(self, info: dict[str, Any]) -> None:
        mine = dict(self.model.named_parameters())
        for name, dtype, shape in zip(info["names"], info["dtype_names"], info["shapes"], strict=True):
            sent, weights = self.wire.get(timeout=20)
            assert (sent, str(weights.dtype), list(weights.shape)) == (name, f"torch.{dtype}", shape)
            with torch.no_grad():
                mine[name].copy_(weights)


@contextmanager
def trl_without_a_gpu(server: VllmServer | None, patch: Any) -> Iterator[None]:
    """What TRL takes of vllm and of NCCL, and no more: its requests are its own. `server` is None on ranks that send
    nothing."""
    from trl.generation import vllm_client, vllm_generation

    def send(iterator: Any, group: Any, src: int, post_iter_func: Any) -> None:
        assert server is not None
        for item in iterator:
            server.wire.put((item[0], post_iter_func(item).detach().clone()))

    with patch.context() as changed:
        for module in (vllm_client, vllm_generation):
            changed.setattr(module, "is_vllm_available", lambda *_, **__: True)
        changed.setattr(vllm_client, "_HAS_STATEFUL_TRAINER_ENGINE", True)
        changed.setattr(vllm_client, "_HAS_RESET_PREFIX_CACHE_SUCCESS", True)
        changed.setattr(vllm_client, "packed_nccl_broadcast_producer", send, raising=False)
        changed.setattr(vllm_client.VLLMClient, "init_communicator", lambda self, device=0: None)
        yield
