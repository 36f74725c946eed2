"""`--tb-dataset`: tasks in the file format of ThinkingBox. Imports nothing heavy until one is named."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_thinkingbox.plugin.dataset_tasks import DatasetCollection

NAME = "thinkingbox-dataset"
_SETTINGS = (
    ("dataset", "DIR", "Run the tasks of this dataset, a folder with test_case/, scenario/ and agent/ as ThinkingBox "
     "has them (default: none)."),
    ("list", "FILE", "With --tb-dataset: only the tasks that this YAML list names, each as file.py:function (default: "
     "all)."),
    ("dataset_agent", "NAME", "With --tb-dataset: the file in its agent/ that says how the agent is instructed "
     "(default: think)."),
    ("servers", "FILE", "With --tb-dataset: the YAML file that says how its servers are started (default: "
     "servers/servers.yaml beside the dataset)."),
    ("servers_python", "PYTHON", "With --tb-dataset: the Python that stands for {python} in the commands of its "
     "servers (default: the one that runs pytest)."),
)  # fmt: skip


def add_options(group: pytest.OptionGroup) -> None:
    for name, metavar, words in _SETTINGS:
        group.addoption(
            f"--tb-{name.replace('_', '-')}", dest=f"tb_{name}", default=None, metavar=metavar, help=words
        )
    group.addoption(
        "--tb-without-sources",
        dest="tb_without_sources",
        action="store_true",
        default=False,
        help="With --tb-dataset: begin its servers without the texts that a search engine would index, where none "
        "runs.",
    )


def collection_of(config: pytest.Config) -> DatasetCollection | None:
    """What collects the dataset that the options name; None when they name none."""
    folder = config.getoption("tb_dataset")
    if not folder:
        for name in (*(one[0] for one in _SETTINGS[1:]), "without_sources"):
            if config.getoption(f"tb_{name}"):
                raise pytest.UsageError(f"--tb-{name.replace('_', '-')} belongs to --tb-dataset=DIR")
        return None
    if config.getoption("tb_prove") or config.getoption("tb_proof_plan"):
        raise pytest.UsageError(
            "--tb-prove compares rows, and what the servers of --tb-dataset tell is none: its checkers cannot be proved"
        )
    if find_spec("yaml") is None:
        raise pytest.UsageError("--tb-dataset needs PyYAML: pip install 'pytest-thinkingbox[dataset]'")
    from pytest_thinkingbox.plugin.dataset_tasks import DatasetCollection, Where

    start = config.invocation_params.dir
    dataset = (start / folder).resolve()
    listed, servers = config.getoption("tb_list"), config.getoption("tb_servers")
    where = Where(
        dataset=dataset,
        listed=None if listed is None else (start / listed).resolve(),
        agent=config.getoption("tb_dataset_agent") or "think",
        servers=(start / servers).resolve() if servers else dataset.parent / "servers" / "servers.yaml",
        python=config.getoption("tb_servers_python"),
        without_sources=config.getoption("tb_without_sources"),
    )
    _collect(config, where.tasks)
    return DatasetCollection(where)


def _collect(config: pytest.Config, folder: Path) -> None:
    """Beside the paths of the command line, or instead of those that pytest would have taken without any."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = []
    if str(folder) not in config.args:  # a worker was told already
        config.args.append(str(folder))
