"""PostgreSQL servers: a clone of a template for every attempt."""

from pytest_thinkingbox.backends.postgres.backend import PostgresBackend

__all__ = ["PostgresBackend"]
