"""Comments that silence: `# agnostic: ignore[AGN201] reason`, `# noqa: AGN201`, and the project's."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

OURS = re.compile(r"#\s*agnostic:\s*ignore(?P<file>-file)?(?:\[(?P<codes>[A-Z0-9,\s]*)\])?")
NOQA = re.compile(r"#\s*noqa(?::\s*(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)


@dataclass
class Suppression:
    """One comment: the lines it covers (None for the whole file) and the codes, all of them if empty."""

    row: int
    column: int
    rows: range | None
    codes: tuple[str, ...]
    ours: bool
    """Written for this tool, so worth a finding when it silences nothing."""
    used: bool = field(default=False, compare=False)

    def covers(self, code: str, row: int) -> bool:
        return (self.rows is None or row in self.rows) and (
            not self.codes or any(code.startswith(prefix) for prefix in self.codes)
        )


def suppressions(text: str, markers: tuple[str, ...], found: Iterable[str]) -> list[Suppression]:
    """Every suppressing comment of a text; `markers` are comments that the project uses already.

    Splitting a text into tokens costs as much as checking it, so that is left out where no comment is for us
    and no line of those with a finding holds a `noqa`.
    """
    ours = any(word in text for word in ("agnostic:", *markers))
    return list(_read(text, markers)) if ours or any("noqa" in line.lower() for line in found) else []


def _read(text: str, markers: tuple[str, ...]) -> Iterator[Suppression]:
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(text, newline="").readline)]
    except (tokenize.TokenError, SyntaxError):
        return
    lines: dict[int, int] = {}  # last row of a logical line -> its first
    first = None
    for token in tokens:
        if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING):
            continue
        first = token.start[0] if first is None else first
        if token.type == tokenize.NEWLINE:
            lines[token.start[0]] = first
            first = None
    rows = sorted(lines)
    for token in tokens:
        if token.type != tokenize.COMMENT:
            continue
        row, column = token.start
        alone = not token.line[:column].strip()
        if found := OURS.search(token.string):
            codes = tuple(re.findall(r"[A-Z]+\d+", found["codes"] or ""))
            if found["file"]:
                covered = None
            elif alone:
                below = next((last for last in rows if last > row), row)
                covered = range(row, below + 1)
            else:
                covered = range(lines.get(row, row), row + 1)
            yield Suppression(row, column + 1, covered, codes, True)
        elif found := NOQA.search(token.string):
            codes = tuple(code.upper() for code in re.findall(r"[A-Za-z]+\d+", found["codes"] or ""))
            if not codes or any(code.startswith("AGN") for code in codes):
                yield Suppression(row, column + 1, range(row, row + 1), codes, bool(codes))
        elif any(marker in token.string for marker in markers):
            yield Suppression(row, column + 1, range(lines.get(row, row), row + 1), (), False)
