"""The device at a place: one that is in scope, the project's own, or one made for the file, once.

Reviewers take a variable, and refuse the same long expression at each site.
"""

from __future__ import annotations

import ast
import re

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit
from codemods.knowledge.device import Device, Kind, expression, project_device, type_expression
from codemods.knowledge.guard import implies
from codemods.knowledge.profile import guess, own_imports
from codemods.knowledge.scope import in_scope
from codemods.knowledge.spell import import_edit, root, torch_import

SITE = re.compile(
    r"^(?![ \t]*(?:#|from|import)\b).*?(?:\.cuda\b|[\"']cuda|[\"']nccl"
    r"|(?<![\w.])cuda\.|autocast|GradScaler|custom_[fb]wd|\bdevice_ids=\[)",
    re.MULTILINE,
)
"""A line that may need a device."""
NEEDS_TYPE = re.compile(r"\b(?:init_device_mesh|DeviceMesh)\(\s*(?:device_type\s*=\s*)?[\"']cuda[\"']")
"""What takes no torch.device, so that a variable for the device's type serves all places."""
PROGRAM = re.compile(r"^if __name__ == ", re.MULTILINE)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TESTS = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_\w+|\w+_test|conftest)\.py$")


CHOOSES = re.compile(r"environ\b.*CUDA_VISIBLE_DEVICES[\"']\]?\s*(?:=(?!=)|,)|putenv\(\s*[\"']CUDA_VISIBLE_DEVICES")


def too_early(file: File) -> str:
    """Why a question for the device may come too soon: the file chooses which devices there are, some time later."""
    return "CUDA_VISIBLE_DEVICES may be set after this asks for the device" if CHOOSES.search(file.text) else ""


def device_at(file: File, node: cst.CSTNode) -> Device:
    """The device to use at a node, with the edits that bring it there."""
    return in_scope(file, node) or project_device(file, node) or _hoisted(file, node)


def _hoisted(file: File, node: cst.CSTNode) -> Device:
    """One `device = ...` in the function that needs it, or for the whole module."""
    torch, edits = root(file, node)
    profile = file.profile
    if profile.expression:
        name = _free_name((profile.constant,), _bound_names(file))
        made = _module_edits(file, f"{name} = {profile.expression}{file.newline}", edits)
        unsafe = guess(file, profile.expression)
        return Device(name, profile.device_kind, unsafe, (*own_imports(file, profile.expression), *made), torch)
    kind: Kind = "type" if NEEDS_TYPE.search(file.text) else "device"
    write = type_expression if kind == "type" else expression
    usual = "device_type" if kind == "type" else "device"
    place = _place_in_function(file, node)
    if place is None and file.function(node) is not None and _block_with_torch(file, node) is not None:
        return Device(f"({expression(file, node, torch)})", "device", too_early(file), edits, torch)
    if place is None:
        hidden = {usual} if _hides(file, node) else set()
        name = _free_name((usual, usual.upper(), "ACCELERATOR"), _bound_names(file) | hidden)
        return Device(
            name,
            kind,
            "no device is known yet while this module is imported" if profile.late_devices else too_early(file),
            _module_edits(file, f"{name} = {write(file, file.module, torch)}{file.newline}", edits),
            torch,
        )
    name = _free_name((usual, f"accelerator_{usual}"), _names_in(file, place))
    at = file.lines[above_comments(file, file.line_at(_start(file, place))) - 1]
    line = f"{file.indent(place)}{name} = {write(file, place, torch)}{file.newline}"
    if isinstance(place, (cst.FunctionDef, cst.ClassDef)):
        line += file.newline
    return Device(name, kind, too_early(file), (*edits, Edit(at, at, line)), torch)


def _hides(file: File, node: cst.CSTNode) -> bool:
    """Whether a later line of the function around a node may get a device of its own, under the usual name.

    That is so for a node on a line that does not look as if it needed one.
    """
    function, row = _outermost(file, node), file.line(node)
    if function is None or row in _sites(file):
        return False
    return any(site > row for site in _within(file, function.body, _sites(file)))


def above_comments(file: File, row: int) -> int:
    """The first line of the comments that stand right above a line and belong to it; the line itself if none do."""
    indent = re.match(r"[ \t]*", file.text_of_line(row))
    comment = re.compile(rf"{indent[0] if indent else ''}#")
    while row > 1 and comment.match(file.text_of_line(row - 1)):
        row -= 1
    return row


def _free_name(wanted: tuple[str, ...], taken: set[str]) -> str:
    """The first of these names, with `_` in front if it must be, that is not taken."""
    return next(name for name in [*wanted, *(f"_{name}" for name in wanted)] if name and name not in taken)


