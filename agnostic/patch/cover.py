"""The cover letter: what the series is, what it left and why, what to test, and what a person has to do."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from agnostic import __version__
from agnostic.config import Settings
from agnostic.patch.base import Base
from agnostic.patch.figures import Figures, by_reason
from agnostic.patch.message import Wording, listed
from agnostic.patch.series import Series

WIDTH = 80
EXAMPLES = 25
"""How many reasons are told for what was left."""

DRAFT = """
This series is a draft, written by torch-agnostic {version}. A person has to read and understand every change,
look for work that is under way already, run the tests, and send the series in their own name and words. It
has not been run on any device yet: reviewers ask on which devices it was, so say that. torch-agnostic is not
affiliated with the project that this series is for.
"""


@dataclass(frozen=True)
class Left:
    """What a recipe leaves on purpose."""

    what: str
    why: str


def cover_letter(
    base: Base,
    series: Series,
    figures: Figures,
    wording: Wording,
    settings: Settings,
    name: str,
    on_purpose: Sequence[Left],
) -> str:
    """The text of the cover letter, in Markdown."""
    torch = ".".join(map(str, settings.torch))
    start = f"commit `{base.revision}`" if base.revision else f"version {figures.version or 'unknown'}"
    parts = [
        f"# Make {name} device-generic",
        _fill(DRAFT.format(version=__version__)),
        f"Base: {start}. Oldest torch: {torch}.",
        _sizes(figures),
        "## Commits\n\n" + _commits(series, wording),
        "## Left, and why\n\n" + _left(base, series, settings, on_purpose),
        "## What to test\n\n" + listed(wording.test_plan),
        "## Before sending\n\n" + listed(_duties(wording)),
        "## How to apply\n\n    git am --keep-non-patch *.patch",
    ]
    if wording.conventions.sections:
        parts.append(_sections(wording, name))
    return "\n\n".join(parts) + "\n"


def _fill(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _sizes(figures: Figures) -> str:
    return (
        f"| commits | files | lines | findings before | after |\n|---|---|---|---|---|\n"
        f"| {figures.commits} | {figures.files} | +{figures.added} -{figures.removed} "
        f"| {figures.before} | {figures.after} |"
    )


def _commits(series: Series, wording: Wording) -> str:
    lines = [
        f"{number}. {wording.title(commit)} ({len(commit.files)} file{'s' * (len(commit.files) != 1)})"
        for number, commit in enumerate(series.commits, 1)
    ]
    return "\n".join(lines) or "None: nothing can be rewritten safely."


def _left(base: Base, series: Series, settings: Settings, on_purpose: Sequence[Left]) -> str:
    lines = [_fill(f"- {left.what}: {left.why}") for left in on_purpose]
    groups = sorted(by_reason(series.left).items(), key=lambda item: (-len(item[1]), item[0]))
    for (code, rule, words), found in groups[:EXAMPLES]:
        first = min(found, key=lambda one: (str(one.path), one.start.row))
        place = os.fsencode(os.path.relpath(first.path, settings.root)).decode("utf-8", "backslashreplace")
        lines.append(_fill(f"- {len(found)} x {code} {rule}: {words} (first: {place}:{first.start.row})"))
    if rest := groups[EXAMPLES:]:
        lines.append(f"- {sum(len(found) for _, found in rest)} more, for {len(rest)} other reasons: see `check`")
    lines += [
        _fill(f"- {os.fsencode(path).decode('utf-8', 'backslashreplace')!r}: {why}")
        for path, why in base.skipped.items()
    ]
    return "\n".join(lines) or "Nothing."


def _duties(wording: Wording) -> list[str]:
    duties = ["read each commit; change or drop what you would not answer for", *wording.conventions.remind]
    if wording.conventions.sign_off and not wording.sign_off:
        duties.append("this project wants commits signed off: `--signoff`, or `git am --signoff`")
    return duties


def _sections(wording: Wording, name: str) -> str:
    texts = {
        "Purpose": f"Let {name} run on accelerators other than CUDA: see the commits above.",
        "Test Plan": listed(wording.test_plan),
        "Test Result": "Not run yet: fill in what you ran, on which devices, and what came out.",
    }
    return "## Description\n\n" + "\n\n".join(
        f"### {section}\n\n{texts.get(section, 'To be filled in.')}" for section in wording.conventions.sections
    )
