"""Command-line options and ini settings of the same names, resolved once."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_thinkingbox.plugin.continuing import add_options as add_continuing_options
from pytest_thinkingbox.plugin.continuing import adopt, check_same
from pytest_thinkingbox.plugin.dataset import add_options as add_dataset_options
from pytest_thinkingbox.plugin.estimating import add_option as add_estimate_option
from pytest_thinkingbox.plugin.estimating import campaign_to_judge_by
from pytest_thinkingbox.plugin.interpretation import check_tokenizer, tokenizer_of
from pytest_thinkingbox.plugin.sharding import add_option as add_shard_option
from pytest_thinkingbox.plugin.sharding import shard_of
from pytest_thinkingbox.plugin.values import (
    json_object,
    one_of,
    positive,
    positive_share,
    share,
    temperature,
    whole,
)

if TYPE_CHECKING:
    from pytest_thinkingbox.declare.faults import Fault
    from pytest_thinkingbox.declare.user import Player
    from pytest_thinkingbox.plugin.work import Continued
    from pytest_thinkingbox.proof.model import Plan
    from pytest_thinkingbox.records.model import Purpose
    from pytest_thinkingbox.records.shards import Shard
    from pytest_thinkingbox.stats.prices import Prices


@dataclass(
    frozen=True, slots=True, kw_only=True, eq=False, repr=False
)  # each generated method costs at import
class Options:
    """What the command line, the ini file and the environment say, checked. `agent` is None when nobody is to act."""

    attempts: int
    agent: str | None
    model: str | None
    base_url: str | None
    api: str
    tokenizer: str | None
    temperature: float | None
    extra_body: Mapping[str, Any]
    user_model: str | None
    user_base_url: str | None
    judge_model: str | None
    judge_base_url: str | None
    backend: str
    concurrency: int
    retry_invalid: int
    timeout: float | None
    directory: Path
    seed: int
    purpose: Purpose
    keep: str
    shard: Shard | None
    audit: bool
    min_pass_rate: float | None
    min_reliable: float | None
    baseline: Path | None
    max_drop: float
    max_cost: float | None
    max_tokens: int | None
    prices: Prices
    faults: tuple[Fault, ...]
    judged_by: Path | None = None
    """The stored campaign that an estimate is made from, with --tb-estimate."""
    continued: Continued | None = None
    """The stored campaign that goes on, with --tb-resume."""
    proof: Plan | None = None
    """What to play instead of an agent, when this run is a part of a proof."""

    def plays(self, user: Player | None) -> bool:
        """Whether somebody plays this user: a model where it takes one. To those in `_DEAF` nobody talks."""
        return self._hears(user) and not self.leaves_alone(user)

    def leaves_alone(self, user: Player | None) -> bool:
        """Whether this user takes a model, and there is none, although the agent would hear it."""
        if not self._hears(user) or self.user_model is not None or self.agent in _MODEL_AGENTS:
            return False
        from pytest_thinkingbox.declare.user import User

        return isinstance(user, User)

    def _hears(self, user: Player | None) -> bool:
        return user is not None and self.agent is not None and self.agent.partition(":")[0] not in _DEAF

    @property
    def parameters(self) -> dict[str, Any]:
        """What every request of the model that acts holds beside what the agent itself puts there."""
        sampling = {} if self.temperature is None else {"temperature": self.temperature}
        return {**sampling, **self.extra_body}

    @property
    def shown_backend(self) -> str:
        """The backend without the password that its URL may hold."""
        return re.sub(r"(://[^:/@]*):.*@", r"\1:***@", self.backend)


_MODEL_AGENTS = ("openai", "anthropic")
"""The agents whose model plays the user too, where no other one is named."""
_ASKED = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "tokens": "OPENAI_BASE_URL"}
"""The agents that are a model behind an endpoint, and the variable that names this."""
_DEAF = ("solution", "none", "mutant", "proof")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Setting:
    name: str
    parse: Callable[[str], Any]
    expected: str
    default: Any
    metavar: str
    help: str


_SETTINGS = (
    _Setting(name="attempts", parse=whole(1), expected="a whole number from 1", default=1, metavar="N",
             help="Run every task N times, each time on its own fresh database (default: 1)."),
    _Setting(name="agent", parse=str, expected="an agent", default=None, metavar="AGENT",
             help="Who acts: openai (any OpenAI-compatible endpoint; the default once --tb-model names a model), "
                  "anthropic (the Messages API), tokens (a local model by token ids), command:PROGRAM ARGS, "
                  "python:MODULE:FUNCTION, solution (the reference solution), none (does nothing), mutant[:RATE] (the "
                  "solution with random slips)."),
    _Setting(name="model", parse=str, expected="a model", default=None, metavar="MODEL",
             help="The model that acts, as its endpoint calls it."),
    _Setting(name="base_url", parse=str, expected="a URL", default=None, metavar="URL",
             help="The endpoint (default: OPENAI_BASE_URL, else https://api.openai.com/v1; for anthropic "
                  "ANTHROPIC_BASE_URL, else https://api.anthropic.com; for tokens http://127.0.0.1:8000/v1 in place of "
                  "OpenAI's). The key comes from OPENAI_API_KEY or "
                  "ANTHROPIC_API_KEY."),
    _Setting(name="api", parse=one_of("chat", "responses"), expected="chat or responses", default="chat",
             metavar="API",
             help="How the openai agent speaks to its endpoint: chat (chat completions, the default) or responses "
                  "(the Responses API)."),
    _Setting(name="tokenizer", parse=str, expected="a folder", default=None, metavar="DIR",
             help="Where the tokens agent finds tokenizer and chat template: a folder, or a name that transformers "
                  "finds (default: the model's name, where that is a folder)."),
    _Setting(name="temperature", parse=temperature, expected="a number from 0", default=None, metavar="T",
             help="Sampling temperature of the model that acts (default: the endpoint's own; for tokens 1)."),
    _Setting(name="extra_body", parse=json_object, expected="a JSON object", default={}, metavar="JSON",
             help="Further fields of every request of the model that acts, as its API names them, for example "
                  "'{\"top_p\": 0.9, \"max_completion_tokens\": 4000}'."),
    _Setting(name="user_model", parse=str, expected="a model", default=None, metavar="MODEL",
             help="The model that plays the user (default: the model that acts)."),
    _Setting(name="user_base_url", parse=str, expected="a URL", default=None, metavar="URL",
             help="The endpoint of the model that plays the user (default: THINKINGBOX_USER_BASE_URL, else the "
                  "agent's). The key comes from THINKINGBOX_USER_API_KEY, else OPENAI_API_KEY."),
    _Setting(name="judge_model", parse=str, expected="a model", default=None, metavar="MODEL",
             help="The model that answers the questions of checkers (judge.yes)."),
    _Setting(name="judge_base_url", parse=str, expected="a URL", default=None, metavar="URL",
             help="The endpoint of the judge (default: THINKINGBOX_JUDGE_BASE_URL, else the agent's). The key comes "
                  "from THINKINGBOX_JUDGE_API_KEY, else OPENAI_API_KEY."),
    _Setting(name="backend", parse=str, expected="a backend", default="sqlite", metavar="BACKEND",
             help="Where the databases live: sqlite (embedded, the default), postgres, mysql, mariadb or an image such "
                  "as postgres:17 (one container for the campaign), postgres-embedded (a server from a wheel), or the "
                  "URL of a server for tests and its administrator, "
                  "postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE or mysql+pymysql://USER:PASSWORD@HOST:PORT."),
    _Setting(name="concurrency", parse=whole(1), expected="a whole number from 1", default=8, metavar="N",
             help="Play at most N attempts at the same time, in all processes together (default: 8)."),
    _Setting(name="retry_invalid", parse=whole(0), expected="a whole number from 0", default=2, metavar="N",
             help="Play an attempt that an outage made invalid again, up to N times (default: 2)."),
    _Setting(name="timeout", parse=positive, expected="a number of seconds above 0", default=None,
             metavar="SECONDS",
             help="The agent's own time per attempt, without queueing, retries and user (default: what the "
                  "environment's Limits say)."),
    _Setting(name="dir", parse=str, expected="a folder", default=".thinkingbox", metavar="DIR",
             help="Where records are written, a folder for each campaign (default: .thinkingbox)."),
    _Setting(name="seed", parse=whole(0), expected="a whole number from 0", default=0, metavar="N",
             help="Seed of everything random; attempts of one task differ all the same (default: 0)."),
    _Setting(name="purpose", parse=one_of("probe", "validation", "evaluation"),
             expected="probe, validation or evaluation", default="evaluation", metavar="PURPOSE",
             help="What the campaign is for: evaluation (default), validation, or probe: those of a probe are no "
                  "baseline."),
    _Setting(name="faults", parse=str, expected="faults", default=None, metavar="FAULTS",
             help="Faults of every task, such as 'confirm_*:after_commit=timeout,rate=0.2;send_mail:before=error': the "
                  "call fails before it is made, or it commits and its answer is lost."),
    _Setting(name="keep", parse=one_of("failed", "all", "none"), expected="failed, all or none", default="none",
             metavar="WHICH",
             help="Keep the databases of attempts that failed, of all of them, or of none (default)."),
    _Setting(name="min_pass_rate", parse=share, expected="a number from 0 to 1", default=None, metavar="RATE",
             help="Gate: exit 0 if the mean pass rate over tasks is at least RATE. With a gate, failed attempts "
                  "are figures; without one, any failed attempt fails the run."),
    _Setting(name="min_reliable", parse=share, expected="a number from 0 to 1", default=None, metavar="SHARE",
             help="Gate: exit 0 if at least this share of the tasks passes every attempt."),
    _Setting(name="baseline", parse=str, expected="a campaign's folder", default=None, metavar="DIR",
             help="Gate: exit 0 if pass@1 did not drop against this campaign, paired by task."),
    _Setting(name="max_drop", parse=positive_share, expected="a number above 0, up to 1", default=0.05,
             metavar="SHARE", help="How far pass@1 may drop against --tb-baseline (default: 0.05, 5 points)."),
    _Setting(name="max_cost", parse=positive, expected="a number of US dollars above 0", default=None,
             metavar="DOLLARS",
             help="Start no further episode once agent, users and judge have cost so much by --tb-prices; "
                  "--tb-resume goes on."),
    _Setting(name="max_tokens", parse=whole(1), expected="a whole number from 1", default=None, metavar="N",
             help="Start no further episode once so many tokens are used; --tb-resume goes on."),
    _Setting(name="prices", parse=str, expected="a TOML file", default=None, metavar="FILE",
             help="What tokens cost: a TOML file with [models.NAME], input, cached_input and output in US dollars per "
                  "million tokens. A model that is not in it has no price."),
)  # fmt: skip


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("thinkingbox", "thinkingbox: test agents by the rows they leave behind")
    for setting in _SETTINGS:
        group.addoption(
            f"--tb-{setting.name.replace('_', '-')}",
            dest=f"tb_{setting.name}",
            default=None,
            metavar=setting.metavar,
            help=setting.help,
        )
        parser.addini(
            f"tb_{setting.name}", f"Default of --tb-{setting.name.replace('_', '-')}.", default=None
        )
    group.addoption(
        "--tb-audit",
        dest="tb_audit",
        action="store_true",
        default=None,
        help="Read the changes of every attempt twice, the fast way and by full comparison; an attempt in which they "
        "differ is invalid, loudly.",
    )
    parser.addini("tb_audit", "Default of --tb-audit.", type="bool", default=False)
    group.addoption(
        "--tb-prove",
        dest="tb_prove",
        action="store_true",
        default=False,
        help="Prove the checkers instead of testing an agent: play every task's solution, an agent that does nothing, "
        "and mutants of the solution, all of which must fail (the same as `thinkingbox prove`).",
    )
    group.addoption(
        "--tb-min-score",
        dest="tb_min_score",
        type=share,
        default=1.0,
        metavar="SCORE",
        help="With --tb-prove: exit 0 if at least this share of the mutants fails (default: 1.0).",
    )
    add_continuing_options(group)
    add_shard_option(group)
    add_estimate_option(group)
    add_dataset_options(group)
    group.addoption("--tb-proof-plan", dest="tb_proof_plan", default=None, help=argparse.SUPPRESS)


def resolve(config: pytest.Config) -> Options:
    """Command line before ini before default; a wrong value is a usage error that names where it stands."""
    values = {setting.name: _value(config, setting) for setting in _SETTINGS}
    audit = config.getoption("tb_audit")
    proof = _proof(config)
    agent = "proof" if proof else values["agent"] or ("openai" if values["model"] else None)
    url_variable = _ASKED.get(agent or "", "OPENAI_BASE_URL")
    options = Options(
        attempts=values["attempts"],
        agent=agent,
        model=values["model"] or None,
        base_url=values["base_url"] or os.environ.get(url_variable) or None,
        api=values["api"],
        tokenizer=tokenizer_of(
            values["tokenizer"],
            values["model"],
            there=_path(config, "tb_tokenizer", values["tokenizer"] or ""),
        ),
        temperature=values["temperature"],
        extra_body=values["extra_body"],
        user_model=values["user_model"] or None,
        user_base_url=values["user_base_url"] or os.environ.get("THINKINGBOX_USER_BASE_URL") or None,
        judge_model=values["judge_model"] or None,
        judge_base_url=values["judge_base_url"] or os.environ.get("THINKINGBOX_JUDGE_BASE_URL") or None,
        backend=values["backend"],
        concurrency=values["concurrency"],
        retry_invalid=values["retry_invalid"],
        timeout=values["timeout"],
        directory=config.rootpath / values["dir"],
        seed=values["seed"],
        purpose=values["purpose"],
        keep=values["keep"],
        shard=shard_of(config),
        audit=bool(config.getini("tb_audit") if audit is None else audit),
        min_pass_rate=values["min_pass_rate"],
        min_reliable=values["min_reliable"],
        baseline=_baseline(config, values["baseline"]),
        max_drop=values["max_drop"],
        max_cost=values["max_cost"],
        max_tokens=values["max_tokens"],
        prices=_prices(config, values["prices"]),
        faults=_faults(values["faults"]),
        judged_by=campaign_to_judge_by(config),
        proof=proof,
    )
    options = adopt(config, options)
    _check_together(config, options)
    check_tokenizer(config, options)
    if options.continued is not None and not options.continued.regrade:
        check_same(options)
    return options


def _path(config: pytest.Config, option: str, name: str) -> Path:
    """A path of the command line counts from where pytest was started, one of the ini file from the root."""
    given = config.getoption(option) is not None
    return (config.invocation_params.dir if given else config.rootpath) / name


def _baseline(config: pytest.Config, name: str | None) -> Path | None:
    """The campaign's own folder: which one is the latest may change while this one runs."""
    if not name:
        return None
    from pytest_thinkingbox.records.schema import BrokenRecords
    from pytest_thinkingbox.records.store import CampaignFolder, find_campaign

    try:
        path = find_campaign(_path(config, "tb_baseline", name))
        CampaignFolder.open(path).read_info()
    except BrokenRecords as error:
        raise pytest.UsageError(f"--tb-baseline: {error}") from None
    return path.resolve()


