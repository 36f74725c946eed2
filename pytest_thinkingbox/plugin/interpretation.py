"""What stands between messages and token ids in a campaign: whose tokenizer, and its hash."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.plugin.xdist import is_worker

if TYPE_CHECKING:
    from pytest_thinkingbox.plugin.options import Options


def tokenizer_of(named: str | None, model: str | None, *, there: Path) -> str | None:
    """The folder, or a name for transformers to find; `there` is the path that `named` would be."""
    if named:
        return str(there) if there.is_dir() else named
    return str(Path(model).absolute()) if model and Path(model).is_dir() else None


def check_tokenizer(config: pytest.Config, options: Options) -> None:
    """Before anything is played: raises UsageError where the agent by token ids has no tokenizer, or none that it can
    use."""
    if options.agent != "tokens":
        if config.getoption("tb_tokenizer") is not None:
            raise pytest.UsageError("--tb-tokenizer is for --tb-agent=tokens")
        return
    if options.continued is not None and options.continued.regrade:
        return
    if options.tokenizer is None:
        raise pytest.UsageError(
            f"--tb-agent=tokens needs the tokenizer of {options.model!r}, which is no folder here: name its folder "
            "with --tb-tokenizer"
        )
    if is_worker(config) or config.option.collectonly or config.option.setupplan:
        return
    try:
        chat_hash(options)
    except ConfigurationError as error:
        raise pytest.UsageError(str(error)) from None


def chat_hash(options: Options) -> str | None:
    """None where no model is asked by token ids."""
    if options.agent != "tokens" or options.tokenizer is None:
        return None
    if options.continued is not None and options.continued.regrade:
        return None  # nothing is played
    from pytest_thinkingbox.tokens.chat import Chat
    from pytest_thinkingbox.tokens.loading import load_tokenizer

    return Chat(load_tokenizer(options.tokenizer)).hash
