"""A tokenizer of the transformers library, which is imported only now; torch is not needed."""

from __future__ import annotations

from functools import cache
from typing import cast

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.tokens.chat import Tokenizer


@cache
def load_tokenizer(name: str) -> Tokenizer:
    """From a folder, or by a name that transformers finds. Raises ConfigurationError."""
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise ConfigurationError(
            "the tokenizer of a model needs transformers: pip install 'pytest-thinkingbox[tokens]'"
        ) from None
    try:
        return cast(Tokenizer, AutoTokenizer.from_pretrained(name))
    except Exception as error:  # what a damaged file raises is its format's own
        raise ConfigurationError(
            f"no tokenizer can be loaded from {name}: {type(error).__name__}: {error}. Name the folder of one with "
            "--tb-tokenizer"
        ) from error
