"""A final state that is made again from its changes, once somebody asks for more than the changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.backends.base import Backend, Lease, NotInRecord
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.state.model import Rules, StateDiff

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


class RemadeLease:
    """The lease of an attempt whose database is gone. Most checkers look at changes only and cost no database.

    What a table holds that the agent made is not known; every other one can be read beside it.
    """

    url = ""

    def __init__(self, backend: Backend, request: EpisodeRequest, diff: StateDiff, rules: Rules) -> None:
        self.rules = rules
        self._backend = backend
        self._request = request
        self._diff = diff
        self._unknown = {
            one.name.lower(): one.name
            for one in diff.schema
            if (one.action, one.type) == ("created", "table")
        }
        self._made: Lease | None = None
        self._why: NotInRecord | None = None
        self._released = False

    @property
    def engine(self) -> Engine:
        raise NotInRecord("the agent of this attempt is gone: its final state can only be read")

    def cut(self) -> None:
        """Nobody is connected."""

    def read_changes(self, *, audit: bool) -> StateDiff:
        return self._diff

    def rebuild(self, diff: StateDiff) -> None:
        raise NotInRecord("this state is made from the changes of its own attempt")

    def keep(self, path: Path) -> Path:
        self._demand_all()
        return self._lease().keep(path)

    def rows(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        if table.lower() in self._unknown:
            self._demand_all()
        return self._lease().rows(table, where)

    def connect_after(self) -> Connection:
        self._demand_all()
        return self._lease().connect_after()

    def connect_before(self) -> Connection:
        return self._lease().connect_before()

    def alive(self) -> bool:
        return True

    def blames(self, error: BaseException, *, connecting: bool, lost: bool) -> bool:
        """Nobody plays here."""
        return False

    def release(self) -> None:
        self._released = True
        made, self._made = self._made, None
        if made is not None:
            made.release()

    def _demand_all(self) -> None:
        for name in self._unknown.values():
            raise NotInRecord(f"table {name} was created: what became of its rows is not known any more")

    def _lease(self) -> Lease:
        if self._released:
            raise RuntimeError("this database was given back: nothing can be read from it any more")
        if self._why is not None:
            raise self._why
        if self._made is None:
            try:
                self._made = self._make()
            except NotInRecord as error:
                self._why = error
                raise
        return self._made

    def _make(self) -> Lease:
        request = self._request
        known = replace(
            self._diff,
            schema=tuple(one for one in self._diff.schema if one.name.lower() not in self._unknown),
        )
        lease = self._backend.acquire(
            request.environment, request.start, attempt_id=f"{request.campaign}-again-{request.attempt_id}"
        )
        try:
            lease.rebuild(known)
            lease.cut()
            if lease.read_changes(audit=False) != known:
                raise NotInRecord(
                    "the state that was made from its changes is not the one that they were read from"
                )
        except BaseException:
            lease.release()
            raise
        return lease