def _bound_names(file: File) -> set[str]:
    """Every name that anything in the file binds."""
    if "bound names" not in file.facts:
        taken = file.facts["bound names"] = set()
        for node in file.syntax:
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                    taken.add(name)
                case ast.alias(name=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    taken.add(name)
    return file.facts["bound names"]


def _names_in(file: File, place: cst.CSTNode) -> set[str]:
    """Every variable of the outermost function around a place: a name that it reads must not become a local one."""
    row = file.line(place)
    found: set[str] = set()
    for statement in file.syntax:
        if isinstance(statement, _FUNCTIONS) and statement.lineno <= row <= (statement.end_lineno or 0):
            for node in ast.walk(statement):
                match node:
                    case ast.Name(id=name) | ast.arg(arg=name) | ast.alias(asname=str(name)) | ast.alias(name=name):
                        found.add(name)
                    case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                        found.add(name)
                    case ast.Global(names=names) | ast.Nonlocal(names=names):
                        found.update(names)
                    case (
                        ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name))
                    ):
                        found.add(name)
    return found


def _sites(file: File) -> list[int]:
    """The lines that may need a device; text in the place of a statement is documentation, and needs none."""
    if "sites" not in file.facts:
        texts = [one for one in file.syntax if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)]
        prose = {row for text in texts for row in range(text.lineno, (text.end_lineno or 0) + 1)}
        rows = [file.line_at(match.start()) for match in SITE.finditer(file.text)]
        file.facts["sites"] = [row for row in rows if row not in prose]
    return file.facts["sites"]


def _place_in_function(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    """The first statement of a function that needs a device, in the guard that all those that do stand under.

    None where the module is the better place: outside of functions, and in programs and tests of several functions.
    What a library asks of a driver when it is imported is asked in every process.
    """
    function = _outermost(file, node)
    if function is None or not isinstance(function.body, cst.IndentedBlock):
        return None
    block, sites = function.body, _within(file, function.body, _sites(file))
    start = _block_with_torch(file, node)
    if start is not None:
        block, sites = start, [row for row in _within(file, start, sites) if row >= _row_of_torch(file, node)]
    elif len(sites) < len(_sites(file)) and not file.profile.late_devices and not _is_library(file):
        return None
    while True:
        first = next((one for one in block.body if _within(file, one, sites)), None)
        if first is None or file.line_at(_start(file, first)) > file.line(node) or file.indent(first).strip():
            return None
        if not (
            isinstance(first, cst.If) and isinstance(first.body, cst.IndentedBlock) and file.inside(node, first.body)
        ):
            return first
        inner = _within(file, first.body, sites)
        header = range(file.line(first), file.line(first.body.body[0]))
        if not implies(file, first.test) or any(site not in header and site not in inner for site in sites):
            return first
        block, sites = first.body, inner


def _row_of_torch(file: File, node: cst.CSTNode) -> int:
    """The line that imports torch for a node."""
    _, statement = torch_import(file, node)
    return file.line(statement) if statement is not None and file.function(statement) is not None else 0


def _block_with_torch(file: File, node: cst.CSTNode) -> cst.IndentedBlock | None:
    """The block in which `torch` is certainly there; None if it is so in the whole file.

    That is the one with the import, if it stands in a function, and the innermost one if the file does without torch.
    """
    _, statement = torch_import(file, node)
    home = file.parent(statement) if statement is not None else None
    if home is None or isinstance(home, cst.Module):
        return None
    if isinstance(home, cst.IndentedBlock) and home in file.ancestors(node):
        return home
    return next((one for one in file.ancestors(node) if isinstance(one, cst.IndentedBlock)), None)


def _within(file: File, node: cst.CSTNode, sites: list[int]) -> list[int]:
    """Those of the lines that a node covers."""
    start = _start(file, node.body[0] if isinstance(node, cst.IndentedBlock) else node)
    end = file.span(node)[1]
    return [site for site in sites if file.line_at(start) <= site <= file.line_at(max(start, end - 1))]


def _start(file: File, node: cst.CSTNode) -> int:
    """Where a statement begins, with its decorators."""
    decorators = node.decorators if isinstance(node, (cst.FunctionDef, cst.ClassDef)) else ()
    return min(file.span(one)[0] for one in (node, *decorators))


def _outermost(file: File, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The outermost function in whose body a node stands."""
    function = outer = file.function(node)
    while outer is not None:
        function, outer = outer, file.function(outer)
    return function


def _is_library(file: File) -> bool:
    """Whether a file is there to be imported."""
    return not PROGRAM.search(file.text) and not TESTS.search(file.path.as_posix())


def _module_edits(file: File, text: str, imports: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Behind the imports that stand before the first place that needs it."""
    sites = _sites(file)
    row = 0
    for statement in file.ast.body:
        first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
        if any(first <= site <= (statement.end_lineno or 0) for site in sites) and not _imports(statement):
            break
        if _imports(statement):
            row = statement.end_lineno or 0
    if not row:
        place = import_edit(file, "")
        added = "".join(edit.text for edit in imports)
        text = f"{added}{file.newline if added else place.text}{text}{file.newline}"
        return (Edit(place.start, place.end, text),)
    at = file.lines[row] if row < len(file.lines) else len(file.text)
    blank = "" if file.text[at:].lstrip(" \t")[:1] in "\r\n" else file.newline
    return (*imports, Edit(at, at, f"{file.newline}{text}{blank}"))


def _imports(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return True
    return isinstance(statement, (ast.Try, ast.If)) and any(_imports(one) for one in statement.body)
