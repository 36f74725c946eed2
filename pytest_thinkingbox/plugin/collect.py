"""From test functions to attempts: parametrization, validation, and the plan that each item carries."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_thinkingbox.plugin.stash import options_key, plan_key

if TYPE_CHECKING:
    import unittest

    from pytest_thinkingbox.declare.task import Task
    from pytest_thinkingbox.declare.user import Player, UserFunction

ATTEMPT_ARGUMENT = "_thinkingbox_attempt"
OUR_FIXTURES = (ATTEMPT_ARGUMENT, "attempt", "changes", "outbox", "judge")
_REPEATERS = ("flaky",)  # pytest-rerunfailures, flaky and pytest-retry all use this marker


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One attempt as an item: everything that its episode needs, known before any fixture runs."""

    task: Task
    task_id: str
    attempt: int
    requested: int
    parameters: Mapping[str, Any]
    prompt: str
    user: Player | None
    function: Callable[..., Any]


class Collection:
    """Turns every task into its attempts."""

    @pytest.hookimpl(trylast=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if task_of(metafunc.function) is None:
            return
        attempts = _attempts(metafunc)
        if ATTEMPT_ARGUMENT not in metafunc.fixturenames:
            metafunc.fixturenames.append(ATTEMPT_ARGUMENT)
        ids: list[Any] = [f"try{number}" for number in range(1, attempts + 1)]
        metafunc.parametrize(
            ATTEMPT_ARGUMENT,
            [(number, attempts) for number in range(1, attempts + 1)],
            indirect=True,
            ids=ids if attempts > 1 else [pytest.HIDDEN_PARAM],
            scope="function",
        )

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """In a proof: tasks only, and as many attempts of each case as are planned for it."""
        proof = config.stash[options_key].proof
        if proof is None:
            return
        counts: dict[str, int] = {}
        kept: list[pytest.Item] = []
        left_out: list[pytest.Item] = []
        for item in items:
            plan = item.stash.get(plan_key, None)
            if plan is not None and plan.task_id not in counts:
                counts[plan.task_id] = len(proof.of(plan.task_id).attempts)
            planned = plan is not None and plan.attempt <= counts[plan.task_id]
            (kept if planned else left_out).append(item)
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = kept

    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makeitem(
        self, collector: pytest.Module | pytest.Class, name: str, obj: object
    ) -> Generator[None, Any, Any]:
        made = yield
        if _is_test_case(obj):
            _refuse_test_case(obj)  # type: ignore[arg-type]
        elif isinstance(made, list):
            for item in made:
                if isinstance(item, pytest.Function):
                    _plan(item)
        return made


def task_of(function: object) -> Task | None:
    """The task that was declared on this function; where nothing was declared, nothing is imported to find out."""
    declared = sys.modules.get("pytest_thinkingbox.declare.task")
    return None if declared is None else declared.task_of(function)


def _is_test_case(obj: object) -> bool:
    loaded = sys.modules.get("unittest")
    return loaded is not None and isinstance(obj, type) and issubclass(obj, loaded.TestCase)


def _attempts(metafunc: pytest.Metafunc) -> int:
    options = metafunc.config.stash[options_key]
    if options.proof is not None:
        return options.proof.most_attempts(metafunc.definition.nodeid)
    mark = metafunc.definition.get_closest_marker("thinkingbox")
    if mark is None:
        return options.attempts if options.agent is not None else 1
    where = f"{metafunc.definition.nodeid}: @pytest.mark.thinkingbox"
    unknown = set(mark.kwargs) - {"attempts"}
    if mark.args or unknown:
        wrong = ", ".join(sorted(unknown)) or repr(mark.args[0])
        raise pytest.Collector.CollectError(f"{where} takes attempts=N and nothing else, not {wrong}")
    attempts = mark.kwargs.get("attempts", options.attempts)
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise pytest.Collector.CollectError(f"{where}: attempts={attempts!r} must be a whole number from 1")
    return attempts if options.agent is not None else 1


def _refuse_test_case(cls: type[unittest.TestCase]) -> None:
    for name in dir(cls):
        if task_of(inspect.getattr_static(cls, name)) is not None:
            raise pytest.Collector.CollectError(
                f"{cls.__module__}.{cls.__qualname__}.{name} is a task, but methods of unittest.TestCase cannot be "
                "repeated: make it a function, or a method of a plain class"
            )


def _plan(item: pytest.Function) -> None:
    task = task_of(item.function)
    if task is None:
        if any(mark.name == "thinkingbox" for mark in item.own_markers):
            raise pytest.Collector.CollectError(
                f"{item.nodeid}: @pytest.mark.thinkingbox is for tasks: decorate the function with "
                "@environment.task(...) too"
            )
        return
    for name in _REPEATERS:
        if item.get_closest_marker(name) is not None:
            raise pytest.Collector.CollectError(
                f"{item.nodeid}: @pytest.mark.{name} would repeat an attempt until it passes: take the marker off; "
                "--tb-attempts repeats, and counts"
            )
    parameters = dict(item.callspec.params)
    number, requested = cast(tuple[int, int], parameters.pop(ATTEMPT_ARGUMENT))
    if item.config.stash[options_key].agent is None:
        item.add_marker(
            pytest.mark.skip(reason="nobody is to act: name a model (--tb-model) or an agent (--tb-agent)")
        )
    prompt = _text(item, "prompt", task.prompt, parameters)
    item.stash[plan_key] = Plan(
        task=task,
        task_id=task.id or _task_id(item, number, requested),
        attempt=number,
        requested=requested,
        parameters=parameters,
        prompt=prompt,
        user=None if task.user is None else _user(item, task.user, parameters, prompt=prompt),
        function=item.function,
    )
    if item.get_closest_marker("thinkingbox") is None:
        item.add_marker("thinkingbox")
    # The episode of a task with ahead=False starts with our fixtures, so they come after all others.
    item.fixturenames.sort(key=lambda name: name in OUR_FIXTURES)


def _task_id(item: pytest.Function, number: int, requested: int) -> str:
    if requested == 1:
        return item.nodeid
    # The function's own name tells where the bracket begins: a case's id may hold brackets too.
    start = len(item.nodeid) - len(item.name) + len(item.originalname) + 1
    base, bracket = item.nodeid[: start - 1], item.nodeid[start:-1]
    if bracket == f"try{number}":
        return base
    return f"{base}[{bracket.removesuffix(f'-try{number}')}]"


def _text(
    item: pytest.Function, argument: str, value: str | Callable[..., str], parameters: Mapping[str, Any]
) -> str:
    if not callable(value):
        return value
    text = call_with_parameters(value, parameters, where=f"{item.nodeid}: {argument}")
    if not isinstance(text, str) or not text.strip():
        raise pytest.Collector.CollectError(
            f"{item.nodeid}: {argument}() returned {text!r}, not a non-empty string"
        )
    return text


def _user(item: pytest.Function, value: Any, parameters: Mapping[str, Any], *, prompt: str) -> Player:
    from pytest_thinkingbox.declare.user import Script, User, plays_itself
    from pytest_thinkingbox.people.words import says

    if callable(value):
        if plays_itself(value):
            return _bound(item, value, parameters)
        value = call_with_parameters(value, parameters, where=f"{item.nodeid}: user")
        if isinstance(value, str) and value.strip():
            value = User(value)
        if not isinstance(value, User | Script):
            raise pytest.Collector.CollectError(
                f"{item.nodeid}: user() returned {value!r}, not a non-empty string, a User or a Script"
            )
    if isinstance(value, User):
        for name, secret in value.private.items():
            if says(secret, prompt):
                raise pytest.Collector.CollectError(
                    f"{item.nodeid}: the prompt says {secret!r}, which the user must never say: private[{name!r}]"
                )
    return cast("Player", value)


def _bound(
    item: pytest.Function, function: Callable[..., Any], parameters: Mapping[str, Any]
) -> UserFunction:
    """The function that plays the user, with those of the test's parameters that it names."""
    if "conversation" in parameters:
        raise pytest.Collector.CollectError(
            f"{item.nodeid}: the function of user= takes `conversation`, which the test has a parameter of: rename that"
        )
    named = _parameters_of(function, parameters, where=f"{item.nodeid}: user", given=("conversation",))
    return partial(function, **named)


def call_with_parameters(function: Callable[..., Any], parameters: Mapping[str, Any], *, where: str) -> Any:
    """Call it with those of the test's parameters that it names."""
    named = _parameters_of(function, parameters, where=where)
    try:
        return function(**named)
    except Exception as error:
        raise pytest.Collector.CollectError(f"{where} raised {type(error).__name__}: {error}") from error


def _parameters_of(
    function: Callable[..., Any], parameters: Mapping[str, Any], *, where: str, given: Sequence[str] = ()
) -> dict[str, Any]:
    """Those of the test's parameters that it names; `given` is what it gets beside them."""
    wanted = inspect.signature(function).parameters
    missing = [
        name for name, one in wanted.items() if one.default is one.empty and name not in (*parameters, *given)
        and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    ]  # fmt: skip
    if missing:
        known = ", ".join(parameters) or "none"
        raise pytest.Collector.CollectError(
            f"{where} takes {', '.join(missing)}, which the test has no parameter for (it has: {known})"
        )
    takes_all = any(one.kind is one.VAR_KEYWORD for one in wanted.values())
    return {name: value for name, value in parameters.items() if takes_all or name in wanted}
