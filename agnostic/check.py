"""Check one file: read, screen, parse, walk once, silence, settle."""

from __future__ import annotations

import io
import re
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agnostic.config import Settings
from agnostic.rule import Edit, Ruleset, load
from agnostic.settle import Candidate, settle
from agnostic.suppress import Suppression, suppressions

UNREADABLE, UNUSED, REFUSED = "AGN000", "AGN001", "AGN002"
ENGINE_RULES = {
    UNREADABLE: ("unreadable-file", "A file that cannot be analysed."),
    UNUSED: ("unused-suppression", "A suppression comment that silences nothing."),
    REFUSED: ("refused-fix", "A fix that was not written because its result did not pass the checks."),
}


@dataclass(frozen=True)
class Place:
    """Row and column, both from 1; columns count characters."""

    row: int
    column: int


@dataclass(frozen=True)
class Diagnostic:
    """A finding as users see it."""

    code: str
    name: str
    message: str
    path: Path
    start: Place
    end: Place
    edits: tuple[tuple[Edit, Place, Place], ...] = ()
    unsafe: str = ""
    stays: str = ""

    @property
    def applicability(self) -> str | None:
        """`safe`, `unsafe`, or None if there is nothing to apply."""
        if not self.edits or self.stays:
            return None
        return "unsafe" if self.unsafe else "safe"


@dataclass(frozen=True)
class Source:
    """A file's text and how to write it back."""

    path: Path
    text: str
    encoding: str
    bom: bytes

    def encode(self, text: str) -> bytes:
        return self.bom + text.encode(self.encoding)


def read(path: Path, data: bytes) -> Source:
    """Decode a file as Python does. Raises ValueError or SyntaxError if that is impossible or loses bytes."""
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    encoding = "utf-8" if bom else encoding
    text = data[len(bom) :].decode(encoding)
    if text.encode(encoding) != data[len(bom) :]:
        raise ValueError(f"its encoding {encoding} does not write it back as it was")
    return Source(path, text, encoding, bom)


@cache
def _screen(tokens: frozenset[str]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(sorted(re.escape(token.encode()) for token in tokens)))


def may_concern(data: bytes, ruleset: Ruleset) -> bool:
    """Whether the file holds a token of any rule; a file without one is done."""
    return _screen(ruleset.tokens).search(data) is not None or b"agnostic:" in data


def check_bytes(path: Path, data: bytes, settings: Settings, whole: bool = False) -> list[Diagnostic]:
    """Everything there is to say about a file. Never raises for what the file contains."""
    ruleset = load()
    if not may_concern(data, ruleset):
        return []
    try:
        source = read(path, data)
    except (SyntaxError, ValueError, LookupError) as error:
        return [unreadable(path, str(error))]
    return check_text(path, source.text, settings, whole)[0]


def unreadable(path: Path, why: str) -> Diagnostic:
    return Diagnostic(
        UNREADABLE, ENGINE_RULES[UNREADABLE][0], f"could not be read: {why}", path, Place(1, 1), Place(1, 1)
    )


def check_text(
    path: Path, text: str, settings: Settings, whole: bool = False, unsafe: bool = True
) -> tuple[list[Diagnostic], list[Candidate]]:
    """The diagnostics of a text, and the candidates for fixing that stand behind them.

    With `unsafe` false, fixes that are unsafe stay, and so do those that go together with them.
    `whole` parses the text without the mask; the result is the same.
    """
    from agnostic.file import File, Unreadable  # loads libcst

    ruleset = load()
    try:
        file = File(text, path, ruleset, settings, whole)
        found = _walk(file, ruleset)
        spans = [file.span(finding.node) for _, finding in found]
    except (Unreadable, ValueError, RecursionError) as error:
        return [unreadable(path, str(error))], []
    order = sorted(range(len(found)), key=lambda number: (spans[number], found[number][0].code))
    silenced = suppressions(text, settings.ignore_comments)
    candidates, wanted = [], []
    for number in order:
        rule, finding = found[number]
        start, end = spans[number]
        candidate = Candidate(
            span=(start, end),
            line=file.line_at(start),
            edits=finding.edits,
            unsafe=finding.unsafe,
            together=tuple(file.span(node) for node in finding.together),
            blocks=finding.blocks,
            code=rule.code,
            message=finding.message,
        )
        rows = range(candidate.line, candidate.line + 1)
        if _is_silenced(rule.code, rows, silenced):
            candidate.stays = "it is silenced by a comment"
        elif not settings.looks_for(rule.code, path):
            candidate.stays = "its rule is not selected"
        else:
            wanted.append((rule, finding, candidate))
            if finding.unsafe and not unsafe:
                candidate.stays = f"unsafe: {finding.unsafe}"
        candidates.append(candidate)
    settle(candidates)
    if not unsafe:
        for candidate in candidates:
            if candidate.unsafe and not candidate.stays:
                candidate.stays = f"unsafe: {candidate.unsafe}"
    diagnostics = [
        Diagnostic(
            code=rule.code,
            name=rule.name,
            message=finding.message,
            path=path,
            start=Place(*file.location(candidate.span[0])),
            end=Place(*file.location(candidate.span[1])),
            edits=tuple(
                (edit, Place(*file.location(edit.start)), Place(*file.location(edit.end))) for edit in finding.edits
            ),
            unsafe=candidate.unsafe,
            stays=candidate.stays if finding.edits else "",
        )
        for rule, finding, candidate in wanted
    ]
    return diagnostics + _unused(path, silenced, settings), candidates


def _walk(file, ruleset: Ruleset) -> list:  # type: ignore[no-untyped-def]
    """Show every node to the rules that asked for its type; one walk for all rules."""
    by_node = defaultdict(list)
    for rule in ruleset.rules.values():
        for node in rule.nodes:
            by_node[node].append(rule)
    found = []
    for node in file.tree.nodes:
        for rule in by_node.get(type(node), ()):
            if not file.is_claimed(node):
                found += [(rule, finding) for finding in rule.check(node, file)]
    return found


def _is_silenced(code: str, rows: range, silenced: list[Suppression]) -> bool:
    hits = [suppression for suppression in silenced if suppression.covers(code, rows)]
    for suppression in hits:
        suppression.used = True
    return bool(hits)


def _unused(path: Path, silenced: list[Suppression], settings: Settings) -> list[Diagnostic]:
    return [
        Diagnostic(
            UNUSED,
            ENGINE_RULES[UNUSED][0],
            f"this comment silences nothing{' of ' + ', '.join(one.codes) if one.codes else ''}; remove it",
            path,
            Place(one.row, one.column),
            Place(one.row, one.column),
        )
        for one in silenced
        if one.ours and not one.used and not settings.select and settings.selects(UNUSED)
    ]
