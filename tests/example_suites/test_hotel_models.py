"""The hotel suite, twenty attempts of each task, by a scripted model behind each API and with its users."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.hotel_model import YES, model, solutions
from tests.support.model_apis import DIALECTS, Dialect
from tests.support.stub_endpoint import StubEndpoint

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ATTEMPTS = 20

RUNS = [
    *(pytest.param(dialect, ["-p", "no:xdist"], id=dialect.name) for dialect in DIALECTS),
    pytest.param(DIALECTS[0], ["-n2"], id="chat-n2"),
]


@pytest.mark.parametrize(("dialect", "extra"), RUNS)
def test_the_hotel_suite_passes_through_every_api(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, dialect: Dialect, extra: list[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    tasks = len(solutions())
    with StubEndpoint(model(dialect), remember=False) as stub:
        result = pytester.runpytest_subprocess(
            str(ROOT / "example_suites" / "hotel"),
            *extra,
            *dialect.agent,
            "--tb-model=m",
            "--tb-user-model=guest",
            f"--tb-base-url={stub.url}",
            f"--tb-attempts={ATTEMPTS}",
            f"--tb-dir={pytester.path / 'records'}",
            "--tb-retry-invalid=0",
            "-x",
            "-q",
            timeout=300,
        )
    assert result.ret == 0, result.stdout.str()
    assert result.parseoutcomes() == {"passed": tasks * ATTEMPTS}
    [path] = pytester.path.glob("records/*/attempts.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert {one["outcome"] for one in records} == {"passed"}
    assert len(records) == tasks * ATTEMPTS
    for one in records:
        agent = one["usage"]["agent"]
        assert (agent["input_tokens"], agent["cached_tokens"], agent["output_tokens"]) == (
            100 * agent["requests"],
            64 * agent["requests"],
            10 * agent["requests"],
        )
        spoken = [message["content"] for message in one["messages"] if message["role"] == "user"]
        assert spoken[1:] == ([YES] if "user" in one["usage"] else [])
    assert sum("user" in one["usage"] for one in records) > len(records) / 2
