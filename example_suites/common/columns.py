"""Columns and constraints that every suite's tables are made of, portable to SQLite, PostgreSQL and MariaDB."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, get_args

from sqlalchemy import CheckConstraint, Column, DateTime, Dialect, Numeric, TypeDecorator

NAMES = {
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ix": "ix_%(table_name)s_%(column_0_name)s",
}
"""How constraints and indexes are named, for `MetaData(naming_convention=...)`."""


class Money(TypeDecorator[Decimal]):
    """An amount with two decimals, `Decimal` in Python. SQLite has no decimal type and keeps a float."""

    impl = Numeric
    cache_ok = True

    def __init__(self) -> None:
        super().__init__(10, 2)

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(Numeric(10, 2, asdecimal=False))
        return dialect.type_descriptor(Numeric(10, 2))

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(str(value)).quantize(Decimal("0.01"))


def one_of(column: str, literal: Any) -> CheckConstraint:
    """A check that the column holds one of the literal's values; its name is the column's."""
    values = ", ".join(f"'{value}'" for value in get_args(literal))
    return CheckConstraint(f"{column} IN ({values})", name=column)


def created_at() -> Column[Any]:
    """When the row was written; naive UTC."""
    return Column("created_at", DateTime, nullable=False)