def _prices(config: pytest.Config, name: str | None) -> Prices:
    if not name:
        return {}
    from pytest_thinkingbox.stats.prices import BrokenPrices, read_prices

    try:
        return read_prices(_path(config, "tb_prices", name))
    except BrokenPrices as error:
        raise pytest.UsageError(f"--tb-prices: {error}") from None


def _faults(line: str | None) -> tuple[Fault, ...]:
    if not line:
        return ()
    from pytest_thinkingbox.declare.faults import parse_faults

    try:
        return parse_faults(line)
    except ValueError as error:
        raise pytest.UsageError(f"--tb-faults: {error}") from None


def _proof(config: pytest.Config) -> Plan | None:
    path = config.getoption("tb_proof_plan")
    if path is None:
        return None
    from pytest_thinkingbox.proof.model import Plan

    return Plan.read(Path(path))


def _value(config: pytest.Config, setting: _Setting) -> Any:
    given = config.getoption(f"tb_{setting.name}")
    where = f"--tb-{setting.name.replace('_', '-')}"
    if given is None:
        given = config.getini(f"tb_{setting.name}")
        where = f"tb_{setting.name} in {config.inipath}"
    if given is None:
        return setting.default
    try:
        return setting.parse(str(given))
    except ValueError:
        raise pytest.UsageError(f"{where}: {given!r} must be {setting.expected}") from None


