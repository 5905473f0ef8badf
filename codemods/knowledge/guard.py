"""What is known about the accelerator at a place: is the code reached only where there is one?"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File

AVAILABLE = {"torch.cuda.is_available", "torch.accelerator.is_available"}
OWN_IS_CUDA = re.compile(r"def is_cuda\b|\.is_cuda\s*(?::[^=\n]+)?=(?!=)")
"""An `is_cuda` that a file makes itself, and that may mean anything."""
COUNTS = {"torch.cuda.device_count", "torch.accelerator.device_count"}
REQUIRES = re.compile(
    r"requires?_(cuda|gpu|torch_gpu|torch_accelerator|accelerator|non_cpu|multi_accelerator|torch_multi_gpu)"
    r"|(cuda|gpu)_required|only(CUDA|Accelerator)|multi_gpu_test|large_gpu_test|skip_if_lt_x_gpu|mark\.gpu"
)
"""Decorators by which test suites say that a test needs an accelerator."""


def has_accelerator(file: File, node: cst.CSTNode) -> bool:
    """Whether a node is reached only where an accelerator is available."""
    if file.settings.assume_accelerator or file.profile.assume_accelerator:
        return True
    below = node
    for above in file.ancestors(node):
        match above:
            case cst.If(test=test, body=body, orelse=orelse) | cst.IfExp(test=test, body=body, orelse=orelse):
                if (below is body and implies(file, test)) or (below is orelse and implies(file, test, False)):
                    return True
            case cst.While(test=test, body=body) if below is body and implies(file, test):
                return True
            case cst.For(iter=iterable, body=body) if below is body and _counts(file, iterable):
                return True
            case cst.BaseComp(for_in=cst.CompFor(iter=iterable) as loop) if below is not loop and _counts(
                file, iterable
            ):
                return True
            case cst.BooleanOperation(left=left, operator=operator, right=right) if below is right:
                if implies(file, left, isinstance(operator, cst.And)):
                    return True
            case cst.IndentedBlock(body=statements) | cst.Module(body=statements):
                if any(_leaves_without(file, one) for one in statements[: list[cst.CSTNode](statements).index(below)]):
                    return True
            case cst.FunctionDef(decorators=decorators) | cst.ClassDef(decorators=decorators):
                if any(_requires(file, decorator.decorator) for decorator in decorators):
                    return True
        below = above
    return False


def implies(file: File, test: cst.BaseExpression, truth: bool = True, asked: frozenset[str] = frozenset()) -> bool:
    """Whether a test that came out as `truth` means that there is an accelerator.

    `asked` are the variables whose values are being looked at already.
    """
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            return implies(file, inner, not truth, asked)
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            either = isinstance(operator, cst.And) == truth
            found = implies(file, left, truth, asked), implies(file, right, truth, asked)
            return any(found) if either else all(found)
        case cst.Call(func=func) if file.name(func) in AVAILABLE:
            return truth
        case cst.Name(name) if name in asked:
            return True  # as far as its other values say so
        case cst.Name(name):
            return _all_imply(file, [binding.value for binding in file.bindings(test)], truth, asked | {name})
        case cst.Attribute(attr=cst.Name("is_cuda")) if not OWN_IS_CUDA.search(file.text):
            return truth
        case cst.Attribute(value=cst.Name()) if (attribute := file.source(test)) not in asked:
            return _all_imply(file, set_to(file, test), truth, asked | {attribute})
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
            return _compares(file, left, operator, right, truth)
    return False


def _all_imply(file: File, values: list[cst.BaseExpression | None], truth: bool, asked: frozenset[str]) -> bool:
    """Whether there are values, and all are known and mean that there is an accelerator."""
    return bool(values) and all(value is not None and implies(file, value, truth, asked) for value in values)


def set_to(file: File, attribute: cst.Attribute) -> list[cst.BaseExpression | None]:
    """What a file sets `args.cuda` to; nothing if it is the value of an option, too, or not every value is known."""
    if "attributes" not in file.facts:
        found = file.facts["attributes"] = defaultdict(list)
        for node in file.tree.nodes:
            match node:
                case cst.Assign(targets=[cst.AssignTarget(cst.Attribute() as target)], value=value):
                    found[file.source(target)].append(value)
        names = (one for one in file.syntax if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
        file.facts["stores"] = Counter(map(ast.unparse, names))
    name = file.source(attribute)
    values = file.facts["attributes"].get(name, [])
    option = rf"[\"'](--)?{attribute.attr.value}[\"']"
    return values if len(values) == file.facts["stores"][name] and not re.search(option, file.text) else []


def _compares(
    file: File, left: cst.BaseExpression, operator: cst.BaseCompOp, right: cst.BaseExpression, truth: bool
) -> bool:
    """`device.type == "cuda"`, `!= "cpu"`, and `device_count() > 0` the right way round."""
    value = file.string(right)
    if value == "cuda" and isinstance(operator, (cst.Equal, cst.NotEqual)):
        return isinstance(operator, cst.Equal) == truth
    if "backend" in file.source(left) and (value == "nccl" or file.source(right).endswith(".NCCL")):
        return isinstance(operator, cst.Equal) and truth
    if value == "cpu" and isinstance(operator, (cst.Equal, cst.NotEqual)):
        return isinstance(operator, cst.NotEqual) == truth
    if _is_count(file, left):
        match operator, right, truth:
            case (cst.GreaterThan(), cst.Integer(), True) | (cst.LessThan(), cst.Integer(), False):
                return True
            case (cst.GreaterThanEqual(), cst.Integer(number), True) | (cst.Equal(), cst.Integer(number), True):
                return number != "0"
            case (cst.Equal(), cst.Integer("0"), False) | (cst.NotEqual(), cst.Integer("0"), True):
                return True
    return False


def _counts(file: File, iterable: cst.BaseExpression) -> bool:
    """Whether a loop runs over the accelerators: `range(torch.cuda.device_count())`."""
    match iterable:
        case cst.Call(func=cst.Name("range"), args=[cst.Arg(value=count)]):
            return _is_count(file, count)
    return False


def _is_count(file: File, value: cst.BaseExpression | None) -> bool:
    match value:
        case cst.Call(func=func):
            return file.name(func) in COUNTS
        case cst.Name():
            values = [binding.value for binding in file.bindings(value)]
            return bool(values) and all(isinstance(one, cst.Call) and _is_count(file, one) for one in values)
    return False


LEAVES = {"pytest.skip", "sys.exit", "exit", "quit", "self.skipTest", "unittest.SkipTest"}


def leaves(file: File, block: cst.BaseSuite) -> bool:
    """Whether a block never goes on to what follows it."""
    if isinstance(block, cst.SimpleStatementSuite):
        return isinstance(block.body[-1], (cst.Return, cst.Raise, cst.Continue, cst.Break))
    suite = file.suite(block)
    match suite[-1] if suite else None:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return True
        case ast.Expr(value=ast.Call(func=func)):
            return ast.unparse(func) in LEAVES
    return False


def _leaves_without(file: File, statement: cst.CSTNode) -> bool:
    match statement:
        case cst.If(test=test, body=body):
            return implies(file, test, False) and leaves(file, body)
        case cst.SimpleStatementLine(body=[cst.Assert(test=test)]):
            return implies(file, test)
    return False


def _requires(file: File, decorator: cst.BaseExpression) -> bool:
    """Whether a decorator, or the mark it names, runs what it decorates only where there is an accelerator."""
    match decorator:
        case cst.Name():
            values = [binding.value for binding in file.bindings(decorator)]
            if len(values) == 1 and isinstance(values[0], cst.Call) and _requires(file, values[0]):
                return True
        case cst.Call(func=func, args=[cst.Arg(value=test), *_]):
            name = file.source(func)
            if name.endswith(("skipif", "skipIf")):
                return implies(file, test, False)
            if name.endswith("skipUnless"):
                return implies(file, test)
    return REQUIRES.search(file.source(decorator)) is not None


def is_not_none(file: File, value: cst.BaseExpression) -> bool:
    """Whether an expression is used under `if value:` or `if value is not None:`, alone or with other conditions, or
    behind an assertion of that."""
    text = file.source(value)
    below: cst.CSTNode = value
    for above in file.ancestors(value):
        if isinstance(above, (cst.If, cst.IfExp)) and below is above.body and _says_not_none(file, above.test, text):
            return True
        if isinstance(above, cst.IndentedBlock):
            for one in file.suite(above):
                if isinstance(one, ast.Assert) and one.lineno < file.line(value):
                    if ast.unparse(one.test) in (text, f"{text} is not None"):
                        return True
        below = above
    return False


def _says_not_none(file: File, test: cst.BaseExpression, text: str) -> bool:
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return _says_not_none(file, test.left, text) or _says_not_none(file, test.right, text)
    return file.source(test) in (text, f"{text} is not None")


def asks_for_cuda(file: File, node: cst.CSTNode) -> bool:
    """Whether a node is reached only where a condition names CUDA: `devices == ["cuda"] and ...`."""
    return any(True for _ in naming_cuda(file, node))


def naming_cuda(file: File, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The conditions that name CUDA and hold wherever a node is reached."""
    below = node
    for above in file.ancestors(node):
        match above:
            case cst.BooleanOperation(left=test, operator=cst.And(), right=right) if below is right:
                pass
            case cst.If(test=test, body=body) | cst.IfExp(test=test, body=body) if below is body:
                pass
            case _:
                below = above
                continue
        if re.search("[\"']cuda[\"']", file.source(test)):
            yield test
        below = above
