"""Servers that are imported once and copied for each attempt."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from mcp import Client

from pytest_thinkingbox.compat.prefork import NotForked, Prefork
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
