"""Outages that checkers meet. A checker's error becomes one only where the server is to blame for it."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext

from pytest_thinkingbox.errors import InfrastructureDown


def tell_outages(engine: Engine, alive: Callable[[], bool]) -> None:
    """Raise InfrastructureDown where a connection cannot be opened, or ends and `alive` says that the server is gone.

    A session that ends while the server lives was ended by what the checker read: an agent can leave a view that does
    so. Whatever is no error of the driver - Ctrl-C, a time limit - stays what it is.
    """

    def tell(context: ExceptionContext) -> None:
        error = context.original_exception
        if isinstance(error, context.dialect.loaded_dbapi.Error) and (
            context.connection is None or (context.is_disconnect and not alive())
        ):
            raise InfrastructureDown(f"the database server: {error}") from error

    event.listen(engine, "handle_error", tell)
