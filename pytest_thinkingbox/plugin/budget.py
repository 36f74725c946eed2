"""What a campaign may spend, over all of its processes and all runs that go on with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.records.model import UsageRecord
from pytest_thinkingbox.stats.cost import price_usage, reports_itself, role_models

if TYPE_CHECKING:
    from pytest_thinkingbox.episodes.model import Usage
    from pytest_thinkingbox.plugin.options import Options
    from pytest_thinkingbox.stats.prices import Price

_UNKNOWN = "?"


class Budget:
    """A file in the campaign's folder with a line per try and per question to the judge: US dollars and tokens.

    Episodes that run are finished, and checked.
    """

    def __init__(self, folder: Path, options: Options) -> None:
        self._path = folder / "spent"
        self._options = options
        named = {"user_model": options.user_model, "judge_model": options.judge_model}
        self._models = role_models(model=options.model, options=named)
        self._read = 0
        self._cost = 0.0
        self._tokens = 0
        self._unknown = False

    def spend(self, usage: Mapping[str, Usage]) -> None:
        """Note one try. What an endpoint did not say, or has no price, is unknown and not free."""
        unsaid = reports_itself(self._options.agent or "") and (
            "agent" not in usage or not usage["agent"].requests
        )
        self._note(usage, unsaid=unsaid)

    def spend_on_judge(self, usage: Usage) -> None:
        """Note one question of a checker, under the same rule."""
        self._note({"judge": usage}, unsaid=False)

    def _note(self, usage: Mapping[str, Usage], *, unsaid: bool) -> None:
        used = {role: one for role, one in usage.items() if one.requests}
        costs = [price_usage(_record(one), self._price(role)) for role, one in used.items()]
        tokens = [
            None
            if one.input_tokens is None or one.output_tokens is None
            else one.input_tokens + one.output_tokens
            for one in used.values()
        ]
        if unsaid:
            costs.append(None)
            tokens.append(None)
        with self._path.open("a", encoding="ascii") as file:
            file.write(f"{_sum(costs)} {_sum(tokens)}\n")

    def _price(self, role: str) -> Price | None:
        model = self._models[role]
        return None if model is None else self._options.prices.get(model)

    def used_up(self) -> str:
        """Why no further episode may start; "" while one may."""
        self._update()
        options = self._options
        if options.max_cost is not None and self._cost >= options.max_cost:
            return f"--tb-max-cost={options.max_cost:g}: ${self._cost:.2f} spent"
        if options.max_tokens is not None and self._tokens >= options.max_tokens:
            return f"--tb-max-tokens={options.max_tokens}: {self._tokens:,} tokens spent"
        if self._unknown:
            return "a limit is set, but what an attempt spent is not known: no price, or the tokens were not reported"
        return ""

    def _update(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        limited = (self._options.max_cost is not None, self._options.max_tokens is not None)
        for line in whole.decode("ascii").splitlines():
            cost, tokens = line.split()
            self._unknown |= (limited[0] and cost == _UNKNOWN) or (limited[1] and tokens == _UNKNOWN)
            self._cost += 0.0 if cost == _UNKNOWN else float(cost)
            self._tokens += 0 if tokens == _UNKNOWN else int(tokens)


def _record(usage: Usage) -> UsageRecord:
    return UsageRecord(
        requests=usage.requests,
        input_tokens=usage.input_tokens,
        cached_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
    )


def _sum(amounts: list[float | None] | list[int | None]) -> str:
    known = [one for one in amounts if one is not None]
    return repr(sum(known)) if len(known) == len(amounts) else _UNKNOWN
