from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
import sqlalchemy as sa
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from sqlalchemy import Connection

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.declare import Server, ServerContext
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.tools.session import Toolbox
from tests.tools.world import NOW, World

if TYPE_CHECKING:
    from fractions import Fraction


def book(
    connection: Connection,
    booking_id: int,
    guest: Annotated[str, Field(max_length=20)],
    kind: Literal["single", "double"] = "single",
) -> dict[str, Any]:
    """Book a room.

    The guest pays later.
    """
    connection.execute(
        sa.text("insert into bookings values (:id, :guest)"), {"id": booking_id, "guest": guest}
    )
    if guest == "ValueError":
        raise ValueError("we do not take this guest")
    if guest == "KeyError":
        raise KeyError("/home/dana/secret")
    return {"id": booking_id, "kind": kind}


def bookings(connection: Connection) -> Any:
    return connection.execute(sa.text("select * from bookings")).all()


def first(connection: Connection) -> Any:
    return connection.execute(sa.text("select * from bookings")).mappings().first()


def bad(connection: Connection) -> None:
    connection.execute(sa.text("select secret from nowhere where x = 'hunter2'"))


async def world_of(context: ServerContext) -> str:
    return f"{context.attempt_id} {context.now} {context.mail_host}:{context.mail_port}"


async def book_later(connection: Connection, booking_id: int) -> str:
    await asyncio.sleep(0)
    connection.execute(sa.text("insert into bookings values (:id, 'later')"), {"id": booking_id})
    return "booked"


def answer(kind: str) -> Any:
    return {
        "none": None,
        "number": 3,
        "money": {"total": Decimal("25.00"), "day": date(2026, 3, 1)},
        "list": [1, "zwei"],
        "text": "plain words",
        "blob": b"\xff\x00",
        "image": Image(data=b"12345", format="png"),
    }[kind]


def refuse() -> None:
    raise ToolError("Ask the manager first.")


SERVER = Server.functions([book, bookings, first, bad, world_of, book_later, answer, refuse])


def call(world: World, name: str, **arguments: Any) -> ToolOutput:
    async def use(toolbox: Toolbox) -> ToolOutput:
        return await toolbox.call(name, arguments)

    return world.run(use, SERVER, now=NOW)


def specs(world: World, server: Server) -> dict[str, Any]:
    async def use(toolbox: Toolbox) -> dict[str, Any]:
        return {spec.name: spec for spec in toolbox.specs}

    return world.run(use, server)


def test_an_agent_sees_the_functions_own_parameters_and_its_docstring(world: World) -> None:
    spec = specs(world, SERVER)["book"]
    assert spec.description == "Book a room.\n\nThe guest pays later."
    assert spec.input_schema == {
        "type": "object",
        "title": "bookArguments",
        "properties": {
            "booking_id": {"title": "Booking Id", "type": "integer"},
            "guest": {"title": "Guest", "type": "string", "maxLength": 20},
            "kind": {"title": "Kind", "type": "string", "enum": ["single", "double"], "default": "single"},
        },
        "required": ["booking_id", "guest"],
        "additionalProperties": False,
    }


def test_the_connection_is_committed_when_the_function_returns(world: World) -> None:
    output = call(world, "book", booking_id=7, guest="Dana")
    assert output == ToolOutput('{"id":7,"kind":"single"}', value={"id": 7, "kind": "single"})
    assert world.rows() == [(7, "Dana")]


def test_an_async_function_gets_a_connection_too(world: World) -> None:
    assert call(world, "book_later", booking_id=8).text == "booked"
    assert world.rows() == [(8, "later")]


def test_a_value_error_is_told_and_nothing_is_written(world: World) -> None:
    output = call(world, "book", booking_id=7, guest="ValueError")
    assert output == ToolOutput("Error executing tool book: we do not take this guest", error=True)
    assert world.rows() == []


def test_a_tool_error_is_told(world: World) -> None:
    assert call(world, "refuse").text == "Error executing tool refuse: Ask the manager first."


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_any_other_exception_keeps_its_text_and_nothing_is_written(world: World) -> None:
    output = call(world, "book", booking_id=7, guest="KeyError")
    assert output == ToolOutput("Error executing tool book", error=True)
    assert world.rows() == []


def test_t16_a_violated_constraint_is_one_sentence_for_the_agent(world: World) -> None:
    async def use(toolbox: Toolbox) -> ToolOutput:
        await toolbox.call("book", {"booking_id": 7, "guest": "Dana"})
        return await toolbox.call("book", {"booking_id": 7, "guest": "Other"})

    output = world.run(use, SERVER)
    assert output.error
    assert output.text == (
        "Error executing tool book: The database refused the change: UNIQUE constraint failed: bookings.id"
    )


def test_t16_a_bad_statement_is_one_sentence_without_sql_for_the_agent(world: World) -> None:
    output = call(world, "bad")
    assert output.error
    assert (
        output.text == "Error executing tool bad: The database refused the statement: no such table: nowhere"
    )


def shelve(function: str, injected: int, context: str) -> str:
    """Any names will do."""
    return f"{function} {injected} {context}"


def test_parameters_may_have_any_name(world: World) -> None:
    async def use(toolbox: Toolbox) -> str:
        return (await toolbox.call("shelve", {"function": "a", "injected": 2, "context": "c"})).text

    assert world.run(use, Server.functions([shelve])) == "a 2 c"


