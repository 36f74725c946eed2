"""Pages of SQLite's file format, as far as telling which rows may have changed needs it.

See https://www.sqlite.org/fileformat2.html. Only b-tree pages are understood; what is found here is never reported
itself, it only says which rows are worth reading through SQLite.
"""

from __future__ import annotations

import struct
from array import array

INTERIOR = frozenset({2, 5})  # of an index, of a table
TABLE_LEAF = 13


def header_at(number: int) -> int:
    """Where the b-tree header of a page begins: the first page starts with the file's own."""
    return 100 if number == 1 else 0


def page_type(number: int, page: bytes) -> int:
    return page[header_at(number)]


def children(number: int, page: bytes) -> array[int]:
    """The pages below an interior page, in order."""
    at = header_at(number)
    (count,) = struct.unpack_from(">H", page, at + 3)
    found = array(
        "I", (struct.unpack_from(">I", page, cell)[0] for cell in _cell_offsets(page, at + 12, count))
    )
    found.append(struct.unpack_from(">I", page, at + 8)[0])
    return found


def table_cells(number: int, page: bytes, usable: int) -> dict[int, bytes]:
    """The cells of a table's leaf page by rowid; two equal ones hold equal rows, unless an overflow page changed."""
    at = header_at(number)
    (count,) = struct.unpack_from(">H", page, at + 3)
    cells: dict[int, bytes] = {}
    for start in _cell_offsets(page, at + 8, count):
        # Most numbers are short: what follows is _varint() twice, without the calls.
        payload, position = page[start], start + 1
        if payload > 0x7F:
            payload, position = _varint(page, start)
        rowid, end = page[position], position + 1
        if rowid > 0x7F:
            rowid, end = _varint(page, position)
            if rowid >= 2**63:
                rowid -= 2**64
        cells[rowid] = page[start : end + (payload if payload <= usable - 35 else _local(payload, usable))]
    return cells


def _cell_offsets(page: bytes, at: int, count: int) -> tuple[int, ...]:
    return struct.unpack_from(f">{count}H", page, at)


def _local(payload: int, usable: int) -> int:
    """How many bytes of a payload too long for its leaf are there, with the pointer to the first overflow page."""
    least = (usable - 12) * 32 // 255 - 23
    kept = least + (payload - least) % (usable - 4)
    return (kept if kept <= usable - 35 else least) + 4


def _varint(page: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index in range(8):
        byte = page[position + index]
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, position + index + 1
    return (value << 8) | page[position + 8], position + 9
