"""One answer of an API through the real client: a stub endpoint on a socket, an endpoint, a model."""

from __future__ import annotations

import asyncio
from typing import Any

from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.agents.endpoint import Endpoint
from pytest_thinkingbox.agents.wire import Answer, Api, Transcript
from tests.support.stub_endpoint import Reply, StubEndpoint

TOOLS = frozenset({"book", "get_booking", "get_guest"})


def ask(api: Api, reply: Reply, *, answered: bool = False, **parameters: Any) -> Answer:
    """What the answer to the first request says; `answered`: the model has answered before.

    The endpoint gives the same reply to whatever is asked. Raises what `ChatModel.complete` raises.
    """

    async def go(stub: StubEndpoint) -> Answer:
        endpoint = Endpoint(stub.url, api=api, api_key="sk-0123456789", backoff=0.001, retries=1)
        if answered:
            endpoint.answered.add("m")
        transcript = Transcript()
        transcript.append({"role": "user", "content": "Hello"})
        try:
            return await ChatModel(endpoint, "m", parameters=parameters).complete(
                transcript, tool_names=TOOLS
            )
        finally:
            await endpoint.aclose()

    with StubEndpoint(lambda _: reply) as stub:
        return asyncio.run(go(stub))
