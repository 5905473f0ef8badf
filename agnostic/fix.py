"""Fix one file: apply what may be applied, again until nothing changes, then let the result through the gate."""

from __future__ import annotations

import os
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agnostic.check import ENGINE_RULES, REFUSED, UNREADABLE, Diagnostic, Place, check_text, may_concern, read, unreadable
from agnostic.config import Settings
from agnostic.gate import objection
from agnostic.rule import Edit, load
from agnostic.settle import Candidate, apply, choose

ROUNDS = 12
"""More rounds than any file needs; one that is not stable by then is left as it was."""

Chooser = Callable[[Sequence[Candidate]], list[Edit]]


@dataclass(frozen=True)
class Fixed:
    """What fixing a file gave: its bytes before and after, and what is still to be said about it."""

    path: Path
    before: bytes
    after: bytes
    fixed: tuple[Diagnostic, ...]
    left: tuple[Diagnostic, ...]

    @property
    def changed(self) -> bool:
        return self.before != self.after


def fix_bytes(
    path: Path, data: bytes, settings: Settings, unsafe: bool = False, choose: Chooser = choose
) -> Fixed:
    """Fix a file's bytes; they come back untouched if the result would not pass the gate.

    `choose` picks the edits of each round from the candidates; another one can fix a part of the file.
    """
    ruleset = load()
    if not may_concern(data, ruleset):
        return Fixed(path, data, data, (), ())
    try:
        source = read(path, data)
    except (SyntaxError, ValueError, LookupError) as error:
        return Fixed(path, data, data, (), (unreadable(path, str(error)),))
    text, fixed = source.text, []
    first: list[Diagnostic] = []
    for number in range(ROUNDS):
        diagnostics, candidates = check_text(path, text, settings, unsafe=unsafe)
        if not number:
            first = diagnostics
        edits = choose(candidates)
        if not edits:
            break
        applied = set(edits)
        fixed += [one for one in diagnostics if one.applicability and applied.issuperset(edit for edit, *_ in one.edits)]
        text = apply(text, edits)
    else:
        return Fixed(path, data, data, (), (*first, _refused(path, "the fixes do not come to an end")))
    if text == source.text:
        return Fixed(path, data, data, (), tuple(diagnostics))
    why = objection(source.text, text, ruleset, settings.torch) or _worse(first, diagnostics)
    try:
        after = source.encode(text)
    except UnicodeEncodeError as error:
        why = str(error)
    if why:
        return Fixed(path, data, data, (), (*first, _refused(path, why)))
    return Fixed(path, data, after, tuple(fixed), tuple(diagnostics))


def _worse(before: list[Diagnostic], after: list[Diagnostic]) -> str | None:
    """Whether fixing made findings that were not there."""
    if any(one.code == UNREADABLE for one in after):
        return f"the result {next(one.message for one in after if one.code == UNREADABLE)}"
    new = Counter(one.code for one in after) - Counter(one.code for one in before)
    return f"the result would have new findings: {', '.join(sorted(new))}" if new else None


def _refused(path: Path, why: str) -> Diagnostic:
    return Diagnostic(REFUSED, ENGINE_RULES[REFUSED][0], f"left as it was: {why}", path, Place(1, 1), Place(1, 1))


def write(path: Path, data: bytes) -> None:
    """Replace a file in one step, keeping its mode; a link is followed, so that it stays a link."""
    target = path.resolve()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
