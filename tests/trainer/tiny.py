"""A Qwen3 of under a million parameters with a tokenizer of its own, trained here: nothing is downloaded."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from tests.conftest import SHOP
from tests.tokens.tokenizer import BEGIN, END, KEEPS

PAD = "<|pad|>"
TASKS = """
from shop import *

# What a random model does by chance: an answer of few characters.
def judged(attempt):
    attempt.credit(0.5)
    assert len(attempt.response) % 2 == 0


@shop.task("Say something.", no_change=True, allow_truncated=True)
def test_one(attempt, changes):
    judged(attempt)


@shop.task("Say something else.", no_change=True, allow_truncated=True)
def test_two(attempt, changes):
    judged(attempt)


@shop.task("Say a third thing.", no_change=True, allow_truncated=True)
def test_three(attempt, changes):
    judged(attempt)


@shop.task("Say a fourth thing.", no_change=True, allow_truncated=True)
def test_four(attempt, changes):
    judged(attempt)
"""


def write_world(folder: Path) -> None:
    """The folders `suite` and `tiny` that the recipe of `recipes.py` names."""
    suite = folder / "suite"
    suite.mkdir()
    (suite / "shop.py").write_text(SHOP, encoding="utf-8")
    (suite / "test_shop.py").write_text(dedent(TASKS), encoding="utf-8")
    (suite / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    write_model(folder / "tiny", texts=[SHOP, TASKS])


def write_model(folder: Path, *, texts: list[str]) -> None:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=[END, BEGIN, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained, eos_token=END, pad_token=PAD, additional_special_tokens=[BEGIN]
    )
    tokenizer.chat_template = KEEPS.strip()
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = Qwen3Config(
        hidden_size=128,
        num_hidden_layers=3,
        intermediate_size=256,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        vocab_size=len(tokenizer),
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
