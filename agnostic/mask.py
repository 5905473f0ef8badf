"""Blank out the statements no rule can care about, so that libcst parses a seventh of the text.

A statement without a trigger becomes a string literal of the same height: the result is a valid module in
which everything that was kept stands where it stood. A trigger is a token of the rules, a name bound to
something with a token in it, and whatever binds or passes on the packages that names are resolved through.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterable, Iterator

NEWLINE = re.compile(r"\r\n|\r|\n")
_SPACE = r"(?:[ \t\f]|\\\r?\n)+"
IMPORT = re.compile(
    rf"from{_SPACE}(?P<module>[\w.]*){_SPACE}import{_SPACE}(?P<names>\((?:#[^\r\n]*|[^)#])*\)|(?:\\\r?\n|[^\r\n#;])*)"
    rf"|import{_SPACE}(?P<modules>(?:\\\r?\n|[^\r\n#;])*)"
)
IMPORTED = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
ASSIGNED = re.compile(
    r"(?:(?:^|[;:])[ \t]*(\w+)[ \t]*(?::[^=\r\n]+)?=|(\w+)[ \t]*:=)[ \t]*([\w.]+)[ \t]*(?=[\r\n#;)]|$|if\b)",
    re.MULTILINE,
)

LONG = 1_000
"""The length of a line that says too much to be about one name; reading it may be more than the parser can do."""
KEPT = re.compile(r"[ \t]*(\w+)[ \t]*(?::[^=\r\n]+)?=(?!=)([^#\r\n]*)")
SET = re.compile(r"[ \t]*(?:\w+\.)+(\w+)[ \t]*(?::[^=\r\n]+)?=(?!=)([^#\r\n]*)")


class Lines:
    """Where the lines of a text begin, and on which of them something stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(newline.end() for newline in NEWLINE.finditer(text))]

    def find(self, literal: str, rest: str = "") -> Iterator[int]:
        """Where a word stands, or the beginning of a word, that `rest` follows.

        A literal is found twenty times as fast as a pattern that begins with `\\b`, a class or a choice.
        """
        for match in re.compile(re.escape(literal) + rest).finditer(self.text):
            at = match.start()
            if not at or not (self.text[at - 1].isalnum() or self.text[at - 1] == "_"):
                yield at

    def rows(self, places: Iterable[int]) -> set[int]:
        return {bisect.bisect_right(self.starts, place) for place in places}

    def hits(self, pattern: str) -> set[int]:
        """The rows on which a pattern matches; one that begins with plain text is found fast."""
        return self.rows(match.start() for match in re.compile(pattern).finditer(self.text))

    def start(self, row: int) -> int:
        """Where a row begins, from 1; behind the last one the text ends."""
        return self.starts[row - 1] if row <= len(self.starts) else len(self.text)

    def line(self, row: int) -> str:
        return self.text[self.start(row) : self.start(row + 1)]


def imports(lines: Lines) -> Iterator[tuple[str, str]]:
    """(local name, dotted origin) of every import."""
    for place in (*lines.find("from", r"\b"), *lines.find("import", r"\b")):
        match = IMPORT.match(lines.text, place)
        if match is None:
            continue
        listed = match["names"] if match["modules"] is None else match["modules"]
        for origin, alias in IMPORTED.findall(re.sub(r"#.*", "", listed).strip("()")):
            if match["modules"] is None:
                yield alias or origin, f"{match['module']}.{origin}"
            else:
                yield alias or origin.partition(".")[0], origin if alias else origin.partition(".")[0]


def assignments(lines: Lines, rows: Iterable[int]) -> Iterator[tuple[str, str]]:
    """(name, value) of every `name = dotted.name`, also `... if condition`, on these rows."""
    for row in sorted(rows):
        for name, walrus, value in ASSIGNED.findall(lines.line(row)):
            yield name or walrus, value


def triggers(lines: Lines, tokens: Iterable[str], packages: Iterable[str], evidence: Iterable[str]) -> set[int]:
    """The rows that keep their statement. `evidence` are patterns of further text that rules look at."""
    present = [token for token in tokens if token in lines.text]
    token = re.compile("|".join(map(re.escape, present)) or r"(?!)")
    rows = set().union(*(lines.hits(re.escape(one)) for one in present), *map(lines.hits, evidence))
    names: set[str] = set()  # stand for something with a token in it
    roots = set(packages)  # stand for a package
    members: set[str] = set()  # what else is bound to something that matters, or has a member that does

    def note(found: Iterator[tuple[str, str]]) -> None:
        for name, origin in found:
            if origin in roots:
                roots.add(name)
            elif token.search(origin):
                if not token.search(name):
                    names.add(name)
            elif origin.partition(".")[0] in roots:
                members.add(name)

    imported = list(imports(lines))
    note(iter(imported))
    followed = set(_followed(lines, rows, token)) - {"self", "cls", *roots}
    members |= followed
    names |= followed.intersection(name for name, _ in imported)
    known: set[str] = set()
    while roots - known:
        fresh, known = roots - known, set(roots)
        note(assignments(lines, rows.union(*(lines.rows(lines.find(root)) for root in fresh))))
    names |= set(_keeping(lines, rows, roots, token))
    found = [lines.find(root, r"\b(?![ \t]*\.)") for root in roots]
    found += [lines.find(word, rf"{_SPACE}{package}\b") for package in packages for word in ("import", "from")]
    found += [lines.find(name, r"\b") for name in names]
    found += [lines.find(word, r"\b") for word in ("global", "nonlocal")]
    bound = []  # where the members are
    for member in members:
        bound.append(lines.find(member, r"[ \t]*(?:=(?!=)|:|,)"))
        bound += [lines.find(word, rf"[ \t]+{member}\b") for word in ("as", "for", "import")]
    short = {row for row in set().union(*map(lines.rows, bound)) if len(lines.line(row)) < LONG}
    return rows.union(short, *map(lines.rows, found))


def _followed(lines: Lines, rows: set[int], token: re.Pattern[str]) -> Iterator[str]:
    """The names that have a member with a token in it, and the attributes that are set to something with one."""
    member = re.compile(rf"(\w+)\.(?:{token.pattern})")
    for row in rows:
        line = lines.line(row)
        yield from member.findall(line)
        attribute = SET.match(line)
        if attribute and token.search(attribute[2]):
            yield attribute[1]


def _keeping(lines: Lines, rows: set[int], roots: set[str], token: re.Pattern[str]) -> Iterator[str]:
    """The variables that keep what a member of a package gives, where its dotted name has a token in it."""
    member = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(roots)))})\.[\w.]*(?:{token.pattern})")
    for row in rows:
        kept = KEPT.match(lines.line(row))
        if kept and not token.search(kept[1]) and member.search(kept[2]):
            yield kept[1]


def mask(lines: Lines, tree: ast.Module, rows: set[int]) -> tuple[str, list[ast.stmt]]:
    """The text with every statement that has no trigger blanked out, and the statements kept whole."""
    text, starts, hits = lines.text, lines.starts, sorted(rows)
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
    pieces: list[str] = []
    position = 0
    for first, last, column in sorted(cuts):
        pieces += (
            text[position : starts[first - 1]],
            indent(first, column),
            '"""',
            "\n" * (last - first),
            '"""',
        )
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
