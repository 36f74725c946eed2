"""Servers that are imported once and copied for each attempt."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from mcp import Client

from pytest_thinkingbox.compat.prefork import NotForked, Prefork
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.tools.processes import LastWords
from tests.compat.conftest import DEPOT

SERVERS = DEPOT / "servers"


def start(module: str, folder: Path, *more: str) -> Prefork:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(SERVERS)))}
    return Prefork.start([sys.executable, "-m", module, *more], environ=environ, cwd=str(folder))


def test_copies_begin_where_the_import_ended_and_share_nothing(tmp_path):
    (tmp_path / "counted.py").write_text(
        "from depot import *\nopen('imports', 'a').write('x')\nif __name__ == '__main__':\n    main()\n",
        encoding="utf-8",
    )

    async def play() -> list[str]:
        prefork = await start("counted", tmp_path, "north")
        said = []
        for items in ({"saw": 2}, {"saw": 1}):
            errors = LastWords()
            async with Client(prefork.copy(errors), mode="legacy", cache=None) as client:
                await client.call_tool("__reserved__init", {"config": {"items": items}})
                await client.call_tool("lend", {"item": "saw", "to": "Ravi"})
                for tool in ("list_items", "who"):
                    said.append((await client.call_tool(tool, {})).content[0].text)
            errors.close()
        await prefork.close()
        return said

    assert asyncio.run(play()) == ['{"saw": 1}', "north", '{"saw": 0}', "north"]
    assert (tmp_path / "imports").read_text("utf-8") == "x"


def test_who_gives_up_waiting_gets_no_answer_of_others(tmp_path):
    async def play() -> list[str]:
        prefork = await start("depot", tmp_path)
        errors = LastWords()
        late = asyncio.ensure_future(prefork.copy(errors).__aenter__())
        await asyncio.sleep(0)
        late.cancel()
        said = []
        for keeper in ("a", "b"):
            async with Client(prefork.copy(errors), mode="legacy", cache=None) as client:
                text = (
                    (await client.call_tool("__reserved__init", {"config": {"keeper": keeper}}))
                    .content[0]
                    .text
                )
                said.append(json.loads(text)["keeper"])
        await asyncio.gather(late, return_exceptions=True)
        await prefork.close()
        errors.close()
        return said

    assert asyncio.run(play()) == ["a", "b"]


def test_a_program_that_ended_is_lost_and_says_so(tmp_path):
    async def play() -> tuple[bool, str]:
        prefork = await start("depot", tmp_path)
        prefork._process.kill()
        errors = LastWords()
        with pytest.raises(InfrastructureDown) as raised:
            async with prefork.copy(errors):
                pass
        await prefork.close()
        errors.close()
        return prefork.lost, str(raised.value)

    lost, words = asyncio.run(play())
    assert lost
    assert "the server program that is copied for attempts does not answer" in words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import depot\n", "no `if __name__ == '__main__':`"),
        ("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
         "if __name__ == '__main__':\n    pass\n", "starts threads"),
        ("raise ImportError('no such database')\nif __name__ == '__main__':\n    pass\n", "no such database"),
    ],
    ids=["no main part", "threads", "an error"],
)  # fmt: skip
def test_what_cannot_be_copied_says_why(text, words, tmp_path):
    (tmp_path / "one.py").write_text(text, encoding="utf-8")
    with pytest.raises(NotForked) as raised:
        asyncio.run(start("one", tmp_path))
    assert words in str(raised.value)


def test_a_program_that_is_no_module_is_not_copied(tmp_path):
    with pytest.raises(NotForked, match="only `PYTHON -m MODULE` can be copied"):
        asyncio.run(Prefork.start(["depot"], environ={}, cwd=None))
