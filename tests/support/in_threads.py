"""Functions in threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

SOON = 5.0  # seconds; far more than anything here takes


@contextmanager
def threads() -> Iterator[Callable[..., Future[Any]]]:
    """Starts functions, each in a thread of its own."""
    started = []

    def start(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(function(*arguments))
            except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
                future.set_exception(error)

        thread = threading.Thread(target=run)
        started.append(thread)
        thread.start()
        return future

    yield start
    for thread in started:
        thread.join()
