"""Whether a text is one that a user would write: pure functions of text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_THOUGHT = re.compile(r"^\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_SPEAKER = re.compile(r"^\s*(?:user|customer|me)\s*:\s*", re.IGNORECASE)

_MARKUP = re.compile(
    r"</?tool_calls?>|</?tool_response>|<function[=_ >]|<invoke\b|<\|[a-z_]+\|>|\[TOOL_CALLS\]|\[/?INST\]"
    r"|\"tool_calls\"\s*:|\{\s*\"name\"\s*:\s*\"[^\"]+\"\s*,\s*\"(?:arguments|parameters)\"\s*:",
    re.IGNORECASE,
)
_AS_AGENT = re.compile(
    r"\bas (?:your|an?|the) (?:\w+ ){0,2}(?:assistant|language model|chatbot|support agent)\b"
    r"(?!,? (?:can |could )?you\b)"
    r"|\bI(?:'m| am) (?:your|an?|the) (?:\w+ ){0,2}(?:assistant|language model|chatbot)\b"
    r"(?! (?:to|manager|director|professor|teacher|editor|coach|cook|buyer|secretary)\b)"
    r"|\bhow (?:can|may) I (?:help|assist) you\b(?=\s*(?:[?!.]|\Z|today|further|now|with (?:your|that|this)))"
    r"|\b(?:anything|something) else I can (?:help|assist|do for you)\b"
    r"|\bI(?:'d| would) be (?:happy|glad) to (?:help|assist) you\b"
    r"|\blet me (?:look|pull) up your\b"
    r"|\bI(?:'ve| have) (?:just |now |already )?(?:cancell?ed|refunded|processed|updated|booked|issued|approved) your"
    r"(?= (?:\w+ )?(?:account|address|appointment|booking|flight|order|payment|purchase|refund|request|reservation)\b)"
    r"|^\s*(?:assistant|agent|support)\s*:",
    re.IGNORECASE | re.MULTILINE,
)
_OUTSIDE = re.compile(
    r"</?notes>|\bsimulated user\b|\b(?:these|my|the) (?:private )?notes (?:are private|that I (?:have|must))"
    r"|\bI(?:'m| am) (?:only |just )?(?:playing|simulating|role-?playing|pretending to be) (?:a|the|your) "
    r"(?:user|person|customer|client|guest)\b|\b(?:stay|remain)(?:ing)? in character\b|\bout of character\b",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"\b(?:good ?bye|bye|thanks?|thank you|thx|cheers|farewell|take care|see you|so long"
    r"|have a (?:\w+ )?(?:day|evening|weekend|one|night)|you too|you(?:'re| are) welcome|all the best"
    r"|danke|tschüss|auf wiedersehen|merci|au revoir|bonne journée|gracias|adiós|hasta luego|grazie|arrivederci"
    r"|obrigad[oa]|спасибо|до свидания|пока)\b"
    r"|תודה|להתראות|شكرا|مع السلامة|ممنون|متشکرم|خداحافظ|谢谢|再见|ありがとう|さようなら|감사합니다|안녕히",
    re.IGNORECASE,
)
_QUESTION_MARKS = "?？؟"
_LONGEST_GOODBYE = 16  # words; more than that says something
_SHORTEST_REPEAT = 6  # words


def spoken(text: str) -> str:
    """What of a model's text the user says: without thoughts that the endpoint left in it, and without its own name."""
    return _SPEAKER.sub("", _THOUGHT.sub("", text)).strip()


def out_of_role(text: str) -> str | None:
    """The words that only the assistant would say, None when there are none."""
    found = _MARKUP.search(text) or _AS_AGENT.search(text)
    return found.group().strip() if found else None


def outside(text: str) -> str | None:
    """The words that speak of the role and its notes instead of playing it, None when there are none."""
    found = _OUTSIDE.search(text)
    return found.group() if found else None


def goodbye(text: str, heard: str) -> bool:
    """Whether the text only takes leave. After a question it is an answer: "yes, thank you"."""
    if asks(text) or asks(heard) or len(text.split()) > _LONGEST_GOODBYE:
        return False
    return _FAREWELL.search(unicodedata.normalize("NFC", text)) is not None


def asks(text: str) -> bool:
    """Whether a question is in the text."""
    return any(mark in text for mark in _QUESTION_MARKS)


def stuck(said: Sequence[str], heard: Sequence[str]) -> bool:
    """Whether one thing is said again and again to different questions. A short answer may be right each time."""
    words = [_words(text) for text in said]
    same = len(words[0]) >= _SHORTEST_REPEAT and all(one == words[0] for one in words)
    return same and len({tuple(_words(text)) for text in heard}) == len(heard)


def echoes(text: str, heard: str) -> bool:
    """Whether the text is nothing but the assistant's last one: what small models do for ever."""
    words = _words(text)
    return len(words) >= _SHORTEST_REPEAT and words == _words(heard)


def _words(text: str) -> list[str]:
    """The words without case and punctuation."""
    kept = (char if char.isalnum() else " " for char in unicodedata.normalize("NFKC", text).casefold())
    return "".join(kept).split()
