"""How a sentence that says CUDA reads once the code beside it takes any accelerator.

Only what says where something runs is worded anew. What stands for CUDA itself, such as a version, a library, a kernel
or a choice of vendors, leaves the whole text as it is, and so does a sentence of a form that is not known here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KNOWN: dict[str, list[str]] = tomllib.loads(Path(__file__).parent.with_name("prose.toml").read_text(encoding="utf-8"))
"""Kinds of words; the file says what each is."""


def _any(*kinds: str) -> str:
    return "(?:" + "|".join(word for kind in kinds for word in KNOWN[kind]) + ")"


ITSELF = re.compile(rf"\b{_any('itself', 'libraries', 'vendors')}\b|\bcuda[/|]|/cuda\b", re.IGNORECASE)
CHOICE = re.compile(r"\b(?:cpu|cuda)\b\W{0,3}(?:,|\||\band\b|\bor\b|\bvs\b)\W{0,3}\b(?:cpu|cuda)\b", re.IGNORECASE)
QUOTED = re.compile(r"https?://\S+|`+[^`\n]*`+|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
CUDA = re.compile(r"(?<![^\s(\[])(?:CUDA|Cuda|cuda)(?=[\s.,;:!?)\]\0]|-(?:enabled|capable|compatible)\b|$)")
DEVICE = re.compile(r"(?:-(?:enabled|capable|compatible))?\s+(?:device|gpu)(?P<many>s?)\b(?!['-])", re.IGNORECASE)
LAST_WORD = re.compile(r"([\w'/]+|\0)\s*$")
NOUN = re.compile(rf"\s+{_any('nouns')}\b", re.IGNORECASE)
VALUE = re.compile(r"\s+[\0%{]")
STATE = re.compile(
    r"(?P<be>\s+(?:is|isn't|was|wasn't|must be|has to be|needs to be|should be))?(?P<no>\s+not|(?<=n't))?"
    rf"\s+(?:currently\s+|yet\s+)?(?P<state>{_any('states')})\b",
    re.IGNORECASE,
)
END = re.compile(rf"\s*(?:$|[.,;:!?)\]](?!\w)|--?\s)|\s+{_any('onward')}\b", re.IGNORECASE)
VALUED = re.compile(r"\b(?:set|equal|defaults?|changed?) to$", re.IGNORECASE)
ONLY = re.compile(rf"\b{_any('only')}\b", re.IGNORECASE)


@dataclass(frozen=True)
class Words:
    """New words for the characters `[start, end)` of a text."""

    start: int
    end: int
    text: str


def rewordings(text: str, noun: str) -> Iterator[Words]:
    """What to say instead of CUDA in a text, with `noun` for any accelerator.

    Characters of the text that are no prose are NUL. An abbreviation as noun takes no article, as CUDA takes none.
    """
    text = QUOTED.sub(lambda found: "\0" * len(found[0]), text)
    if ITSELF.search(text) or CHOICE.search(text):
        return
    for found in CUDA.finditer(text):
        words = _reworded(text, found, noun)
        if words is not None:
            yield words


def _reworded(text: str, found: re.Match[str], noun: str) -> Words | None:
    """CUDA, or a CUDA device, with what its article and a negation take in besides."""
    start, end = found.span()
    device = DEVICE.match(text, end)
    end = device.end() if device else end
    many = device is not None and bool(device["many"])
    name = noun + "s" * many
    before = text[:start].rstrip()
    last = LAST_WORD.search(before)
    if last and last[1].lower() in ("a", "an"):
        if many or not (device or NOUN.match(text, end)):
            return None
        start = last.start(1)
        article: str | None = _article(noun)
    else:
        article = _before(text, before, last[1].lower() if last else "", end, device is not None)
        state = STATE.match(text, end)
        if article == "no" and state is not None:
            end = state.start("state")
            name += (state["be"] or "").replace("n't", "") + " "
        elif article and (many or noun.isupper()):
            article = ""
        elif article == "a":
            article = _article(noun)
    if article is None:
        return None
    name = f"{article} {name}".lstrip()
    if (text[: found.start()] + text[found.end() :]).isupper():
        name = name.upper()
    elif re.search(r"[.!?]\s+$", text[:start]) or (text[start].isupper() and not text[:start].strip()):
        name = name[0].upper() + name[1:]
    return Words(start, end, name)


def _article(noun: str) -> str:
    return "an" if noun[0].lower() in "aeio" else "a"


def _before(text: str, before: str, word: str, end: int, is_device: bool) -> str | None:
    """The article that the noun takes behind a word: `a`, `the`, `no` for what is not there, or none.

    None if the sentence is not understood.
    """
    if NOUN.match(text, end) or (is_device and VALUE.match(text, end)):
        return ""
    state = STATE.match(text, end)
    ends = state is not None or END.match(text, end) is not None
    if word.isdigit() or word == "\0" or word in KNOWN["determiners"]:
        return "" if is_device or (ends and word in ("no", "any")) else None
    begins = not before or before[-1] in ".,;:!?-*)]"
    if state is not None and (begins or word in KNOWN["clauses"]):
        if not state["be"]:
            return ""
        is_missing = (state["no"] or "n't" in state["be"]) and state["state"].lower() in KNOWN["missing"]
        return "no" if is_missing else "a"
    if not ends:
        return None
    if word in KNOWN["wanting"]:
        return "a"
    if word in KNOWN["towards"] and not VALUED.search(before):
        return "a" if ONLY.search(text) else "the"
    return "" if begins or is_device else None
