"""A database server for who plays without a pytest session, started as a campaign starts its own."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from pytest_thinkingbox.backends import local_server, make_backend, server_options
from pytest_thinkingbox.backends.base import Backend
from pytest_thinkingbox.backends.server.claims import Claim
from pytest_thinkingbox.backends.server.plan import ServerPlan
from pytest_thinkingbox.declare import Database
from pytest_thinkingbox.plugin.servers import is_own


@contextmanager
def opened(spec: str, databases: Sequence[Database], *, label: str) -> Iterator[Backend]:
    """The backend that `--tb-backend=spec` means; its server, if it is its own, ends with the block.

    Whoever is given the backend closes it. Raises ConfigurationError.
    """
    name = f"{label}-{secrets.token_hex(4)}"  # nobody else's databases are taken for one's own
    if not is_own(spec):
        yield make_backend(spec, label=name)
        return
    plan = ServerPlan.make(spec, campaign=name)
    claim = Claim(plan.name)
    try:
        server = local_server(plan)
        image, options = server_options(databases)
        ensure = partial(server.ensure, image=image, options=options, say=_say)
        try:
            yield make_backend(ensure(), label=name, revive=ensure)
        finally:
            server.stop()
    finally:
        claim.release()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
