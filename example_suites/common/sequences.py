"""What a seed that gives keys itself must tell the database."""

from __future__ import annotations

from sqlalchemy import Connection, MetaData, func, select, text


def advance_sequences(connection: Connection, metadata: MetaData) -> None:
    """PostgreSQL does not notice keys that were given: the next row must not collide with them."""
    if connection.dialect.name != "postgresql":
        return
    for table in metadata.sorted_tables:
        if "id" in table.c:
            connection.execute(
                text("SELECT setval(pg_get_serial_sequence(:name, 'id'), :highest)"),
                {"name": table.name, "highest": connection.scalar(select(func.max(table.c.id)))},
            )
