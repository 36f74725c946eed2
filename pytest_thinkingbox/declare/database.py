from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.declare.checks import reject, strings

if TYPE_CHECKING:
    from sqlalchemy import Connection, MetaData

    Schema = MetaData | Path | Callable[[Connection], None]
    Seed = Path | Callable[[Connection], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """The database that every attempt starts from.

    `schema` is SQLAlchemy metadata, the path of a `.sql` file, or a callable that takes an open connection (an
    Alembic upgrade, say). `seed` fills it: the path of a file of SQL, of a dump that the server's own programs made, or
    of a database of SQLite, or a callable; rows may also be part of the schema file. `volatile` names "table.column"
    patterns that are compared only where an expectation names them; `bookkeeping` names tables that may change freely.

    `image` and `options` are for a server that the campaign starts: the container's image, and settings of the server
    such as `{"shared_buffers": "1GB"}`. Other backends do without.

    `ddl=True` lets the agent create, alter, truncate and drop what is in its own database on a server, where it may
    else only read and write rows.
    """

    schema: Schema
    seed: Seed = None
    volatile: Sequence[str] = ()
    bookkeeping: Sequence[str] = ()
    image: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    ddl: bool = False

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "schema", self._source("schema", self.schema))
        if self.seed is not None:
            set_(self, "seed", self._source("seed", self.seed))
        set_(self, "volatile", strings("Database", "volatile", self.volatile))
        set_(self, "bookkeeping", strings("Database", "bookkeeping", self.bookkeeping))
        if self.image is not None and (not isinstance(self.image, str) or not self.image):
            raise reject("Database", "image", self.image, "an image such as 'postgres:17'")
        set_(self, "options", {str(name): str(value) for name, value in dict(self.options).items()})
        if not isinstance(self.ddl, bool):
            raise reject("Database", "ddl", self.ddl, "True or False")
        for pattern in self.volatile:
            if pattern.count(".") < 1:
                raise reject(
                    "Database", "volatile item", pattern, "'table.column', for example '*.updated_at'"
                )

    @staticmethod
    def _source(argument: str, value: Any) -> Any:
        if isinstance(value, str):
            value = Path(value)
        if isinstance(value, Path):
            if not value.is_file():
                raise FileNotFoundError(
                    f"Database: {argument}={str(value)!r} is no file (looked in {Path.cwd()})"
                )
            return value.resolve()
        if callable(value) or _is_metadata(value, argument):
            return value
        kinds = "a path or a callable" if argument == "seed" else "SQLAlchemy metadata, a path or a callable"
        raise reject("Database", argument, value, kinds)


def _is_metadata(value: object, argument: str) -> bool:
    """Whether it is SQLAlchemy metadata, told without importing SQLAlchemy."""
    names = {f"{cls.__module__}.{cls.__name__}" for cls in type(value).__mro__}
    return argument == "schema" and "sqlalchemy.sql.schema.MetaData" in names
