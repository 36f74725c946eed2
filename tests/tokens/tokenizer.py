"""A tokenizer as the transformers library has them, with a token for every byte: real ids, nothing to download."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from jinja2 import Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

END, BEGIN = "<|im_end|>", "<|im_start|>"

KEEPS = """
{%- if tools %}{{ '<|im_start|>system\\n' + (messages[0].content + '\\n' if messages[0].role == 'system' else '') }}
{%- for tool in tools %}{{ tool | tojson + '\\n' }}{% endfor %}{{ '<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}{{ '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}{% endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}{{ '<|im_start|>assistant\\n' }}
{%- if message.reasoning_content %}{{ '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}{% endif %}
{{- message.content }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\\n' + call.function | tojson + '\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- elif message.role == 'user' %}{{ '<|im_start|>user\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

DROPS_REASONING = KEEPS.replace("if message.reasoning_content", "if message.reasoning_content and loop.last")
THINKS_AT_ONCE = KEEPS.replace(
    "{{ '<|im_start|>assistant\\n' }}{% endif %}\n", "{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}\n"
)


@cache
def _compiled(template: str) -> Template:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": False}
    return environment.from_string(template.strip())


@dataclass(frozen=True)
class AddedToken:
    content: str
    special: bool = True


_CONTROL = (END, BEGIN)


class ByteTokenizer:
    """Bytes are 0 to 255; the control tokens follow. Only one has a role that the library has a name for."""

    eos_token = END
    all_special_tokens = (END,)
    added_tokens_decoder: ClassVar = {256: AddedToken(END), 257: AddedToken(BEGIN)}

    def __init__(self, template: str = KEEPS) -> None:
        self.chat_template = template
        self.eos_token_id = 256

    def apply_chat_template(self, conversation, /, *, tools, add_generation_prompt, tokenize):
        assert not tokenize
        return _compiled(self.chat_template).render(
            messages=conversation, tools=tools, add_generation_prompt=add_generation_prompt
        )

    def encode(self, text, /, *, add_special_tokens=True):
        ids = []
        for part in re.split(r"(<\|im_end\|>|<\|im_start\|>)", text):
            if part in _CONTROL:
                ids.append(256 + _CONTROL.index(part))
            else:
                ids += part.encode("utf-8", "surrogatepass")
        return ids

    def decode(self, token_ids, /, *, skip_special_tokens=False):
        text, run = "", b""
        for one in token_ids:
            if one < 256:
                run += bytes([one])
            else:
                text += run.decode("utf-8", "replace") + _CONTROL[one - 256]
                run = b""
        return text + run.decode("utf-8", "replace")
