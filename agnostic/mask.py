"""Blank out the statements no rule can care about, so that libcst parses a seventh of the text.

A statement without a trigger becomes a string literal of the same height: the result is a valid module in
which everything that was kept stands where it stood. A trigger is a token of the rules, a name bound to
something with a token in it, and whatever binds or passes on the packages that the rules resolve names through.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterable, Iterator

NEWLINE = re.compile(r"\r\n|\r|\n")
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>[\w.]*)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]*)"
    r"|import[ \t]+(?P<modules>[^\n#;]*))",
    re.MULTILINE,
)
IMPORTED = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
ASSIGNED = re.compile(r"^[ \t]*(\w+)[ \t]*(?::[^=\n]+)?=[ \t]*([\w.]+)[ \t]*(?:[#;].*)?$", re.MULTILINE)


def bindings(text: str) -> Iterator[tuple[str, str]]:
    """(local name, dotted origin) of every import and of every `name = dotted.name` in the text."""
    for match in IMPORT.finditer(text):
        listed = match["names"] if match["modules"] is None else match["modules"]
        for origin, alias in IMPORTED.findall(re.sub(r"#.*", "", listed).strip("()")):
            if match["modules"] is None:
                yield alias or origin, f"{match['module']}.{origin}"
            else:
                yield alias or origin.partition(".")[0], origin if alias else origin.partition(".")[0]
    yield from ASSIGNED.findall(text)


def triggers(text: str, tokens: Iterable[str], packages: Iterable[str], evidence: str) -> re.Pattern[str]:
    """What keeps a statement of this text. `evidence` is a pattern of further text that rules look at."""
    token = re.compile("|".join(map(re.escape, tokens)))
    names, roots, members = set(), set(packages), set()
    for name, origin in bindings(text):
        if origin in roots:
            roots.add(name)
        elif token.search(origin):
            if not token.search(name):
                names.add(name)
        elif origin.partition(".")[0] in roots:
            members.add(name)
    bare = "|".join(map(re.escape, sorted(roots)))
    parts = [
        token.pattern,
        *(rf"\b{name}\b" for name in sorted(names)),
        rf"(?<![\w.])(?:{bare})\b(?![ \t]*\.)",
        rf"^[ \t]*(?:import|from)[ \t]+(?:{'|'.join(packages)})\b",
        r"\b(?:global|nonlocal)\b",
        evidence,
    ]
    if members:  # where a name of the package is bound to something else
        either = "|".join(sorted(members))
        parts += [rf"^[ \t]*(?:{either})[ \t]*[:=,]", rf"\b(?:as|for|import)[ \t]+(?:{either})\b"]
    return re.compile("|".join(parts), re.MULTILINE)


def mask(text: str, tree: ast.Module, triggers: re.Pattern[str]) -> tuple[str, list[ast.stmt]]:
    """The text with every statement that has no trigger blanked out, and the statements kept whole."""
    starts = [0, *(newline.end() for newline in NEWLINE.finditer(text))]
    hits = sorted({bisect.bisect_right(starts, match.start()) for match in triggers.finditer(text)})
    kept: list[ast.stmt] = []

    def is_hit(first: int, last: int) -> bool:
        at = bisect.bisect_left(hits, first)
        return at < len(hits) and hits[at] <= last

    def indent(line: int, column: int) -> str:
        return text[starts[line - 1] : starts[line - 1] + column]

    cuts: list[list[int]] = []  # first line, last line, column
    todo = [tree.body]
    while todo:
        joinable = False
        for first, last, statements in _units(todo.pop()):
            column = statements[0].col_offset
            if is_hit(first, last) or indent(first, column).strip():
                joinable = False
                kept += statements
                if len(statements) == 1:
                    todo += _suites(statements[0], text, starts)
            elif joinable:
                cuts[-1][1] = last
            else:
                cuts.append([first, last, column])
                joinable = True
    pieces, position = [], 0
    for first, last, column in sorted(cuts):
        pieces += text[position : starts[first - 1]], indent(first, column), '"""', "\n" * (last - first), '"""'
        position = len(text)
        if last < len(starts):
            pieces.append("\n")
            position = starts[last]
    return "".join([*pieces, text[position:]]), kept


def _units(body: list[ast.stmt]) -> Iterator[tuple[int, int, list[ast.stmt]]]:
    """The statements of a suite with their first and last line; those that share a line are one unit."""
    first = last = 0
    unit: list[ast.stmt] = []
    for statement in body:
        start = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        if unit and start > last:
            yield first, last, unit
            unit = []
        if not unit:
            first = start
        unit.append(statement)
        last = statement.end_lineno or start
    if unit:
        yield first, last, unit


def _suites(statement: ast.stmt, text: str, starts: list[int]) -> Iterator[list[ast.stmt]]:
    """Every indented block that belongs to a statement; an `elif` is looked through."""
    todo: list[ast.AST] = [statement]
    while todo:
        part = todo.pop()
        todo += [*getattr(part, "handlers", ()), *getattr(part, "cases", ())]
        for name in ("body", "orelse", "finalbody"):
            if suite := getattr(part, name, None):
                if isinstance(suite[0], ast.If) and name == "orelse":
                    at = starts[suite[0].lineno - 1] + suite[0].col_offset
                    if text.startswith("elif", at):
                        todo.append(suite[0])
                        continue
                yield suite
