"""The words of a commit: a subject that says what it does, and a body from the documentation of its rules."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agnostic.check import Diagnostic
from agnostic.patch.series import Commit
from agnostic.patch.split import Split
from agnostic.rule import load
from codemods.knowledge.conventions import Conventions, titles

WIDTH = 72


@dataclass(frozen=True)
class Wording:
    """How the commits of a series are worded."""

    split: Split
    conventions: Conventions
    test_plan: Sequence[str]
    sign_off: str = ""
    """`Name <mail>` of the person who signs off, if anybody does."""

    def message(self, commit: Commit) -> str:
        """The whole message of a commit."""
        room = WIDTH - len(self.conventions.subject.format(title="", area=self.conventions.area))
        subject = self.conventions.subject.format(title=self.title(commit, room), area=self.conventions.area)
        body = _fill(_why(commit)) + "\n\n" + _replaced(commit.fixed)
        if self.conventions.sections:
            body = f"{self.conventions.sections[0]}\n\n{body}\n\nTest Plan\n\n{listed(self.test_plan)}"
        if self.sign_off:
            body += f"\n\nSigned-off-by: {self.sign_off}"
        return f"{textwrap.shorten(subject, WIDTH, placeholder=' ...')}\n\n{body}\n"

    def title(self, commit: Commit, room: int = WIDTH) -> str:
        """What a commit does, in the imperative, and in so many characters where that can be."""
        key = commit.unit.key
        if self.split == "folder":
            return f"Make {key} device-generic" if key != "." else "Make the top folder device-generic"
        if self.split == "owner":
            return f"Make the files of {key} device-generic"
        code, _, name = key.partition(" ")
        rule = load().rules[code]
        title = titles().get(rule.name, f"Make {rule.name.replace('-', ' ')} generic")
        if "." not in name.lstrip("."):  # a method or a word, which the title of the rule tells better
            return title
        if new := _replacement(commit, code, name):
            full = f"Replace {name} by {new}"
            return full if len(full) <= room else f"Use {new}"
        return f"{title}: {name}"


def _replacement(commit: Commit, code: str, name: str) -> str:
    """What an API is replaced by, if its findings name one thing."""
    found = {new for one in commit.fixed if one.code == code for old, new in [names(one)] if old == name and new}
    return found.pop() if len(found) == 1 else ""


def names(one: Diagnostic) -> tuple[str, str]:
    """The API that a finding is about and what replaces it, as far as its message names them."""
    quoted = re.findall(r"`([^`]+)`", one.message)
    old = re.sub(r"\(.*", "", quoted[0]) if quoted else one.name
    new = re.search(r"\buse `([^`]+)`", one.message)
    return old, new[1] if new else ""


def _why(commit: Commit) -> list[str]:
    """Paragraphs: of the rule that the commit is about, or of all that it applies."""
    rules = load().rules
    code = commit.unit.key.partition(" ")[0]
    if code in rules:
        rule = rules[code]
        safety = re.search(r"^Fix safety: (.*?)(?:\n\n|\Z)", rule.doc, re.MULTILINE | re.DOTALL)
        text = rule.doc.partition("```")[0].partition("Fix safety:")[0].strip()
        paragraphs = [re.sub(r":$", ".", part) for part in text.split("\n\n")]
        unsafe = sorted({one.unsafe for one in commit.fixed if one.unsafe})
        return [
            *paragraphs,
            *([f"Safety: {safety[1]}"] if safety else []),
            *(f"To be judged by the reviewer: {why}." for why in unsafe),
        ]
    summaries = [rules[code].summary for code in sorted({one.code for one in commit.fixed} & {*rules})]
    return ["Code that runs on CUDA only is written for any accelerator:", *summaries]


def _fill(paragraphs: Iterable[str]) -> str:
    return "\n\n".join(
        textwrap.fill(" ".join(part.split()), WIDTH, break_long_words=False, break_on_hyphens=False)
        for part in paragraphs
    )


def _replaced(fixed: Iterable[Diagnostic]) -> str:
    """The table of what became what."""
    counts = Counter(names(one) for one in fixed)
    lines = [
        f"{count:>6}  {old}" + (f" -> {new}" if new else "")
        for (old, new), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return "\n".join(["Changed here:", *lines])


def listed(items: Iterable[str]) -> str:
    """A list, wrapped."""
    return "\n".join(
        textwrap.fill(item, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False)
        for item in items
    )
