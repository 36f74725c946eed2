"""`thinkingbox select`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_thinkingbox.cli.common import add_color, add_command, files_of, has_color, natural, share, width

if TYPE_CHECKING:
    from pytest_thinkingbox.cli.common import Commands
    from pytest_thinkingbox.selection.contents import Contents


def add(commands: Commands) -> None:
    parser = add_command(commands, "select", run, help="from probes of a policy to a pool to train it on")
    parser.add_argument(
        "probes", metavar="CAMPAIGN", type=Path, nargs="+", help="run with --tb-purpose=probe"
    )
    parser.add_argument(
        "-o", "--output", metavar="POOL.json", type=Path, required=True, help="the manifest to write"
    )
    parser.add_argument(
        "--rule",
        choices=("full", "lora"),
        required=True,
        help="full keeps tasks that are hard, middle or often solved; lora keeps hard and middle ones",
    )
    parser.add_argument(
        "--min-valid",
        metavar="N",
        type=natural,
        default=10,
        help="valid probes that a task needs (default: 10)",
    )
    parser.add_argument(
        "--reference",
        metavar="CAMPAIGN",
        type=Path,
        help="keep only tasks that another, stronger model solved at least once in this campaign",
    )
    parser.add_argument(
        "--proof", metavar="FILE", type=Path, help="keep only tasks whose solution passed in this proof"
    )
    parser.add_argument(
        "--benchmark",
        metavar="SUITE",
        action="append",
        default=[],
        help="what will be evaluated: paths that pytest collects, or a .txt file of task ids; a task of it, or a copy "
        "of one, in the pool is an error (repeatable)",
    )
    parser.add_argument(
        "--exclude",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="task ids, or patterns of them, one in a line, that must not be in the pool (repeatable)",
    )
    parser.add_argument(
        "--demonstrations",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="JSON lines of chats that the policy is warmed up on: they are held against the benchmark too",
    )
    for name, default, what in (
        ("validation", 0.1, "tasks, to choose a checkpoint by"),
        ("held-out", 0.2, "tasks, never trained on, of templates that are"),
        ("unseen", 0.1, "templates, never trained on"),
    ):
        parser.add_argument(
            f"--{name}",
            metavar="SHARE",
            type=share,
            default=default,
            help=f"share of {what} (default: {default})",
        )
    parser.add_argument("--seed", metavar="N", type=natural, default=0, help="seed of the draw (default: 0)")
    parser.add_argument(
        "--suite",
        metavar="PATH",
        action="append",
        default=[],
        help="where the probed tasks are (default: the files that the campaigns name)",
    )
    add_color(parser)


def run(options: argparse.Namespace) -> list[str]:
    """Draw training, validation and held-out tasks, keep of the first two those that the policy solves sometimes, and
    write it all down in a manifest. Nothing is played. Exit status 2, and nothing written, when something does not
    fit, when no task is left, or when the pool would teach what the benchmark asks.
    """
    from pytest_thinkingbox.errors import ConfigurationError
    from pytest_thinkingbox.rewards.contents import contents_of_suite
    from pytest_thinkingbox.selection.choose import choose, read_exclusions
    from pytest_thinkingbox.selection.demonstrations import read_demonstrations
    from pytest_thinkingbox.selection.lines import selection_lines
    from pytest_thinkingbox.selection.manifest import demand_replaceable, write_manifest
    from pytest_thinkingbox.selection.pool import Shares
    from pytest_thinkingbox.selection.probes import read_campaign, read_probes
    from pytest_thinkingbox.selection.proofs import read_proof

    if options.reference is not None and options.proof is not None:
        raise ConfigurationError("--reference and --proof are two gates: name one")
    demand_replaceable(options.output)
    try:
        shares = Shares(validation=options.validation, held_out=options.held_out, unseen=options.unseen)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    probes = read_probes(options.probes)
    reference = None if options.reference is None else read_campaign(options.reference)
    proof = None if options.proof is None else read_proof(options.proof)
    excluded = [one for path in options.exclude for one in read_exclusions(path)]
    told = [read_demonstrations(path) for path in options.demonstrations]
    tasks = [task for probe in probes for task in probe.side.info.tasks]
    suite = contents_of_suite(options.suite or files_of(tasks), cwd=Path.cwd())
    manifest = choose(
        probes,
        suite=suite,
        rule=options.rule,
        min_valid=options.min_valid,
        shares=shares,
        seed=options.seed,
        excluded=excluded,
        reference=reference,
        proof=proof,
        benchmark=(options.benchmark, _benchmark(options.benchmark)) if options.benchmark else None,
        told=told,
    )
    lines = selection_lines(manifest, width=width(), color=has_color(options.color))
    if not manifest.of("train"):
        raise ConfigurationError("\n".join(["no task is left to train on; nothing was written", *lines]))
    write_manifest(manifest, options.output)
    return [*lines, f"written    {options.output}, digest {manifest.digest[:16]}"]


def _benchmark(named: list[str]) -> Contents:
    from pytest_thinkingbox.rewards.contents import contents_of_suite
    from pytest_thinkingbox.selection.choose import read_exclusions
    from pytest_thinkingbox.selection.contents import only_ids

    lists = [Path(one) for one in named if one.endswith(".txt")]
    suites = [one for one in named if not one.endswith(".txt")]
    ids = [task for path in lists for task in read_exclusions(path)]
    return only_ids(ids, beside=contents_of_suite(suites, cwd=Path.cwd()) if suites else None)
