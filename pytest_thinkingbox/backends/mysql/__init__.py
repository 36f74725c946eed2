"""Databases of attempts on a MariaDB or MySQL server."""

from pytest_thinkingbox.backends.mysql.backend import MySQLBackend

__all__ = ["MySQLBackend"]
