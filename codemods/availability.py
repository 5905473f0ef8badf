"""`torch.cuda.is_available()` as the question whether there is an accelerator.

What follows from the answer decides: the question becomes generic together with everything that depends on it, or
not at all. A half-migrated guard would be worse than none:

```diff
  import torch
- if torch.cuda.is_available():
-     torch.cuda.synchronize()
+ if torch.accelerator.is_available():
+     torch.accelerator.synchronize()
  if fast:
!     if torch.cuda.is_available():
!         graph = torch.cuda.CUDAGraph()
```

The same holds for a variable that keeps the answer, for a test that is skipped without it, and for the rest of a
function that is left without it. `torch.cuda.is_available` without the call is always true, and reported.

Fix safety: safe, as far as what depends on it is. Unsafe where the answer leaves the place: returned, or kept in an
attribute.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from agnostic.config import version
from agnostic.file import File
from agnostic.rule import Finding, rule
from agnostic.tree import children
from codemods.knowledge.guard import leaves, naming_cuda
from codemods.knowledge.ladder import vendors
from codemods.knowledge.spell import spell
from codemods.knowledge.uses import call_of, is_reference, patches

SWITCH = re.compile(r"\b(?:torch\.backends\.cud|cudnn\.)[\w.]*")
SKIPS = re.compile(r"(skipif|skipIf|skipUnless)$")
VENDOR_NAME = re.compile(r"cuda|rocm|hip(?![a-z])|nvidia", re.IGNORECASE)
ABOUT = re.compile(
    r"\btorch\.version\.(?:cuda|hip)\b|\bcudnn\b|(?<![\w.])\w*(?:cuda|rocm|nvidia)\w*(?=\()"
    r"|capability|(?<![a-z])sm_?(?:\d\d|at_least)",
    re.IGNORECASE,
)
"""What only CUDA or ROCm answers: questions for the build, and for compute capabilities in any words."""
AWAY = "the answer is used elsewhere, where it may stand for CUDA itself"


@rule("AGN302", "cuda")
def check(node: cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    if file.name(node) != "torch.cuda.is_available" or not is_reference(file, node):
        return
    call = call_of(file, node)
    if call is None:
        if isinstance(file.parent(node), (cst.UnaryOperation, cst.BooleanOperation, cst.If, cst.IfExp)):
            yield Finding(node, "`torch.cuda.is_available` is not called here, so that it is always true")
            return
    text, edits = spell(file, "torch.accelerator.is_available", node)
    unsafe, together = dependants(file, call or node)
    together = (*together, *naming_cuda(file, node), *patches(file, "torch.cuda.is_available"))
    unsafe = unsafe or _means_cuda(file, node)
    message = "`torch.cuda.is_available` asks for CUDA; use `torch.accelerator.is_available` (torch 2.7)"
    statement = file.statement(node)
    if (
        file.torch < version("2.6")
        or _is_one_of_several(file, node, statement)
        or guards_switches(file, statement)
        or _says_cuda(file, node)
    ):
        yield Finding(node, message)
    else:
        yield Finding(node, message, (*edits, file.replace(node, text)), unsafe, together)


def _is_one_of_several(file: File, node: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Whether other vendors are asked for beside CUDA, in the same condition or after a variable with the answer."""
    match statement:
        case cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(cst.Name(name))])]):
            for one in file.syntax:
                match one:
                    case ast.If(test=ast.Name(id=asked), orelse=[ast.If(test=other)]) if asked == name:
                        if vendors(ast.unparse(other)) - {"cuda"}:
                            return True
    whole = statement if isinstance(statement, cst.SimpleStatementLine) else _whole(file, node)
    return len(vendors(file.source(whole))) > 1


def guards_switches(file: File, statement: cst.CSTNode) -> bool:
    """Whether all that is CUDA's in a branch are switches of CUDA libraries, which nothing else needs."""
    if not isinstance(statement, cst.If):
        return False
    start, end = file.span(statement.body)
    rows = range(file.line_at(start), file.line_at(max(start, end - 1)) + 1)
    code = "\n".join(file.text_of_line(row).partition("#")[0] for row in rows)
    rest = SWITCH.sub("", code)
    return rest != code and "cuda" not in rest and "accelerator" not in rest


def _says_cuda(file: File, node: cst.CSTNode) -> bool:
    """Whether a question is asked on behalf of CUDA or ROCm alone: a function says so by its name and gives the
    answer, or the question is one half of another one, about the build or in the words of the project."""
    function = file.function(node)
    if function is not None and VENDOR_NAME.search(function.name.value) and dependants(file, _whole(file, node))[0]:
        return True
    return is_about_cuda(file, node)


def is_about_cuda(file: File, node: cst.CSTNode) -> bool:
    """Whether a condition also asks what only CUDA or ROCm answers: `... and not check_cuda_driver()`."""
    whole = _whole(file, node)
    return isinstance(whole, cst.BooleanOperation) and ABOUT.search(file.source(whole)) is not None


def _whole(file: File, node: cst.CSTNode) -> cst.BaseExpression:
    """The condition that a question is a part of."""
    whole = node
    for above in file.ancestors(node):
        if isinstance(above, (cst.BooleanOperation, cst.UnaryOperation, cst.Call)) and above is not whole:
            whole = above
        elif not isinstance(above, (cst.Attribute, cst.Name)):
            break
    assert isinstance(whole, cst.BaseExpression)
    return whole