def _check_together(config: pytest.Config, options: Options) -> None:
    if options.agent is None:
        for name in ("attempts", "min_pass_rate", "min_reliable", "baseline", "resume", "shard", "estimate"):
            if config.getoption(f"tb_{name}") is not None:
                raise pytest.UsageError(
                    f"--tb-{name.replace('_', '-')} asks for a campaign, but nobody is to act: name a model with "
                    "--tb-model or an agent with --tb-agent (for example --tb-agent=mutant)"
                )
        return
    if options.max_cost is not None and options.model is not None and options.model not in options.prices:
        raise pytest.UsageError(
            f"--tb-max-cost needs the price of {options.model!r}: name a table that has it with --tb-prices"
        )
    if options.agent in _ASKED and options.model is None:
        raise pytest.UsageError(f"--tb-agent={options.agent} needs a model: name it with --tb-model")
    _check_sampling(config, options)
    if options.faults and options.agent in ("solution", "proof"):
        raise pytest.UsageError(
            "--tb-faults: reference solutions know nothing of them and break; faults that belong to a task are "
            "its own: @environment.task(..., faults=[Fault(...)])"
        )
    for name in _repeating(config):
        raise pytest.UsageError(
            f"{name} would repeat an attempt until it passes, which makes every figure a lie: take it out of "
            "the command line, addopts and ini file, or run the tasks apart from the tests that need it"
        )
    if not (config.getoption("collectonly") or config.getoption("setupplan")):
        _check_directory(options.directory)
    if config.getoption("setuponly") and not config.getoption("setupplan"):
        raise pytest.UsageError("--setup-only would play episodes that nobody grades: use --setup-plan")


