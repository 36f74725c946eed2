"""A Qwen3 of 176,000 parameters with a tokenizer of its own, made here, and its warm-up on demonstrations."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from pytest_thinkingbox.agents.tokens import Trace

BEGIN, END, PAD = "<|im_start|>", "<|im_end|>", "<|pad|>"
_PHRASES = (
    '<tool_call>\n{"name": "', '", "arguments": {"kind": "', '", "tag": ', '", "id": ', ', "days": ', ', "euros": ',
    ', "shelf": ', ', "reason": "', "}}\n</tool_call>", '"}}\n</tool_call>', "user\n<tool_response>\n",
    "\n</tool_response>", '{"id":', ',"state":"', '{"shelf":', "<tool_call>", "</tool_call>",
)  # fmt: skip
"""Tokens for what is always the same, so that a model with few layers spends them on what is not."""
_PIECES = r" ?[A-Za-z_]+|\d|[^A-Za-z_\d]+?(?= ?[A-Za-z_]|\d|$)"
"""Words with the space before them, single digits, and what stands between: numbers are copied digit by digit."""
# That of Qwen3, but that of the tools only the names are shown: their schemas would be most of what is read.
TEMPLATE = """
{{- '<|im_start|>system\\n' }}{% if messages[0].role == 'system' %}{{ messages[0].content + '\\n' }}{% endif %}
{%- for tool in tools or [] %}{{ tool.function.name + ' ' }}{% endfor %}{{ '<|im_end|>\\n' }}
{%- for message in messages %}
{%- if message.role == 'assistant' %}{{ '<|im_start|>assistant\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\\n' + call.function | tojson + '\\n</tool_call>' }}
{%- endfor %}{{ '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- elif message.role == 'user' %}{{ '<|im_start|>user\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""


_MEAN_OF = 10
_COPIES = 0.2
"""Loss below which a policy might solve something."""


def make_tokenizer(texts: Sequence[str], *, vocabulary: int = 400) -> PreTrainedTokenizerFast:
    """Trained on these texts, its merges within words and within what stands between them."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END, BEGIN, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    roles = ["system\n", "user\n", "assistant\n"] * len(texts)
    made.train_from_iterator([*texts, *roles], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=END, pad_token=PAD, additional_special_tokens=[BEGIN]
    )
    tokenizer.add_tokens([AddedToken(one, special=False, normalized=False) for one in _PHRASES])
    tokenizer.chat_template = TEMPLATE.strip()
    return tokenizer


def make_model(tokenizer: PreTrainedTokenizerFast, *, seed: int) -> Qwen3ForCausalLM:
    """176,000 parameters, none of which knows anything."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            hidden_size=64,
            num_hidden_layers=3,
            intermediate_size=192,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            vocab_size=len(tokenizer),
            max_position_embeddings=1024,
            tie_word_embeddings=True,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def warm_up(
    model: Any,
    demonstrations: Sequence[Trace],
    *,
    steps: int,
    settle: int,
    enough: Callable[[], bool],
    batch: int,
    learning_rate: float,
    seed: int,
    say: Callable[[str], None],
) -> list[float]:
    """Next-token training on what a demonstration writes, not on what it is told; the loss of each step.

    After `steps`, or as soon as the policy solves `enough`, `settle` more steps follow, in which the learning rate goes
    down to nothing: copying is sure then. It is asked every 10 steps once the loss says that copying has begun to work:
    when it does differs from seed to seed, and within 30 steps of it a policy that solves nothing becomes one that
    solves nearly everything.
    """
    order = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
    model.train()
    losses: list[float] = []
    last = steps + settle
    for step in range(steps + settle):
        if step >= last:
            break
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * min(1.0, (step + 1) / 20, (last - step) / max(settle, 1))
        drawn = [demonstrations[order.randrange(len(demonstrations))] for _ in range(batch)]
        ids, attention, labels = _together(drawn)
        found = model(input_ids=ids, attention_mask=attention, labels=labels).loss
        found.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(found.detach()))
        if step % _MEAN_OF == _MEAN_OF - 1:
            loss = sum(losses[-_MEAN_OF:]) / _MEAN_OF
            say(f"warm-up: {step + 1} steps, loss {loss:.3f}")
            if loss < _COPIES and step < last - settle:
                model.eval()
                if enough():
                    last = step + 1 + settle
                model.train()
    model.eval()
    return losses


def _together(traces: Sequence[Trace]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, attention and labels, padded on the right."""
    width = max(one.length for one in traces)
    ids = torch.zeros((len(traces), width), dtype=torch.long)
    attention = torch.zeros_like(ids)
    labels = torch.full_like(ids, -100)
    for at, one in enumerate(traces):
        whole = torch.tensor([*one.prompt, *one.completion])
        written = torch.tensor([0] * len(one.prompt) + one.mask, dtype=torch.bool)
        ids[at, : len(whole)] = whole
        attention[at, : len(whole)] = 1
        labels[at, : len(whole)] = torch.where(written, whole, -100)
    return ids, attention, labels


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """The folder is there only when it is whole."""
    writing = folder.with_name(f".{folder.name}.writing")
    model.save_pretrained(writing)
    tokenizer.save_pretrained(writing)
    writing.rename(folder)
