"""Which b-tree every page of a template belongs to, and which rows of a table lie on pages that changed."""

from __future__ import annotations

import mmap
import sqlite3
import struct
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Protocol

from pytest_thinkingbox.backends.sqlite.btree import INTERIOR, children, page_type, table_cells
from pytest_thinkingbox.backends.sqlite.catalog import fold
from pytest_thinkingbox.backends.sqlite.files import read_at

_FREE = 0xFFFF
_READ_PAGES = 64  # whose cells are kept: attempts of one task change the same few


class FinalPages(Protocol):
    """The pages of an attempt's final state."""

    changed: frozenset[int]
    """Numbers of all pages that may differ from the template's."""

    def page(self, number: int) -> bytes:
        """The content of a page; b"" beyond the end."""


@dataclass(slots=True)
class Tree:
    """One b-tree: its interior pages with their children, apart by whether those are leaves."""

    root: int
    upper: dict[int, array[int]] = field(default_factory=dict)
    lower: dict[int, array[int]] = field(default_factory=dict)


class PageMap:
    """The pages of a file that nobody writes any more, and whose they are."""

    def __init__(self, path: Path, uri: str) -> None:
        self._uri = uri
        with path.open("rb") as file:
            self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        header = self._content[:100]
        size = struct.unpack_from(">H", header, 16)[0]
        self.page_size = 65536 if size == 1 else size
        self.usable = self.page_size - header[20]
        self.count = len(self._content) // self.page_size
        self.auto_vacuum = struct.unpack_from(">I", header, 52)[0] != 0
        self.roots: dict[str, int] = {}
        self._trees: dict[str, Tree] = {}
        self._owners = array("H", bytes(2 * (self.count + 1)))
        self._names: list[str] = [""]
        self._cells = lru_cache(maxsize=_READ_PAGES)(self._read_cells)
        self._read_trees()
        self._read_freelist(struct.unpack_from(">I", header, 32)[0])

    def close(self) -> None:
        self._content.close()

    def page(self, number: int) -> bytes:
        if not 1 <= number <= self.count:
            return b""
        return self._content[(number - 1) * self.page_size : number * self.page_size]

    def chunk(self, start: int, size: int) -> bytes:
        return self._content[start : start + size]

    def _read_trees(self) -> None:
        connection = sqlite3.connect(self._uri, uri=True)
        try:
            objects = connection.execute(
                "SELECT type, name, rootpage FROM sqlite_master WHERE rootpage > 0"
            ).fetchall()
        finally:
            connection.close()
        for kind, name, root in [("schema", "sqlite_master", 1), *objects]:
            self._names.append(name)
            tree = self._read_tree(root, len(self._names) - 1)
            if kind == "table":
                self.roots[fold(name)] = root
                self._trees[fold(name)] = tree

    def _read_tree(self, root: int, owner: int) -> Tree:
        tree = Tree(root)
        level = array("I", [root])
        while level:
            for number in level:
                self._owners[number] = owner
            if page_type(level[0], self.page(level[0])) not in INTERIOR:
                break  # leaves: all of them are on one level
            below = {number: children(number, self.page(number)) for number in level}
            first = below[level[0]][0]
            (tree.upper if page_type(first, self.page(first)) in INTERIOR else tree.lower).update(below)
            level = array("I")
            for found in below.values():
                level.extend(found)
        return tree

    def _read_freelist(self, trunk: int) -> None:
        while trunk:
            self._owners[trunk] = _FREE
            page = self.page(trunk)
            following, count = struct.unpack_from(">II", page, 0)
            for number in struct.unpack_from(f">{count}I", page, 8):
                self._owners[number] = _FREE
            trunk = following

    @cached_property
    def _overflow_owners(self) -> Mapping[int, str] | None:
        """Whose the overflow pages are, None where this build of SQLite cannot say. Reads the whole file, once."""
        connection = sqlite3.connect(self._uri, uri=True)
        try:
            found = connection.execute(
                "SELECT pageno, name FROM dbstat WHERE pagetype = 'overflow'"
            ).fetchall()
        except sqlite3.OperationalError:
            return None
        finally:
            connection.close()
        return dict(found)

    def touched(self, changed: frozenset[int]) -> tuple[dict[str, list[int]], frozenset[str] | None]:
        """Changed pages by folded name of the table or index that they belonged to, and the names of those whose
        overflow pages changed (None if that may be any)."""
        pages: dict[str, list[int]] = {}
        overflow = []
        for number in changed:
            owner = self._owners[number] if number <= self.count else _FREE
            if owner == 0:
                overflow.append(number)
            elif owner != _FREE:
                pages.setdefault(fold(self._names[owner]), []).append(number)
        if not overflow:
            return pages, frozenset()
        owners = self._overflow_owners
        if owners is None or any(number not in owners for number in overflow):
            return pages, None
        return pages, frozenset(fold(owners[number]) for number in overflow)

    def changed_rowids(self, table: str, own: list[int], final: FinalPages) -> list[int]:
        """Rowids of a table whose cells differ, given the changed ones among the pages that it had."""
        tree = self._trees[table]
        before, after = self._leaves(tree, own, final)
        old: dict[int, bytes] = {}
        for number in before:
            old.update(self._cells(number))
        new: dict[int, bytes] = {}
        for number in after:
            new.update(table_cells(number, final.page(number), self.usable))
        return list({rowid for rowid, _ in old.items() ^ new.items()})

    def _read_cells(self, number: int) -> dict[int, bytes]:
        return table_cells(number, self.page(number), self.usable)

    def _leaves(self, tree: Tree, own: list[int], final: FinalPages) -> tuple[set[int], set[int]]:
        """Leaves that may hold changed rows: those that the table had before, and those that it has now."""
        interior = [number for number in own if number in tree.lower or number in tree.upper]
        if not interior and tree.root not in own:
            return set(own), set(own)
        lower = self._lower(tree, final)
        changed = final.changed
        gone: set[int] = set() if tree.lower else {tree.root}
        for number, below in tree.lower.items():
            if number in changed or number not in lower:
                gone.update(below)
        come: set[int] = set() if lower else {tree.root}
        for number, below in lower.items():
            if number in changed or number not in tree.lower:
                come.update(below)
        kept = {number for number in own if number not in tree.lower and number not in tree.upper} - gone
        stay = gone & come
        return (
            kept | (gone - come) | (stay & changed),
            kept | (come - gone) | (stay & changed),
        )

    def _lower(self, tree: Tree, final: FinalPages) -> dict[int, array[int]]:
        """The interior pages above the leaves of a table in its final state; empty when its root is a leaf."""
        lower: dict[int, array[int]] = {}
        level = {tree.root}
        while level:
            following: set[int] = set()
            for number in level:
                if number not in final.changed and number in tree.lower:
                    lower[number] = tree.lower[number]
                elif number not in final.changed and number in tree.upper:
                    following.update(tree.upper[number])
                else:
                    page = final.page(number)
                    if page_type(number, page) in INTERIOR:
                        below = children(number, page)
                        if page_type(below[0], final.page(below[0])) in INTERIOR:
                            following.update(below)
                        else:
                            lower[number] = below
            level = following
        return lower


def differing(page_map: PageMap, descriptor: int, size: int) -> frozenset[int]:
    """Numbers of the pages in which a file of `size` bytes differs from the template."""
    step = page_map.page_size * 64
    found = []
    last = max(size, page_map.count * page_map.page_size)
    for start in range(0, last, step):
        theirs = read_at(descriptor, step, start)
        ours = page_map.chunk(start, step)
        if theirs != ours:
            for offset in range(0, max(len(theirs), len(ours)), page_map.page_size):
                end = offset + page_map.page_size
                if theirs[offset:end] != ours[offset:end]:
                    found.append((start + offset) // page_map.page_size + 1)
    return frozenset(found)
