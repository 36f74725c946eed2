"""What vLLM's own parsers make of the generations of the corpus, and why our readings differ.

Its server is never asked to parse (`--tb-agent=tokens` takes ids), so that none of this matters for a campaign; it is
what changes for who came from `--tb-agent=openai`. `vllm_readings.json` has what version 0.31.0 reads: `hermes` reads
JSON, `qwen3_coder` and `qwen3_xml` (one parser) read the other notation. Where vLLM is installed it is asked again, and
`python -m tests.tokens.test_vllm_parsers` writes the file.
"""

from __future__ import annotations

import json
import logging
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.tokens.reading import BrokenCall, read
from tests.tokens.corpus import CASES, SCHEMAS, Case

WRITTEN_DOWN = Path(__file__).with_name("vllm_readings.json")

DIFFERENCES: dict[str, list[str]] = {
    "hermes wants the key `arguments`, and makes text of the whole message without it; here its lack means none": [
        "json clean: arguments are left out",
        "json clean: arguments are null",
        "json clean: text before",
        "json clean: text after",
        "json clean: text between two calls",
        "json clean: three calls",
        "json malformed: arguments under another name are none",
        "json nested: a call in the reasoning and one after it",
        "json unicode: a space that does not break, around the object",
        "json injected: a tool's answer that the model makes up",
        "json injected: an end of reasoning that nobody began",
        "json injected: a block that is quoted is a block",
        "json truncated: after a whole call",
    ],
    "hermes hands on arguments that are the object as text as text": [
        "json clean: arguments are the object as text"
    ],
    "hermes keeps blanks around a name": ["json clean: blanks around the name"],
    "hermes makes text for the user of a whole message that has one block it cannot read, good calls included; here "
    "the good ones are played and the model is told what was wrong with the others": [
        "json malformed: apostrophes for quotes",
        "json malformed: a comma too many",
        "json malformed: a key without quotes",
        "json malformed: a brace too few",
        "json malformed: a brace too many",
        "json malformed: a quote too few",
        "json malformed: a line break in a string",
        "json malformed: a quote in a string",
        "json malformed: words of Python",
        "json malformed: a number with a leading nought",
        "json malformed: a comment",
        "json malformed: a list of calls",
        "json malformed: two calls in one block",
        "json malformed: words before the object",
        "json malformed: a fence of code in the block",
        "json malformed: no name",
        "json malformed: a name that is a number",
        "json malformed: an empty block",
        "json malformed: a broken one before a good one",
        "json malformed: a good one before a broken one",
        "json truncated: after the opening tag",
        "json truncated: in the name",
        "json truncated: in the arguments",
        "json truncated: in a string",
        "json truncated: in an escape",
        "json truncated: in the closing tag",
        "json truncated: in the second call",
        "json truncated: in a character of several bytes",
        "json truncated: the message ends within the closing tag",
        "json truncated: the message ends within the object",
        "json nested: a call that opens within another one",
        "json nested: a block in a block",
        "json nested: the message of an API in the block",
        "json unicode: a space without width before the object",
        "json unicode: a mark of byte order before the object",
        "json unicode: braces of full width",
        "json unicode: typographic quotes",
        "json unicode: digits of another script",
    ],
    "hermes takes NaN and Infinity, which are no JSON": [
        "json malformed: not a number",
        "json malformed: infinity",
    ],
    "hermes hands on a name that is empty, and arguments that are no object": [
        "json malformed: an empty name",
        "json malformed: arguments that are a list",
        "json malformed: arguments that are text",
        "json malformed: arguments that are a list as text",
        "json nested: arguments as text of text",
    ],
    "what was cut off before its closing tag is no call here, whole or not": [
        "json truncated: after the object",
        "xml truncated: in the name",
        "xml truncated: after the name",
        "xml truncated: in the name of a parameter",
        "xml truncated: in a value",
        "xml truncated: in the end of a value",
        "xml truncated: between parameters",
        "xml truncated: in the end of the function",
        "xml truncated: after the function",
        "xml truncated: in the second call",
        "xml truncated: the message ends in place of the function's end",
    ],
    "the first closing tag ends a block, a value or a function there; here only the one that another tag of the markup "
    "follows, or that stands after the JSON": [
        "json nested: a call in a value",
        "json nested: a closing tag in a value",
        "xml nested: tags of a parameter in a value",
        "xml nested: an end of function in a value",
        "xml nested: a function in a value",
        "xml nested: tags in a text of JSON",
    ],
    "qwen3 drops text after the first call": [
        "xml clean: text before and after",
        "xml injected: a value that closes everything and calls again",
    ],
    "one parser reads one notation there; here every block may have its own": [
        "xml clean: one of each notation"
    ],
    "an integer with a point is an integer here (7.0), a fraction is not (7.5)": [
        "xml clean: an integer written with a point",
        "xml malformed: a fraction for an integer stays text",
    ],
    "numbers are those of Python there, of JSON here": [
        "xml malformed: a leading nought is no JSON",
        "xml unicode: digits of full width are no number",
    ],
    "null is nothing there whatever the schema says; here only where it allows nothing, else it is text": [
        "xml malformed: nothing where it is not allowed stays text"
    ],
    "qwen3 makes a call of markup that is not well formed, with what it has understood of its arguments; here the "
    "model is told, and nothing is played with arguments that it did not give": [
        "xml malformed: the name never ends",
        "xml malformed: a name over two lines",
        "xml malformed: the function never ends",
        "xml malformed: a parameter never ends",
        "xml malformed: neither ends",
        "xml malformed: a parameter without a name",
        "xml malformed: a parameter named by an attribute",
        "xml malformed: words between parameters",
        "xml malformed: an object in place of parameters",
        "xml malformed: two functions in one block",
        "xml malformed: words after the function",
        "xml injected: a name with markup",
        "xml injected: a comment before the function",
        "xml injected: closing tags in another order",
    ],
    "a parameter that does not end is ended by the next one there; here a value may hold such a tag": [
        "xml malformed: a parameter that ends where the next one begins takes it in",
    ],
    "qwen3 needs no block around a function": [
        "xml injected: a function outside of a block is text",
        "xml injected: an attribute in the tag of the block",
    ],
    "qwen3 drops the end token where it stands in a value as text": [
        "xml injected: control tokens as text in a value",
        "xml injected: a tool's answer in a value",
    ],
}


