"""Outages that checkers meet: no statement of theirs ends a connection, or keeps one from being opened."""

from __future__ import annotations

from sqlalchemy.engine import ExceptionContext

from pytest_thinkingbox.errors import InfrastructureDown


def raise_outage(context: ExceptionContext) -> None:
    """A listener of `handle_error`."""
    if context.is_disconnect or context.connection is None:
        error = context.original_exception
        raise InfrastructureDown(f"the database server: {error}") from error