def test_the_context_is_injected(world: World) -> None:
    assert call(world, "world_of").text == (
        "test_shop.py::test_order[try3] 2026-03-01 12:00:00+00:00 127.0.0.1:2525"
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("none", ToolOutput("null")),
        ("number", ToolOutput("3")),
        ("list", ToolOutput('[1,"zwei"]')),
        ("text", ToolOutput("plain words")),
        ("blob", ToolOutput('"_wA="')),
        ("image", ToolOutput("[image: image/png, 5 bytes]")),
        (
            "money",
            ToolOutput('{"total":"25.00","day":"2026-03-01"}', value={"total": "25.00", "day": "2026-03-01"}),
        ),
    ],
)
def test_whatever_a_function_returns_has_a_text(world: World, kind: str, expected: ToolOutput) -> None:
    assert call(world, "answer", kind=kind) == expected


def test_rows_are_shown_as_objects(world: World) -> None:
    async def use(toolbox: Toolbox) -> list[ToolOutput]:
        await toolbox.call("book", {"booking_id": 7, "guest": "Dana"})
        return [await toolbox.call("bookings", {}), await toolbox.call("first", {})]

    listed, one = world.run(use, SERVER)
    assert json.loads(listed.text) == [{"id": 7, "guest": "Dana"}]
    assert one.value == {"id": 7, "guest": "Dana"}


def test_t19_a_misspelled_argument_is_refused_with_the_right_names(world: World) -> None:
    output = call(world, "book", booking_id=7, guest="Dana", kidn="double")
    assert output.error
    assert output.text == (
        "book was not called: it has no argument 'kidn'; its arguments are: booking_id, guest, kind"
    )
    assert world.rows() == []


def test_t19_a_wrong_type_is_told_with_the_argument(world: World) -> None:
    output = call(world, "book", booking_id="seven", guest="Dana")
    assert output.error
    assert "booking_id\n  Input should be a valid integer" in output.text


def positional(x: int, /) -> None: ...


def variadic(*numbers: int) -> None: ...


def unresolved(x: Fraction) -> None: ...


def twin() -> None: ...


def underscored(_x: int) -> None: ...


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ([positional], "positional: x: 'int' cannot be called by name"),
        ([variadic], r"variadic: \*numbers: 'int' cannot be called by name"),
        ([unresolved], "unresolved: name 'Fraction' is not defined .* not only under TYPE_CHECKING"),
        ([twin, twin], "two functions are named twin"),
        ([lambda: 1], "<lambda>: .*provide a name for lambda"),
        ([underscored], "underscored: .*cannot start with '_'"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_by_name(
    world: World, functions: list[Callable[..., Any]], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"Server.functions: {words}"):
        specs(world, Server.functions(functions))


def doze(seconds: float) -> str:
    """Sleeps in a thread."""
    time.sleep(seconds)
    return "awake"


async def ponder(seconds: float) -> str:
    """Sleeps in the loop."""
    await asyncio.sleep(seconds)
    return "awake"


@pytest.mark.parametrize("name", ["doze", "ponder"])
def test_a_function_that_takes_too_long_is_left_behind_at_its_limit(world: World, name: str) -> None:
    async def use(toolbox: Toolbox) -> tuple[ToolOutput, float]:
        started = time.perf_counter()
        output = await toolbox.call(name, {"seconds": 1.5})
        return output, time.perf_counter() - started

    output, took = world.run(use, Server.functions([doze, ponder]), tool_seconds=0.1)
    assert output == ToolOutput(
        f"{name} did not answer within 0.1 s. It may have taken effect or not.", error=True
    )
    assert took < 1.4


def test_t52_a_function_that_was_left_behind_is_known_to_run(world: World) -> None:
    async def use() -> tuple[bool, bool]:
        async with world.open(Server.functions([doze]), tool_seconds=0.1) as toolbox:
            await toolbox.call("doze", {"seconds": 0.5})
        busy = toolbox.busy
        deadline = time.perf_counter() + 5
        while toolbox.busy and time.perf_counter() < deadline:
            await asyncio.sleep(0.02)
        return busy, toolbox.busy

    assert asyncio.run(use()) == (True, False)


def test_t52_a_cancelled_episode_does_not_wait_for_a_function(world: World) -> None:
    async def use() -> float:
        async def episode() -> None:
            async with world.open(Server.functions([doze])) as toolbox:
                await toolbox.call("doze", {"seconds": 1.5})

        task = asyncio.create_task(episode())
        await asyncio.sleep(0.3)
        started = time.perf_counter()
        task.cancel()
        await asyncio.wait({task})
        return time.perf_counter() - started

    assert asyncio.run(use()) < 1


def test_hanging_functions_do_not_use_up_the_threads_of_others(world: World) -> None:
    async def use(toolbox: Toolbox) -> ToolOutput:
        await asyncio.gather(*(toolbox.call("doze", {"seconds": 1.5}) for _ in range(45)))
        return await toolbox.call("doze", {"seconds": 0})

    assert world.run(use, Server.functions([doze]), tool_seconds=0.3).text == "awake"


def test_attempts_at_the_same_time_get_their_own_context(world: World) -> None:
    async def use() -> list[str]:
        async def play(name: str) -> str:
            async with world.open(Server.functions([whose, whose_async]), attempt_id=name) as toolbox:
                outputs = [(await toolbox.call(tool, {})).text for tool in ("whose", "whose_async")]
                return " ".join(outputs)

        return await asyncio.gather(*(play(name) for name in "abc"))

    assert asyncio.run(use()) == ["a a", "b b", "c c"]


def whose(context: ServerContext) -> str:
    """Whose call this is."""
    time.sleep(0.02)
    return context.attempt_id


async def whose_async(context: ServerContext) -> str:
    """The same in the loop."""
    await asyncio.sleep(0.02)
    return context.attempt_id