def _check_sampling(config: pytest.Config, options: Options) -> None:
    """What would be ignored in silence is refused; an ini file may hold it for the runs with a model."""
    if options.api != "chat" and options.agent != "openai" and config.getoption("tb_api") is not None:
        raise pytest.UsageError(f"--tb-api={options.api} is for --tb-agent=openai, not for {options.agent}")
    for name in ("temperature", "extra_body"):
        if config.getoption(f"tb_{name}") is not None and options.agent not in _ASKED:
            raise pytest.UsageError(
                f"--tb-{name.replace('_', '-')} is for an agent that is a model (openai, anthropic, tokens): "
                f"--tb-agent={options.agent} would not see it"
            )
    if options.temperature is not None and "temperature" in options.extra_body:
        raise pytest.UsageError(
            "both --tb-temperature and --tb-extra-body set the temperature: keep one of them"
        )


def _repeating(config: pytest.Config) -> Iterator[str]:
    """What asks another plugin to repeat failed tests. These plugins may be absent, and so their options."""
    for option in ("reruns", "force_reruns", "retries", "force_flaky"):
        if config.getoption(option, None):
            yield f"--{option.replace('_', '-')}"
    for setting in ("reruns", "retries"):
        try:
            value = config.getini(setting)
        except ValueError:
            continue
        if str(value or "0").strip() != "0":
            yield f"{setting} in {config.inipath}"


def _check_directory(directory: Path) -> None:
    there = next(one for one in (directory, *directory.parents) if one.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        why = "cannot be written to" if there.is_dir() else "is no folder"
        raise pytest.UsageError(f"--tb-dir={directory}: {there} {why}, so that no record could be kept")
