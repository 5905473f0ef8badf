"""How a sentence that says CUDA reads once the code beside it takes any accelerator.

Only what says where something runs is worded anew: what stands for CUDA itself, such as a version, a library, a kernel
or a comparison of vendors, leaves the whole text as it is. So does every sentence of a form that is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

ITSELF = re.compile(
    r"\b(versions?|drivers?|toolkits?|kernels?|graphs?|nvcc|nvidia|cudnn|cublas\w*|cufft|cusparse|nccl|nvml|nvtx|nvrtc"
    r"|apex|cupy|cutlass|dali|flash\w*|tensorrt|xformers|triton|ptx|sm_?\d+|capabilit\w+|compute|architectures?|arch|compil\w+|build|built|install\w*|librar\w+|runtime"
    r"|extensions?|out of memory|oom|fork\w*|driver|ipc|bindings?|alias|legacy|backwards?.compat\w*"
    r"|rocm|hip|amd|intel|xpu|mps|npu|hpu|mlu|musa|tpu|xla|metal|macos|gaudi|ascend|habana|neuron|vulkan|opencl|sycl"
    r"|https?://\S*cuda\S*)\b|cuda[ -]?\d|\bcuda[/|]|/cuda\b|non-cuda|cuda-like",
    re.IGNORECASE,
)
"""Words beside which CUDA means CUDA, or is one of several vendors."""
CHOICE = re.compile(r"\b(?:cpu|cuda)\b\W{0,3}(?:,|\||\band\b|\bor\b|\bvs\b)\W{0,3}\b(?:cpu|cuda)\b", re.IGNORECASE)
"""A list of device types."""
ASIDE = re.compile(r"https?://\S+|`+[^`\n]*`+|\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
"""What is quoted in a text."""
CUDA = re.compile(r"(?<![^\s(\[])(?:CUDA|Cuda|cuda)(?=[\s.,;:!?)\]\0]|-(?:enabled|capable|compatible)\b|$)")
DEVICE = re.compile(r"(?:-(?:enabled|capable|compatible))?\s+(?:device|GPU|gpu|Device)(?P<many>[sS]?)\b(?!['-])")
LAST_WORD = re.compile(r"([\w'/]+|\0)\s*$")

NOUN = re.compile(
    r"\s+(?:tensors?|memory|training|inference|availability|support|streams?|events?|cache|rng|seeds?|machines?|setup"
    r"|index|indices|ids?|name|names|count|type|tests?|copy|side|execution|usage)\b",
    re.IGNORECASE,
)
"""What CUDA or a CUDA device says more about."""
STATE = re.compile(
    r"(?P<be>\s+(?:is|isn't|was|wasn't|must be|has to be|needs to be|should be))?(?P<no>\s+not|(?<=n't))?\s+(?:(?:currently|yet)\s+)?"
    r"(?P<state>available|accessible|detected|found|present|visible|ready|unavailable|required|needed|necessary"
    r"|mandatory|requested|disabled|enabled|used)\b",
    re.IGNORECASE,
)
"""What is said of CUDA as of any device; other statements about it are true of CUDA only."""
MISSING = {"available", "accessible", "detected", "found", "present", "visible"}
END = re.compile(r"\s*(?:$|[.,;:!?)\]](?!\w)|--?\s)")
GOES_ON = re.compile(
    r"\s+(?:if|when|for|but|so|because|since|only|here|first|before|after|then|as|with|to|by|while|unless|anyway|too"
    r"|again|now|instead|on|at|in|and|or|via|using|otherwise|until|yet|directly)\b",
    re.IGNORECASE,
)

DETERMINERS = {
    "no", "any", "the", "this", "that", "each", "every", "one", "first", "second", "2nd", "another", "which", "your",
    "our", "its", "single", "current", "same", "other", "default", "these", "those", "all", "both", "multiple", "two",
    "several", "available", "main", "different", "specific", "\0",
}  # fmt: skip
"""Words that a noun follows without an article of its own."""
WANTED = {
    "need", "needs", "needed", "needing", "require", "requires", "required", "requiring", "without", "with", "w/o",
    "have", "has", "having", "use", "uses", "used", "using", "want", "wants", "expects", "expect", "detected", "found",
    "lacks", "supports",
}  # fmt: skip
"""Words behind which any accelerator is meant."""
TOWARDS = {"to", "onto", "into", "from", "on", "off", "via", "for", "enable", "enables", "disable", "disables"}
"""Words behind which the one in use is meant."""
CLAUSE = {"if", "when", "since", "because", "unless", "that", "as", "while", "once", "until", "and", "but", "where",
          "whether", "case"}  # fmt: skip
"""Words that a sentence about CUDA follows."""
ONLY = re.compile(r"\b(?:only|requires?d?|must|needs?)\b", re.IGNORECASE)


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
    text = ASIDE.sub(lambda found: "\0" * len(found[0]), text)
    if ITSELF.search(text) or CHOICE.search(text):
        return
    for found in CUDA.finditer(text):
        words = _reworded(text, found, noun)
        if words is not None:
            yield words


def _reworded(text: str, found: re.Match[str], noun: str) -> Words | None:
    start, end = found.span()
    device = DEVICE.match(text, end)
    many = device is not None and bool(device["many"])
    end = device.end() if device else end
    before = text[:start].rstrip()
    last = LAST_WORD.search(before)
    word = last[1].lower() if last else ""
    name = noun + "s" * many
    if many and word == "gpus":
        return None
    if word in ("a", "an") and not many:
        if device is None and not NOUN.match(text, end):
            return None
        start = last.start(1) if last else start
        name = f"{_article(noun)} {name}"
    else:
        state = STATE.match(text, end)
        article = _before(text, before, word, end, state, is_device=device is not None)
        if article is None:
            return None
        if article == "no" and state is not None:
            end = state.start("state")
            be = (state["be"] or "").replace("n't", "")
            name = f"no {name}{be} "
        elif article and not many and not noun.isupper():
            name = f"{_article(noun) if article == 'a' else article} {name}"
    if (text[: found.start()] + text[found.end() :]).isupper():
        name = name.upper()
    elif (text[start].isupper() and not text[:start].strip()) or re.search(r"[.!?]\s+$", text[:start]):
        name = name[0].upper() + name[1:]
    return Words(start, end, name)


def _article(noun: str) -> str:
    return "an" if noun[0].lower() in "aeio" else "a"


def _before(text: str, before: str, word: str, end: int, state: re.Match[str] | None, is_device: bool) -> str | None:
    """The article that the noun takes: `a`, `the`, `no` for what is not there, none; None if that cannot be said."""
    starts = not before or before[-1] in ".,;:!?-*)]"
    if NOUN.match(text, end) or (re.match(r"\s+[\0%{]", text[end:]) and is_device):
        return ""
    follows = state or END.match(text, end) or GOES_ON.match(text, end)
    if word in DETERMINERS or word.isdigit():
        return "" if is_device or (follows and word in ("no", "any")) else None
    if state is not None and (starts or word in CLAUSE):
        if state["be"]:
            missing = (state["no"] or "n't" in state["be"]) and state["state"].lower() in MISSING
            return "no" if missing else "a"
        return ""
    if not follows:
        return None
    if word in WANTED:
        return "a"
    if word in TOWARDS:
        return "a" if ONLY.search(text) else "the"
    if (starts and END.match(text, end)) or is_device:
        return ""
    return None
