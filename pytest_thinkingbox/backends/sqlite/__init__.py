"""SQLite: a file of its own for every attempt, nothing to install."""

from pytest_thinkingbox.backends.sqlite.backend import SqliteBackend

__all__ = ["SqliteBackend"]
