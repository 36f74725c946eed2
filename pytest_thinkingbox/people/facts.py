"""Whether what a user says contradicts what it knows.

What is found is certain, what is not found may still be wrong: a true reply taken for a contradiction would be a
wrong verdict. So only statements count, never questions or denials; a reply that also says the true value contradicts
nothing; and neither does a value that the notes hold elsewhere or that the agent has said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_thinkingbox.declare import Fact
from pytest_thinkingbox.people.words import plain, says, sentences, whole

_GENERIC = frozenset(
    {"number", "no", "nr", "num", "id", "code", "ref", "reference", "date", "day", "my", "the", "of"}
)
"""Words of a field's name that are also said of other things."""
_BETWEEN = (
    r"(?:[ :=#\"'(]|\b(?:number|no|nr|num|id|code|reference|ref|date|is|was|are|has|it|it's|its|that's|the|my|on"
    r"|ist|lautet|die|der|nummer|est|le|la|num[eé]ro|es|el|n[uú]mero|è|numero|номер|это)\b\.?){0,12}"
)
_OTHERWISE = re.compile(
    r"\b(?:not|never|no longer|instead|rather|other|another|wrong|old|previous|also|else|nor|without|nicht|kein\w*|pas"
    r"|nunca|не)\b|n't\b"
)
_TWO_THINGS = re.compile(r"\b(?:and|or|und|oder|et|ou|y|e|и)\b")
_WISH = re.compile(
    r"\b(?:want\w*|wish\w*|like|prefer|new|chang\w*|mov\w*|could|would|can|if|maybe|perhaps)\b|'d\b"
)
"""Of a date or a sum, as against a number that names something, one may say what it shall become."""
_COUNTED = re.compile(
    r" (?!(?:in|for|at|on|and|or|but|from|under|with|if|please|thanks|thank|sorry|it|it's|that|that's|i|i'm|as|by"
    r"|to|is|was|für|bei|und|aber|bitte|danke|pour|et|mais|para|y|pero|gracias|e|per|а|и|но)\b)[^\W\d_]"
)
"""What a number counts, or is a part of: "1450 euros", "1450 Main Street"."""
_OTHER_QUESTION = re.compile(
    r"\b(?:how|when|where|who|why|pay|paid|costs?|price|total|amount|room|year|wann|wie|wo|combien|quand|où|cuándo|cuánto"
    r"|quando|quanto|когда|сколько)\b"
)
"""Of a number that names something, these ask for something else about it."""
_FILLERS = frozenset({
    "it", "it's", "its", "is", "was", "that", "that's", "this", "i", "i'm", "on", "think",
    "believe", "sure", "yes", "ok", "okay", "sorry", "well", "hmm", "um", "oh", "here", "you",
    "go", "please",
    "thanks", "thank", "course", "should", "be", "es", "ist", "das", "ja", "bitte", "c'est", "est",
    "oui", "sí", "è", "sì", "это", "да",
})  # fmt: skip
_DIGITS = re.compile(r"\d+")
_IN_A_CODE = re.compile(r"[^\W\d_][-_/]\Z")  # the digits of HB-1042 are no number of their own


def contradiction(name: str, fact: Fact, text: str, *, heard: Sequence[str], known: str) -> str | None:
    """The words of the text that contradict the fact, None when there are none.

    `heard` are the agent's messages, the last one at the end, `known` is all else that the user knows.
    """
    stated = [one for one in sentences(text) if not one.rstrip("\"' )").endswith(("?", "？", "؟"))]
    for phrase in fact.never:
        if any(says(phrase, one) for one in stated):
            return phrase
    if says(fact.value, text):
        return None
    others = (_other_value(name, fact, plain(one), heard=heard, known=known) for one in stated)
    return next((one for one in others if one is not None), None)


def _other_value(name: str, fact: Fact, sentence: str, *, heard: Sequence[str], known: str) -> str | None:
    """A value like the fact's, with other digits, that the sentence claims for the field."""
    value = plain(fact.value)
    if not _DIGITS.search(value) or _OTHERWISE.search(sentence):
        return None
    if " " in value and _WISH.search(sentence):
        return None
    found = [
        one
        for one in whole(_like(value), sentence)
        if not _IN_A_CODE.search(sentence[: one.start()]) and not _was_said(one[0], [known, *heard])
    ]
    if not found:
        return None
    names = _own_words(name)
    for one in found:
        before, after = sentence[: one.start()], sentence[one.end() :]
        if " " not in value and _COUNTED.match(after):
            continue
        for word in names:
            if re.search(rf"\bno (?:such )?{re.escape(word)}\b", before):
                return None
            if re.search(rf"\b{re.escape(word)}{_BETWEEN}\Z", before):
                return one[0]
            if re.match(rf" (?:is|was|ist|est|es) (?:my|the|our) (?:\w+ )?{re.escape(word)}\b", after):
                return one[0]
    if len(found) == 1 and _is_mere_answer(sentence, found[0], names) and _asks_for(names, value, heard[-1]):
        return found[0][0]
    return found[0][0] if _is_code(value) else None  # nobody told the user of that one: it is made up


def _was_said(value: str, texts: Sequence[str]) -> bool:
    first = _DIGITS.search(value)
    assert first is not None
    # Agents may say megabytes: a look at their digits is quick.
    return any(says(value, text) for text in texts if not text.isascii() or first[0] in text)


def _is_mere_answer(sentence: str, found: re.Match[str], names: Sequence[str]) -> bool:
    """Whether the value is all that is said: "sorry, it's 1024", but not "my customer number is 8812"."""
    rest = re.findall(r"[^\W_]+(?:'[^\W_]+)?", sentence[: found.start()] + " " + sentence[found.end() :])
    return all(word in _FILLERS or word in _GENERIC or word in names for word in rest)


def _like(value: str) -> str:
    """Values with as many digits in the same places; numbers of one digit or two are of one kind, days for example."""
    pattern, at = "", 0
    for run in _DIGITS.finditer(value):
        length = len(run[0])
        pattern += re.escape(value[at : run.start()]) + (rf"\d{{{length}}}" if length > 2 else r"\d{1,2}")
        at = run.end()
    return pattern + re.escape(value[at:])


def _own_words(name: str) -> list[str]:
    words = re.findall(r"[^\W_]+", plain(name))
    return [one for one in words if one not in _GENERIC] or words


def _asks_for(names: Sequence[str], value: str, heard: str) -> bool:
    """Whether the agent's one question is for this field and nothing else."""
    questions = [plain(one) for one in sentences(heard) if "?" in one]
    if len(questions) != 1 or _TWO_THINGS.search(questions[0]):
        return False
    if " " not in value and any(one not in names for one in _OTHER_QUESTION.findall(questions[0])):
        return False
    return all(says(one, questions[0]) for one in names)


def _is_code(value: str) -> bool:
    """HB-1042, but not 1042 and not 14 March: what nobody names by chance."""
    return " " not in value and any(map(str.isalpha, value)) and sum(map(str.isdigit, value)) >= 3