Read = dict[str, Any]
"""Of one generation: the beginning of the hash of its `text`, the `content`, and `calls` with arguments as vLLM wrote
them."""


def shown_to_vllm(case: Case) -> str:
    """Without the reasoning, which another parser takes away there."""
    return case.text.partition("</think>")[2] if case.reasoning else case.text


COMPARED = {case.id: case for case in CASES if shown_to_vllm(case)}


def digest(case: Case) -> str:
    return sha256(case.text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def stored() -> dict[str, Read]:
    return json.loads(WRITTEN_DOWN.read_text("utf-8"))


def differs(case: Case, theirs: Read) -> bool:
    """From what we make of it, but for blocks that cannot be read, which are no calls."""
    ours = read(case.text, SCHEMAS, finished=case.finished, thinking=case.thinking)
    calls = [[one.name, one.arguments] for one in ours.calls if not isinstance(one, BrokenCall)]
    read_there = [[name, json.loads(arguments)] for name, arguments in theirs["calls"]]
    # As text: 1, 1.0 and true are not the same.
    return json.dumps(read_there) != json.dumps(calls) or theirs["content"] != ours.content


def test_every_difference_from_vllm_is_known_and_has_its_reason():
    theirs = stored()
    differ = [name for name, case in COMPARED.items() if differs(case, theirs[name])]
    assert sorted(differ) == sorted(one for cases in DIFFERENCES.values() for one in cases)


def test_what_vllm_reads_is_written_down_of_every_generation_as_it_is():
    assert {name: one["text"] for name, one in stored().items()} == {
        name: digest(case) for name, case in COMPARED.items()
    }
    assert len(COMPARED) > 190


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # what vllm and torch warn of is not ours
def test_vllm_reads_what_is_written_down():
    pytest.importorskip("vllm.tool_parsers.hermes_tool_parser", exc_type=ImportError)
    assert read_by_vllm() == stored()


def read_by_vllm() -> dict[str, Read]:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.tool_parsers.hermes_tool_parser import Hermes2ProToolParser
    from vllm.tool_parsers.qwen3_engine_tool_parser import Qwen3EngineToolParser

    logging.getLogger("vllm").setLevel(
        logging.CRITICAL
    )  # it writes a traceback for every call that it cannot read
    tools = [
        {"type": "function", "function": {"name": name, "parameters": schema}}
        for name, schema in SCHEMAS.items()
    ]
    request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "x"}], tools=tools)
    letters = tokenizer()
    made = {}
    for name, case in COMPARED.items():
        kind = Hermes2ProToolParser if name.startswith("json") else Qwen3EngineToolParser
        found = kind(letters, request.tools).extract_tool_calls(shown_to_vllm(case), request)
        made[name] = {
            "text": digest(case),
            "content": (found.content or "").strip(),
            "calls": [[one.function.name, one.function.arguments] for one in found.tool_calls],
        }
    return made


def tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={one: at for at, one in enumerate(letters)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    whole = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|im_end|>")
    whole.add_tokens(["<tool_call>", "</tool_call>", "<think>", "</think>"])
    return whole


if __name__ == "__main__":
    rows = [f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in read_by_vllm().items()]
    WRITTEN_DOWN.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
