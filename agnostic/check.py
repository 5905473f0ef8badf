"""Check one file: read, screen, parse, walk once, silence, settle."""

from __future__ import annotations

import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from agnostic.config import Settings
from agnostic.rule import Edit, Finding, Rule, Ruleset, declared, load, shortest
from agnostic.settle import Candidate, settle
from agnostic.suppress import Suppression, suppressions

if TYPE_CHECKING:
    import libcst as cst

    from agnostic.file import File

UNREADABLE, UNUSED, REFUSED, FAILED = "AGN000", "AGN001", "AGN002", "AGN003"
PROSE = "AGN010"
COMMENT = re.compile(r"(?:^|\s)#[^\r\n]*[\r\n]")
"""A comment that ends inside of a piece of text."""
"""What is looked for with `--comments` only, so that silencing it is no mistake in other runs."""
ENGINE_RULES = {
    UNREADABLE: ("unreadable-file", "A file that cannot be analysed."),
    UNUSED: ("unused-suppression", "A suppression comment that silences nothing."),
    REFUSED: ("refused-fix", "A file that was not fixed because the result did not pass the checks."),
    FAILED: ("failed-check", "A file on which this tool itself failed; please report it."),
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
def _screen() -> tuple[bytes, ...]:
    return tuple(token.encode() for token in shortest(token for one in declared().values() for token in one))


def may_concern(data: bytes) -> bool:
    """Whether a file holds a token of any rule, or a comment for us; a file without is done."""
    return any(token in data for token in _screen()) or b"agnostic:" in data


def check_bytes(
    path: Path, data: bytes, settings: Settings, whole: bool = False, consulted: set[Path] | None = None
) -> list[Diagnostic]:
    """Everything there is to say about a file. Never raises for what the file contains."""
    if not may_concern(data):
        return []
    try:
        source = read(path, data)
    except (SyntaxError, ValueError, LookupError) as error:
        return [unreadable(path, str(error))]
    return check_text(path, source.text, settings, whole, consulted=consulted)[0]


def unreadable(path: Path, why: str) -> Diagnostic:
    """The finding that stands in for all others of a file."""
    return about(UNREADABLE, path, f"could not be read: {why}")


def about(code: str, path: Path, message: str) -> Diagnostic:
    """A finding of the engine about a whole file."""
    return Diagnostic(code, ENGINE_RULES[code][0], message, path, Place(1, 1), Place(1, 1))


def check_text(
    path: Path,
    text: str,
    settings: Settings,
    whole: bool = False,
    unsafe: bool = True,
    refused: Mapping[tuple[str, ...], str] = MappingProxyType({}),
    consulted: set[Path] | None = None,
) -> tuple[list[Diagnostic], list[Candidate]]:
    """The diagnostics of a text, and the candidates for fixing that stand behind them.

    With `unsafe` false, fixes that are unsafe stay, and those that go together with them. `refused` says why
    candidates with certain keys stay. `whole` parses the text without the mask; the result is the same.
    `consulted` receives the other files that the result depends on.
    """
    from agnostic.file import File, Unreadable  # loads libcst

    ruleset = load()
    try:
        file = File(text, path, ruleset, settings, whole)
        found = [(finding.place or file.span(finding.node), rule, finding) for rule, finding in _walk(file, ruleset)]
        if consulted is not None:
            consulted |= file.consulted
    except (Unreadable, RecursionError) as error:
        return [unreadable(path, str(error))], []
    found.sort(key=lambda one: (one[0], one[1].code))
    concerned = (file.text_of_line(file.line_at(start)) for (start, _), *_ in found)
    silenced = suppressions(text, settings.ignore_comments, concerned)
    candidates: list[Candidate] = []
    wanted: list[tuple[Rule, Finding, Candidate]] = []
    for span, rule, finding in found:
        together = (*finding.follows, *(file.span(node) for node in finding.together))
        line = file.line_at(span[0])
        row = line if finding.place else _row(file, finding.node)
        follows = bool(finding.follows)
        blocks, alone = finding.blocks and not follows, finding.alone or follows
        risk = finding.unsafe or _loses_comment(text, finding.edits)
        candidate = Candidate(span, row, finding.edits, risk, together, blocks, alone=alone)
        candidate.follows, candidate.due = follows, finding.due
        candidate.key = (rule.code, finding.message, file.text_of_line(line).strip())
        if _is_silenced(rule.code, line, silenced):
            candidate.stays = "it is silenced by a comment"
        elif not settings.looks_for(rule.code, path):
            candidate.stays = "its rule is not selected"
        else:
            wanted.append((rule, finding, candidate))
            candidate.stays = refused.get(candidate.key, "") or ruleset.veto(file, finding.node)
            if risk and not unsafe:
                candidate.stays = f"unsafe: {risk}"
        candidates.append(candidate)
    settle(candidates)
    diagnostics: list[Diagnostic] = []
    for rule, finding, candidate in wanted:
        if not candidate.is_moot:
            candidate.place = len(diagnostics)
            diagnostics.append(_diagnostic(file, rule, finding, candidate))
    return diagnostics + _unused(path, silenced, settings), candidates


def _row(file: File, node: cst.CSTNode) -> int:
    """The line that a finding settles with: for a choice in one expression the first, however it is laid out."""
    import libcst as cst

    first = node
    for above in file.ancestors(node):
        if isinstance(above, cst.IfExp):
            first = above
        elif isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            break
    return file.line(first)


def _diagnostic(file: File, rule: Rule, finding: Finding, candidate: Candidate) -> Diagnostic:
    def place(offset: int) -> Place:
        return Place(*file.location(offset))

    start, end = candidate.span
    return Diagnostic(
        code=rule.code,
        name=rule.name,
        message=finding.message,
        path=file.path,
        start=place(start),
        end=place(end),
        edits=tuple((edit, place(edit.start), place(edit.end)) for edit in finding.edits),
        unsafe=candidate.unsafe,
        stays=candidate.stays if finding.edits else "",
    )


def _loses_comment(text: str, edits: tuple[Edit, ...]) -> str:
    """Why edits are unsafe if they write over a comment inside of what they replace."""
    replaced = [text[edit.start : edit.end] for edit in edits if edit.text]
    return "a comment inside would be lost" if any(COMMENT.search(one) for one in replaced) else ""


def _walk(file: File, ruleset: Ruleset) -> list[tuple[Rule, Finding]]:
    """Show every node to the rules that asked for its type; one walk for all rules."""
    by_node: dict[type, list[Rule]] = defaultdict(list)
    for rule in ruleset.rules.values():
        if any(token in file.text for token in rule.tokens):
            for kind in rule.nodes:
                by_node[kind].append(rule)
    found: list[tuple[Rule, Finding]] = []
    for node in file.tree.nodes:
        for rule in by_node.get(type(node), ()):
            if not file.is_claimed(node):
                found += [(rule, finding) for finding in rule.check(node, file)]
    return found


def _is_silenced(code: str, row: int, silenced: list[Suppression]) -> bool:
    hits = [suppression for suppression in silenced if suppression.covers(code, row)]
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
        if settings.comments or one.codes != (PROSE,)
    ]
