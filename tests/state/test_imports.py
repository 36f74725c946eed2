from __future__ import annotations

import subprocess
import sys


def test_what_checkers_compare_with_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "import pytest_thinkingbox.state.explain, pytest_thinkingbox.state.codec, pytest_thinkingbox.state.apply\n"
        "heavy = {'pytest', 'asyncio', 'sqlalchemy', 'mcp', 'scipy', 'pydantic', 'httpx'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
