from __future__ import annotations

import subprocess
import sys


def test_the_mcp_sdk_is_only_imported_when_a_toolbox_opens() -> None:
    code = (
        "import sys\n"
        "import pytest_thinkingbox.agents, pytest_thinkingbox.agents.command, pytest_thinkingbox.agents.mutant\n"
        "import pytest_thinkingbox.effects.mail, pytest_thinkingbox.tools.session\n"
        "heavy = {'mcp', 'mcp_types', 'pydantic', 'httpx', 'httpx2', 'aiosmtpd', 'sqlalchemy', 'uvicorn'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
