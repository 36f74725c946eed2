"""What an attempt of ThinkingBox-Bench costs besides the model, here and with ThinkingBox's own runner.

Both sides play the same tasks, eight at once, with the same servers in the same Python, an agent that makes the
calls which the servers know to be right, and a judge that says yes: no model is asked, no search engine runs. Each
plays few tasks and many, in turn; the cost of an attempt is the difference, divided by the number of tasks between.
CPU is that of all processes, those of servers included.

It needs what is not part of this package: the public data and the runner (`--data`, `--reference`), and a Python in
which the runner and the servers' dependencies are installed (`--servers-python`).
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from _table import Figure, finish, parser
from always import server

from pytest_thinkingbox.compat.dataset import Dataset
from pytest_thinkingbox.compat.golden import solution_of
from pytest_thinkingbox.declare.solution import Call

HERE = Path(__file__).parent
LIST = Path("releases/thinkingbox_bench_v1/testlist_thinkingbox_bench_v1.yaml")
SERVERS = Path("servers/tb_business_ops_servers_202606")
AT_ONCE = 8
GOAL = 3.0


@dataclass(frozen=True, slots=True)
class Cost:
    wall: float
    cpu: float


def main() -> int:
    given = parser(__doc__ or "")
    given.add_argument(
        "--data", type=Path, required=True, help="a checkout of thinkingbox-data, tag thinkingbox-bench-v1.0"
    )
    given.add_argument("--reference", type=Path, required=True, help="a checkout of thinkingbox")
    given.add_argument("--servers-python", required=True)
    options = given.parse_args()
    few, many, repeats = (8, 24, 1) if options.quick else (8, 48, 2)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as name:
        world = World(Path(name), options.data, options.reference, options.servers_python)
        with server("yes") as judge:
            threading.Thread(target=judge.serve_forever, daemon=True).start()
            world.judge = f"http://127.0.0.1:{judge.server_address[1]}/v1"
            runs = [
                (world.here(few), world.there(few), world.here(many), world.there(many))
                for _ in range(repeats)
            ]
            judge.shutdown()

    def cost(side: int, what: str) -> float:
        """The least, because whatever else the machine does only adds."""
        first, second = (min(getattr(run[at], what) for run in runs) for at in (side, side + 2))
        return (second - first) / (many - few)

    figures = [
        Figure(name="attempt here, wall", value=cost(0, "wall") * 1000, unit="ms"),
        Figure(name="attempt here, CPU", value=cost(0, "cpu") * 1000, unit="ms"),
        Figure(name="attempt of the other runner, wall", value=cost(1, "wall") * 1000, unit="ms"),
        Figure(name="attempt of the other runner, CPU", value=cost(1, "cpu") * 1000, unit="ms"),
        Figure(name="wall, other / here", value=cost(1, "wall") / cost(0, "wall"), unit="x", at_least=GOAL),
        Figure(name="CPU, other / here", value=cost(1, "cpu") / cost(0, "cpu"), unit="x", at_least=GOAL),
    ]
    return finish(
        f"an attempt of ThinkingBox-Bench, {AT_ONCE} at once, {repeats} runs of {many - few}",
        figures,
        options,
    )


class World:
    """A copy of the data without what a search engine would index, so that both sides have the same."""

    def __init__(self, folder: Path, data: Path, reference: Path, python: str) -> None:
        self.folder, self.reference, self.python = folder, reference.resolve(), python
        self.judge = ""
        self.data = folder / "data"
        shutil.copytree(data / "dataset", self.data / "dataset")
        shutil.copytree(data / "servers", self.data / "servers")
        for path in (self.data / "dataset" / "scenario").glob("*.yaml"):
            scenario = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
            for config in scenario["world_state"].values():
                config.pop("sources", None)
            path.write_text(yaml.safe_dump(scenario, sort_keys=False), encoding="utf-8")
        names = yaml.safe_load((data / LIST).read_text("utf-8"))
        self.names = _mixed(names)
        self.golden = folder / "golden.json"
        self.golden.write_text(json.dumps(self._golden()), encoding="utf-8")
        self.environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(one) for one in (self.data / SERVERS, HERE.parent)),
            "THINKINGBOX_GOLDEN": str(self.golden),
            "THINKINGBOX_DATA": str(self.data),
            "OPENAI_API_KEY": "none",
        }

    def here(self, tasks: int) -> Cost:
        return measured(
            [
                sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={self.folder}",
                f"--tb-dataset={self.data / 'dataset'}", f"--tb-list={self._list(tasks)}",
                f"--tb-servers-python={self.python}", "--tb-agent=solution", f"--tb-concurrency={AT_ONCE}",
                "--tb-judge-model=j", f"--tb-judge-base-url={self.judge}",
            ],
            environ=self.environ, folder=self.folder, done=f"{tasks} passed",
        )  # fmt: skip

    def there(self, tasks: int) -> Cost:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config = self.folder / "config.yaml"
        golden, yes = ({"type": "custom", "factory": f"_golden_session.{one}"} for one in ("Golden", "Yes"))
        config.write_text(
            yaml.safe_dump(
                {
                    "mcp_proxy": {"endpoint_url": f"http://127.0.0.1:{port}", "timeout": 300.0},
                    "orchestrator": {"type": "thinkingbox", "agent_model": golden},
                    "judge_model": yes,
                }
            ),
            encoding="utf-8",
        )
        path = [self.reference, HERE, self.data / SERVERS]
        environ = {**self.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
        tb = [self.python, "-m", "thinkingbox.cli.main"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        servers = self.data / "servers" / "servers.yaml"
        proxy = subprocess.Popen(
            [*tb, "mcp-start", "--port", str(port), "--servers", str(servers)],
            env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            _until_it_answers(f"http://127.0.0.1:{port}/health")
            results = self.folder / "results.jsonl"
            cost = measured(
                [
                    *tb, "infer", "-c", str(config), "--dataset", str(self.data / "dataset"), "--agent", "think",
                    "--test-list", str(self._list(tasks)), "--batch-size", str(AT_ONCE), "--output", str(results),
                ],
                environ=environ, folder=self.folder, done="",
            )  # fmt: skip
        finally:
            proxy.send_signal(signal.SIGINT)
            proxy.wait(60)
        lines = [json.loads(line) for line in results.read_text("utf-8").splitlines()]
        passed = sum(bool(one["test_result"] and one["test_result"]["result"]) for one in lines)
        if passed != tasks:
            raise SystemExit(
                f"the other runner passed {passed} of {tasks} tasks: {json.dumps(lines[0])[:2000]}"
            )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Cost(cost.wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def _list(self, tasks: int) -> Path:
        path = self.folder / f"list-{tasks}.yaml"
        path.write_text(yaml.safe_dump(self.names[:tasks]), encoding="utf-8")
        return path

    def _golden(self) -> dict[str, list[tuple[str, dict[str, object]]]]:
        dataset = Dataset(self.data / "dataset", agent="think")
        calls: dict[str, list[tuple[str, dict[str, object]]]] = {}
        listed = self.folder / "all.yaml"
        listed.write_text(yaml.safe_dump(self.names), encoding="utf-8")
        for path, functions in dataset.listed(listed):
            for function in functions:
                task = dataset.task(path, function)
                steps = [one for one in solution_of(task) or () if isinstance(one, Call)]
                calls[task.query] = [(one.tool, dict(one.arguments)) for one in steps]
        return calls


def measured(command: Sequence[str], *, environ: dict[str, str], folder: Path, done: str) -> Cost:
    """Of this command and of all that it started and waited for."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode or done not in ended.stdout:
        raise SystemExit(
            f"{' '.join(command)}: exit {ended.returncode}\n{ended.stdout[-4000:]}\n{ended.stderr[-4000:]}"
        )
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _mixed(names: Sequence[str]) -> list[str]:
    """One of each file in turn, so that few tasks need the same servers as many."""
    files: dict[str, list[str]] = {}
    for name in names:
        files.setdefault(name.partition(":")[0], []).append(name)
    return [one for together in zip(*files.values(), strict=False) for one in together]


def _until_it_answers(url: str) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
