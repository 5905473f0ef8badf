"""A test for the CUDA device: `device.type == "cuda"` and its kin.

What the branch does decides. Where it holds code for any accelerator, the question is whether the device is one, so
that it is rewritten together with the branch:

```diff
  import torch
  def step(x):
-     if x.device.type == "cuda":
-         torch.cuda.synchronize()
+     if x.device.type != "cpu":
+         torch.accelerator.synchronize()
```

Where the branch is for CUDA only, it stays:

```diff
  import torch
  def step(x):
!     if x.device.type == "cuda":
!         return torch.cuda.CUDAGraph()
```

So does one that says by its words that CUDA is needed:

```diff
  import torch
  def offload(device):
!     if device.type != "cuda":
          raise RuntimeError("offloading needs CUDA")
```

A torch.device never equals a string, so that `x.device == "cuda"` is always false; that is reported and not repeated.

Fix safety: unsafe. Other accelerators take the branch, too, which is the purpose, but what it does may be for CUDA.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.availability import dependants, guards_switches, is_about_cuda
from codemods.device_string import imports_torch
from codemods.knowledge.guard import is_not_none, leaves
from codemods.knowledge.hoist import TESTS, device_at
from codemods.knowledge.slots import VENDORS

UNSAFE = "other accelerators take this branch too"
MESSAGE = "this asks for CUDA; ask whether the device is an accelerator, or for what the code needs"

ERROR = re.compile(r"\braise\b.*\bCUDA\b", re.DOTALL)
SETTINGS = re.compile(
    r"(?:args?|argv|cfg|conf|config|configuration|flags|hparams|opts?|options|settings)$", re.IGNORECASE
)
"""What people call the settings of a program."""
LIBRARY = re.compile(r"xformers|flash_?attn|bitsandbytes|\bapex\b|tensorrt", re.IGNORECASE)
"""Libraries for CUDA, which a test asks for together with the device."""


@rule("AGN303", "cuda")
def check(node: cst.Comparison | cst.Call | cst.MatchValue, file: File) -> Iterator[Finding]:
    if not imports_torch(file):
        return
    match node:
        case cst.MatchValue(value=literal) if file.string(literal) == "cuda":
            yield Finding(node, MESSAGE)
        case cst.Call(func=cst.Attribute(attr=cst.Name("startswith"), value=subject), args=[cst.Arg(value=literal)]):
            if _is_cuda(file, literal):
                yield _finding(file, node, (_negated(file, node), file.replace(literal, '"cpu"')), subject)
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
            yield from _comparison(file, node, left, operator, right)


def _comparison(
    file: File, node: cst.Comparison, left: cst.BaseExpression, operator: cst.BaseCompOp, right: cst.BaseExpression
) -> Iterator[Finding]:
    match operator:
        case cst.Equal() | cst.NotEqual():
            subject, literal = (right, left) if _is_cuda(file, left) else (left, right)
            if _is_cuda(file, literal):
                if (
                    isinstance(subject, cst.Attribute)
                    and subject.attr.value == "device"
                    and not _is_setting(file, subject)
                ):
                    yield Finding(
                        node, "a torch.device never equals a string, so this is always false; compare `.type`"
                    )
                    return
                expected = device_at(file, node) if _is_asserted(file, node) else None
                own = rf"(?<![\w.]){re.escape(expected.text)}\b" if expected is not None else ""
                if expected is not None and not re.search(own, file.source(subject)):
                    edits = (*expected.edits, file.replace(literal, expected.type))
                    yield _finding(file, node, edits, subject)
                    return
                stripped = _stripped(file, node)
                sign = "!=" if isinstance(operator, cst.Equal) != bool(stripped) else "=="
                edits = (*stripped, file.replace(literal, '"cpu"'), Edit(*_between(file, left, right), f" {sign} "))
                yield _finding(file, node, edits, subject)
            elif _is_device(file, left) or _is_device(file, right):
                yield Finding(node, MESSAGE)
        case cst.In() | cst.NotIn():
            if _is_cuda(file, left):
                if isinstance(right, cst.Call) and file.source(right.func) == "str" and len(right.args) == 1:
                    sign = "!=" if isinstance(operator, cst.In) else "=="
                    device = file.source(right.args[0].value)
                    if device.endswith(".device") and not SETTINGS.search(device.removesuffix(".device")):
                        yield _finding(file, node, (file.replace(node, f'{device}.type {sign} "cpu"'),), right)
                        return
                stripped = _stripped(file, node)
                sign = "not in" if isinstance(operator, cst.In) != bool(stripped) else "in"
                edits = (*stripped, file.replace(left, '"cpu"'), Edit(*_between(file, left, right), f" {sign} "))
                yield _finding(file, node, edits, right)
            elif isinstance(right, (cst.Tuple, cst.List, cst.Set)):
                names = [file.string(one.value) for one in right.elements]
                if "cuda" in names and len(set(map(str, names)) & VENDORS - {"cpu"}) < 2:
                    yield Finding(node, "this list of devices leaves other accelerators out")


def _finding(file: File, node: cst.BaseExpression, edits: tuple[Edit, ...], subject: cst.BaseExpression) -> Finding:
    if (
        not _named_device(file, subject)
        or _lists(file, node, subject)
        or is_about_cuda(file, node)
        or _states_requirement(file, node)
        or _may_be_none(file, subject)
        or _adds_index(file, node, subject)
        or _is_one_of_several(file, node, subject)
        or _names_others(file, node, subject)
        or guards_switches(file, file.statement(node))
    ):
        return Finding(node, MESSAGE)
    _, together = dependants(file, node)
    return Finding(node, MESSAGE, edits, UNSAFE, together)


def _may_be_none(file: File, subject: cst.BaseExpression) -> bool:
    """Whether it is a parameter that is None by default, which is not the CPU either."""
    if not isinstance(subject, cst.Name) or is_not_none(file, subject):
        return False
    bindings = file.bindings(subject)
    defaults = [one.node.default for one in bindings if isinstance(one.node, cst.Param)]
    return len(bindings) == 1 and any(isinstance(one, cst.Name) and one.value == "None" for one in defaults)


def _adds_index(file: File, node: cst.CSTNode, subject: cst.BaseExpression) -> bool:
    """Whether the branch makes another device of one without an index."""
    for above in file.ancestors(node):
        if isinstance(above, cst.If):
            stores = [one for line in file.suite(above.body) for one in ast.walk(line) if isinstance(one, ast.Assign)]
            name = file.source(subject).removesuffix(".type")
            return any(ast.unparse(one.targets[0]) == name for one in stores)
    return False


def _is_one_of_several(file: File, node: cst.CSTNode, subject: cst.BaseExpression) -> bool:
    """Whether a later test asks the same device for something else, which now comes too late."""
    test = next((above for above in file.ancestors(node) if isinstance(above, (cst.If, cst.IfExp))), None)
    if test is None:
        return False
    # A choice between two values counts its own question, too, so that it is reported and stays.
    later = _otherwise(file, test) if isinstance(test, cst.If) else file.source(test)
    owner = re.escape(file.source(subject).removesuffix(".type").removesuffix(".device"))
    asked = rf"(?<![\w.]){owner}(?:\.device)?(?:\.type)?\s*(?:==|!=|in\b|not in\b)\s*[(\[{{]?\s*[\"'](?!cpu[\"'])"
    return re.search(rf"{asked}|(?<![\w.]){owner}\.is_(?!cuda|cpu)\w+", later) is not None


def _names_others(file: File, node: cst.CSTNode, subject: cst.BaseExpression) -> bool:
    """Whether what is done without CUDA goes by the name of the device: `f"MULTI_{device_type.upper()}"`."""
    test = file.statement(node)
    name = re.escape(file.source(subject))
    spelled = rf"(?<![\w.]){name}\.(?:upper|capitalize|title)\("
    return isinstance(test, cst.If) and re.search(spelled, _otherwise(file, test)) is not None


def _otherwise(file: File, test: cst.If) -> str:
    """The code that runs where a test does not hold, with what follows a branch that leaves.

    It is read as text, since a statement without CUDA in it is not parsed.
    """
    row = file.line(test)
    own = next(one for one in file.syntax if isinstance(one, ast.If) and one.lineno == row)
    block = file.parent(test)
    rest: list[ast.stmt] = []
    if leaves(file, test.body) and isinstance(block, (cst.IndentedBlock, cst.Module)):
        around = file.ast.body if isinstance(block, cst.Module) else file.suite(block)
        rest = [one for one in around if one.lineno > row]
    return "\n".join(ast.unparse(one) for one in (*own.orelse, *rest))


def _states_requirement(file: File, node: cst.BaseExpression) -> bool:
    """Whether the words beside a test say that CUDA is needed: a library that has nothing else, or an error.

    An error is about the calls that follow it, if there are any; then they decide.
    """
    for above in file.ancestors(node):
        match above:
            case cst.Decorator():
                return LIBRARY.search(file.source(above)) is not None
            case cst.If(body=body) if leaves(file, body):
                block = file.parent(above)
                rest = file.text[file.span(above)[1] : file.span(block)[1]] if block is not None else ""
                says = ERROR.search("".join(ast.unparse(one) for one in file.suite(body)))
                return says is not None and "cuda" not in rest
            case cst.BaseCompoundStatement():
                return False
    return False


def _lists(file: File, node: cst.BaseExpression, subject: cst.BaseExpression) -> bool:
    """Whether a condition goes on to ask the same device for other kinds: `d == "cuda" or d == "mps"`."""
    whole = node
    for above in file.ancestors(node):
        if not isinstance(above, cst.BooleanOperation):
            break
        whole = above
    kinds = "|".join(sorted(VENDORS - {"cuda"}))
    asked = (
        rf"(?<![\w.]){re.escape(file.source(subject))}\s*(?:==|!=|(?:not\s+)?in\b)\s*[(\[{{]?\s*[\"'](?:{kinds})[\"']"
    )
    return re.search(asked, file.source(whole)) is not None


def _named_device(file: File, subject: cst.BaseExpression) -> bool:
    """Whether what is compared says that it is a device."""
    text = file.source(subject).lower()
    return text.endswith(("device", "device_type", "device_name", ".type", "device)")) or text in ("dev", "accelerator")


def _is_setting(file: File, subject: cst.Attribute) -> bool:
    """Whether a `device` is a word of a configuration: that of `args.device`, and none of a tensor or module."""
    return SETTINGS.search(file.source(subject.value)) is not None


def _is_asserted(file: File, node: cst.Comparison) -> bool:
    """Whether a test expects the comparison to hold, so that it says which device is expected.

    Elsewhere an assertion says what is required, which any accelerator may be.
    """
    function = file.function(node)
    is_test = TESTS.search(file.path.as_posix()) or (function is not None and function.name.value.startswith("test"))
    for above in file.ancestors(node):
        match above:
            case cst.Assert() if is_test:
                return True
            case cst.Call(func=cst.Attribute(attr=cst.Name(name))) if name.startswith("assert"):
                return True
            case cst.BaseSmallStatement() | cst.BaseCompoundStatement():
                return False
    return False


def _negated(file: File, node: cst.Call) -> Edit:
    """Put `not` in front of a call, or take away the one that stands there."""
    start = file.span(node)[0]
    return next(iter(_stripped(file, node)), Edit(start, start, "not "))


def _stripped(file: File, node: cst.BaseExpression) -> tuple[Edit, ...]:
    """Take away the `not` right in front of an expression, if there is one."""
    above = file.parent(node)
    if isinstance(above, cst.UnaryOperation) and isinstance(above.operator, cst.Not) and not node.lpar:
        return (Edit(file.span(above)[0], file.span(node)[0], ""),)
    return ()


def _is_cuda(file: File, node: cst.BaseExpression) -> bool:
    return file.string(node) == "cuda"


def _is_device(file: File, node: cst.BaseExpression) -> bool:
    """Whether it is a CUDA device without an index, which no tensor is on; with one, the comparison is sound."""
    match node:
        case cst.Call(func=func, args=[cst.Arg(value=cst.SimpleString() as value)]):
            return file.name(func) == "torch.device" and file.string(value) == "cuda"
    return False


def _between(file: File, left: cst.BaseExpression, right: cst.BaseExpression) -> tuple[int, int]:
    """The text between two operands: the operator and the spaces around it."""
    start = file.span(left)[1] + _parentheses(file, left)
    end = file.span(right)[0]
    while file.text[end - 1] == "(":
        end -= 1
    return start, end


def _parentheses(file: File, node: cst.BaseExpression) -> int:
    end = file.span(node)[1]
    after = end
    for _ in node.rpar:
        after = file.text.index(")", after) + 1
    return after - end
