"""Keeping the SDK from setting up this process's logging."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_logging_setup() -> Iterator[None]:
    """An MCPServer calls `logging.basicConfig`, which does nothing while the root logger has a handler."""
    handler = logging.NullHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
