"""An SMTP client library and a webhook sender from PyPI, in a process of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.conftest import SENDERS, Campaign

pytestmark = pytest.mark.slow


def test_what_others_libraries_send_arrives_decoded(
    play: Callable[..., Campaign], installed: Callable[..., Path]
) -> None:
    python = installed("senders", SENDERS) / "python"
    campaign = play(
        "tests/real/senders/tasks.py", "--tb-agent=solution", "--tb-attempts=2", SENDERS_PYTHON=str(python)
    )
    assert campaign.outcomes() == ["passed", "passed", "failed", "failed"], campaign.text
    assert campaign.records[-1]["detail"].startswith("the checker did not account for 1 mail and 1 request:")