def _means_cuda(file: File, node: cst.CSTNode) -> str:
    """Why a question may be about CUDA itself: the words beside it say so."""
    statement = file.statement(node)
    match statement:
        case cst.SimpleStatementLine(body=[cst.Assert(msg=message)]) if message is not None:
            if "cuda" in file.source(message).lower():
                return "the message says that CUDA is meant"
    return ""


def dependants(
    file: File, answer: cst.BaseExpression, kept: frozenset[str] = frozenset()
) -> tuple[str, tuple[cst.CSTNode, ...]]:
    """What must be generic as well if an answer becomes so: (why that is not certain, the code that depends).

    `kept` are the variables that hold the answer and are being followed already.
    """
    unsafe, found = _dependants(file, answer, kept)
    return unsafe, tuple(piece for one in found for piece in _but_own(file, one))


def _dependants(file: File, answer: cst.BaseExpression, kept: frozenset[str]) -> tuple[str, tuple[cst.CSTNode, ...]]:
    below: cst.CSTNode = answer
    for above in file.ancestors(answer):
        match above:
            case cst.If(test=test, body=body, orelse=orelse) if below is test:
                rest = _rest(file, above) if leaves(file, body) else ()
                otherwise = () if orelse is None else (orelse,)
                return "", (test, body, *otherwise, *rest, *_classes(file, body))
            case cst.IfExp(test=test, body=body, orelse=orelse) if below is test:
                return "", (test, body, orelse)
            case cst.While(test=test, body=body) if below is test:
                return "", (test, body)
            case cst.Assert(test=test) if below is test:
                return "", (test, *_rest(file, file.statement(above)))
            case cst.Decorator():
                owner = file.parent(above)
                return "", (owner,) if owner is not None else ()
            case cst.Assign(targets=[cst.AssignTarget(cst.Name() as name)], value=value) if below is value:
                return _kept(file, above, name, kept)
            case cst.Return() | cst.Assign() | cst.AnnAssign() | cst.DictElement():
                return AWAY, (above,)
            case cst.Arg():
                call = file.parent(above)
                if not isinstance(call, cst.Call) or not SKIPS.search(file.source(call.func)):
                    return "", (above,)
            case cst.FormattedStringExpression():
                return "", (above,)
            case cst.BaseSmallStatement() | cst.BaseCompoundStatement():
                return "", ()
        below = above
    return "", ()


def _classes(file: File, body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The classes of this file that a branch makes objects of: a guard for a CUDA-only class is one for CUDA.

    The branch is read as text, since a statement without CUDA in it is not parsed.
    """
    start, end = file.span(body)
    rows = range(file.line_at(start), file.line_at(max(start, end - 1)) + 1)
    called = {name for row in rows for name in re.findall(r"\b(_*[A-Z]\w+)\(", file.text_of_line(row))}
    for name in sorted(called):
        for binding in file.names.bound_in(file.module).get(name, ()):
            if isinstance(binding.node, cst.ClassDef) and not file.inside(body, binding.node):
                yield binding.node


def _rest(file: File, statement: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """The statements that follow in the same block."""
    block = file.parent(statement)
    if isinstance(block, (cst.IndentedBlock, cst.Module)):
        at = list(block.body).index(statement)  # type: ignore[arg-type]
        return tuple(block.body[at + 1 :])
    return ()


def _but_own(file: File, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node, in pieces if it has to be, without the statements that ask for CUDA themselves: they are right anyway."""
    if "own questions" not in file.facts:
        file.facts["own questions"] = [one for one in file.tree.nodes if isinstance(one, cst.If) and _asks(file, one)]
    own = file.facts["own questions"]
    if node in own:
        return
    if not any(file.inside(one, node) for one in own):
        yield node
        return
    for below in children(node):
        yield from _but_own(file, below)


def _asks(file: File, statement: cst.If) -> bool:
    """Whether it is `if torch.cuda.is_available() and ...:`, and nothing before it and no `else` is about CUDA."""
    operands = [statement.test]
    while isinstance(operands[0], cst.BooleanOperation) and isinstance(operands[0].operator, cst.And):
        operands[:1] = [operands[0].left, operands[0].right]
    for operand in operands:
        if isinstance(operand, cst.Call) and file.name(operand.func) == "torch.cuda.is_available":
            return statement.orelse is None
        if "torch.cuda" in file.source(operand):
            break
    return False


def _kept(
    file: File, statement: cst.Assign, name: cst.Name, kept: frozenset[str]
) -> tuple[str, tuple[cst.CSTNode, ...]]:
    """Everything that a variable with the answer decides, be it the answer or a mark that skips tests by it."""
    if name.value == "pytestmark":
        return "", (file.module,)
    if name.value in kept:
        return "", (statement,)
    depends: list[cst.CSTNode] = [statement]
    unsafe = ""
    home = next(file.names.visible(name), file.module)
    for node in file.below(home):
        if isinstance(node, cst.Name) and node.value == name.value and node is not name and is_reference(file, node):
            why, found = dependants(file, node, kept | {name.value})
            unsafe = unsafe or why
            depends += found
    return unsafe, tuple(depends)
