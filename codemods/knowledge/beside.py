"""The prose of a file, with the code that it stands beside: messages of a condition, comments on a line."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from agnostic.file import File
from agnostic.rule import Span

SAYS = re.compile(
    r"(?:.*_)?(?:print|echo|warn|warning|info|debug|error|critical|exception|log|skip|skipTest|exit)(?:_.*)?"
)
"""Functions that are told what to say to a person, by their own names."""
SKIPS = re.compile(r"(?:skipif|skipIf|skipUnless)")
COMPARES = re.compile(
    r"(?:raises|warns|match|search|compile|sub|assert\w*(?:Regexp?|In|Equals?|Logs)|startswith|endswith)"
)
"""Functions that compare texts with others."""
PHRASE = re.compile(r"cuda\s|\scuda", re.IGNORECASE)
PIECE = re.compile(
    r"(?P<prefix>[a-zA-Z]*)(?P<quote>'''|\"\"\"|'|\")(?P<said>(?:\\.|(?!(?P=quote)).)*)(?P=quote)", re.DOTALL
)
BRACES = re.compile(r"\{[^{}]*\}")
LABEL = 3
"""The lines of a comment that says what is done below; a longer one tells a story."""
PRAGMA = re.compile(r"#\s*(?:type:|noqa|pylint:|pragma|fmt:|isort:|mypy:|ruff:|flake8|agnostic:|!|-\*-|%%)")


@dataclass(frozen=True)
class Prose:
    """A text for people: where it stands, what it says, and the stretches of code that it is about.

    `says` has the characters of the file, with blanks for quotes and line ends, and NUL for code.
    """

    kind: str
    start: int
    says: str
    code: tuple[Span, ...]


def messages(file: File) -> Iterator[Prose]:
    """The messages that belong to a condition, and those that say what a call in them gives."""
    for node in file.syntax:
        match node:
            case ast.Call(func=func, args=[test, *others], keywords=keywords) if SKIPS.fullmatch(_last(func)):
                yield from _texts(file, [*others, *(one.value for one in keywords)], _asked(file, test))
            case ast.Call(func=ast.Attribute(attr="add_argument" | "option"), keywords=keywords):
                texts = [one.value for one in keywords if one.arg == "help"]
                yield from _texts(file, texts, (span(file, node),))
            case ast.Assert(test=test, msg=ast.expr() as message):
                yield from _texts(file, [message], (*_asked(file, test), span(file, message)))
            case ast.If(test=test, body=body, orelse=orelse):
                for statement in (*body, *orelse):
                    yield from _texts(file, _said(statement), (*_asked(file, test), span(file, statement)))
            case ast.Expr():
                yield from _texts(file, _said(node), (span(file, node),))


def _last(func: ast.expr) -> str:
    """The last part of a dotted name."""
    match func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _said(statement: ast.stmt) -> list[ast.expr]:
    """What a statement tells a person."""
    match statement:
        case ast.Raise(exc=ast.Call(args=args)):
            return args
        case ast.Expr(value=ast.Call(func=func, args=args)) if SAYS.fullmatch(_last(func)):
            return args
    return []


def _asked(file: File, test: ast.expr) -> tuple[Span, ...]:
    """A condition, and where the variables in it are set to what they stand for."""
    spans = [span(file, test)]
    for node in ast.walk(test):
        if isinstance(node, ast.Name):
            spans += [span(file, one) for one in _set(file).get(node.id, ())]
    return tuple(spans)


def _set(file: File) -> dict[str, list[ast.Assign]]:
    """The assignments of each variable."""
    if "assignments" not in file.facts:
        known: dict[str, list[ast.Assign]] = {}
        for node in file.syntax:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                known.setdefault(node.targets[0].id, []).append(node)
        file.facts["assignments"] = known
    return file.facts["assignments"]


def _texts(file: File, values: list[ast.expr], code: tuple[Span, ...]) -> Iterator[Prose]:
    for value in values:
        if "cuda" not in file.text[slice(*span(file, value))].lower():
            continue
        match value:
            case ast.BinOp(left=ast.Constant() | ast.JoinedStr() as left):  # `"..." % x`, `"..." + x`
                value = left
            case ast.Call(func=ast.Attribute(value=ast.Constant() as template, attr="format")):
                value = template
        if isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            start, end = span(file, value)
            says = _spoken(file.text[start:end])
            if says:
                yield Prose("message", start, says, code)


def _spoken(source: str) -> str:
    """What a literal says, or several joined; empty if its parts cannot be told apart."""
    says, at = "", 0
    for piece in PIECE.finditer(source):
        said = re.sub(r"\\[ntr]", "  ", piece["said"])
        if "f" in piece["prefix"].lower():
            while (shorter := BRACES.sub(lambda found: "\0" * len(found[0]), said)) != said:
                said = shorter
        if re.sub(r"#.*", "", source[at : piece.start()]).strip(" \t\r\n\\()"):
            return ""
        says += " " * (piece.start("said") - at) + re.sub(r"\s", " ", said) + " " * len(piece["quote"])
        at = piece.end()
    return "" if source[at:].strip() else says


def comments(file: File) -> Iterator[Prose]:
    """The comments at the end of a line of code, and those right above one."""
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(file.text, newline="").readline)]
    except (tokenize.TokenError, SyntaxError):
        return
    heads = _heads(file)
    block: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type != tokenize.COMMENT:
            continue
        row, column = token.start
        if token.line[:column].strip():
            at = file.lines[row - 1]
            yield from _comment(file, [token], (at, at + column))
            continue
        block = [*block, token] if block and block[-1].start == (row - 1, column) else [token]
        below = file.text_of_line(row + 1).strip() if row < len(file.lines) else ""
        if below and not below.startswith("#"):
            at = file.lines[row]
            yield from _comment(file, block, heads.get(row + 1, (at, at + len(file.text_of_line(row + 1)))))


def _comment(file: File, block: list[tokenize.TokenInfo], code: Span) -> Iterator[Prose]:
    start = file.lines[block[0].start[0] - 1] + block[0].start[1]
    end = file.lines[block[-1].end[0] - 1] + block[-1].end[1]
    if len(block) <= LABEL and not any(PRAGMA.match(token.string) for token in block):
        says = re.sub(r"(?m)^[ \t]*#+", lambda found: " " * len(found[0]), file.text[start:end])
        yield Prose("comment", start, re.sub(r"\s", " ", says), (code,))


def _heads(file: File) -> dict[int, Span]:
    """The statement that begins on a row; of a compound one only what stands above its body."""
    heads: dict[int, Span] = {}
    for node in file.syntax:
        if isinstance(node, ast.stmt):
            start, end = _whole(file, node)
            body = getattr(node, "body", None)
            heads.setdefault(file.line_at(start), (start, _whole(file, body[0])[0] if body else end))
    return heads


def _whole(file: File, statement: ast.stmt) -> Span:
    """Where a statement stands with its decorators."""
    first = next(iter(getattr(statement, "decorator_list", ())), statement)
    return span(file, first)[0], span(file, statement)[1]


def compared(file: File) -> set[str]:
    """The phrases about CUDA that are compared with other texts, in lower case."""
    if "compared" not in file.facts:
        file.facts["compared"] = {
            one.value.lower()
            for node in file.syntax
            for one in _compared(node)
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and PHRASE.search(one.value)
        }
    return file.facts["compared"]


def _compared(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Call(func=func, args=args, keywords=keywords):
            patterns = [one.value for one in keywords if one.arg == "match"]
            return [*patterns, *args] if COMPARES.fullmatch(_last(func)) else patterns
    return []


def span(file: File, node: ast.expr | ast.stmt) -> Span:
    """Where a node stands in the text, the decorators of a statement left out."""
    ends = (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
    places = []
    for row, column in ends:
        line = file.text_of_line(row)
        places.append(file.lines[row - 1] + (column if line.isascii() else len(line.encode()[:column].decode())))
    return places[0], places[1]
