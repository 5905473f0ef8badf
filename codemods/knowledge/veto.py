"""Places where nothing is changed, whatever the rules find there."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

import libcst as cst

from agnostic.file import File
from codemods.knowledge.ladder import vendors
from codemods.knowledge.spell import torch_import

SCRIPTED = {"torch.jit.script", "torch.jit.script_method", "torch.jit.export"}
CUDA_CLASS = re.compile(
    r"_*(CUDA|Cuda|NCCL|Nccl)\w*(Accelerator|Backend|Communicator|Executor|Graph\w*|Interface|Platform\w*)"
)
"""Names of classes that are one implementation among others."""

LIBRARY = "CUDAExecutionProvider"
"""How ONNX Runtime is told to use CUDA."""


FAILS = re.compile(r"raises\w*\(\s*AssertionError|raises\w*\(.*CUDA|raises\w*\(.*cuda", re.DOTALL | re.IGNORECASE)
PATCHED = re.compile(
    r"(?:setattr|object|delattr)\(\s*torch\.cuda\s*,\s*[\"'](\w+)|^[ \t]*torch\.cuda\.(\w+)\s*=(?!=)", re.MULTILINE
)
OLD = re.compile(r"\bhasattr\(\w+, [\"']accelerator[\"']\)")
OWN = re.compile(r"\bis_(?:torch_)?cuda(?:_available)?\(\)")
"""The project's own question for CUDA."""
KERNELS = ("cuda", "cutlass", "pycuda")
"""Packages for writing CUDA kernels; a file that cannot be imported without one is for CUDA."""


def veto(file: File, node: cst.CSTNode) -> str:
    """Why nothing may be changed at a node; empty if it may.

    TorchScript knows `torch.cuda` and no `torch.accelerator` (torch 2.13). A class that is called CUDA is one
    implementation among others, and a function called `cuda` moves there by contract if there are others. Fake tensors need no device, so
    that their literals mean what they say. What only type checkers read has no device at all. What is left for CUDA
    after the questions for other vendors is its own, and so is what a CUDA-only library is told, what stands behind
    the project's own question for CUDA, a file of kernels, and the branch for a torch without `torch.accelerator`.
    """
    if package := _kernels(file):
        return f"this file is for CUDA: it needs `{package}`"
    if not _has_torch(file, node):
        return "`torch` is not there yet, for type checkers only, or something else"
    if any(f"torch.cuda.{name}" in file.source(node) for name in _patched(file)):
        return "this file puts something else in the place of this function of CUDA"
    below = node
    for above in file.ancestors(node):
        match above:
            case cst.With(items=items) if any(FAILS.search(file.source(item)) for item in items):
                return "this expects an error of CUDA's"
            case cst.Try(body=body, handlers=handlers) if below is body and _finds_out(file, body, handlers):
                return "this finds out whether CUDA works"
            case cst.If(test=test, body=body) | cst.IfExp(test=test, body=body) if below is body and _is_own(
                file, test
            ):
                return f"`{file.source(test)}` asks for CUDA"
            case cst.If(test=test, body=body) | cst.IfExp(test=test, body=body) if below is body and (
                others := _others(file, test)
            ):
                return f"this is for {' and '.join(sorted(others))}, beside CUDA"
            case cst.If(test=test, orelse=cst.Else() as rest) | cst.IfExp(test=test, orelse=rest) if below is rest:
                if OLD.search(file.source(test)):
                    return "this is for a torch without `torch.accelerator`"
                if others := vendors(file.source(test)) - {"cuda", "cpu"}:
                    return f"what is left after asking for {' and '.join(sorted(others))} is for CUDA"
            case cst.FunctionDef(decorators=decorators) if any(_is_scripted(file, one) for one in decorators):
                return "TorchScript has no `torch.accelerator`"
            case cst.FunctionDef(name=cst.Name(name)) | cst.ClassDef(name=cst.Name(name)) if name in _scripted(file):
                return "TorchScript has no `torch.accelerator`"
            case cst.ClassDef(name=cst.Name(name)) if CUDA_CLASS.fullmatch(name):
                return f"`{name}` is the implementation for CUDA, by its name"
            case cst.FunctionDef(name=cst.Name("cuda")) if _has_siblings(file, above):
                return "`cuda` is about CUDA by its name, beside a way to other devices"
            case cst.FunctionDef(name=cst.Name(name)) if other := _counterpart(file, name):
                return f"`{name}` is about CUDA, beside `{other}`"
            case cst.If(test=test, body=body) if below is body and file.source(test).endswith("TYPE_CHECKING"):
                return "type checkers read this, and it never runs"
            case cst.With(items=items) if any("fake" in file.source(item).lower() for item in items):
                return "fake tensors need no device of their kind"
            case cst.FunctionDef() if LIBRARY in file.text and LIBRARY in file.source(above):
                return f"`{LIBRARY}` beside it means CUDA"
        below = above
    return ""


def _has_torch(file: File, node: cst.CSTNode) -> bool:
    """Whether the import of torch that counts at a node has run when the node is reached."""
    _, statement = torch_import(file, node)
    home = file.parent(statement) if statement is not None else None
    if statement is None:
        return not _does_without(file) and not any(
            "torch" in file.names.bound_in(one) for one in file.names.visible(node)
        )
    if home is None or isinstance(home, cst.Module):
        return True
    guard = file.parent(home)
    if isinstance(guard, cst.If) and file.source(guard.test).endswith("TYPE_CHECKING"):
        return False
    local = file.function(statement)
    return local is None or (home in file.ancestors(node) and file.line(statement) <= file.line(node))


def _does_without(file: File) -> bool:
    """Whether a file imports torch in functions only, so that it must not do so for all."""
    if "lazy torch" not in file.facts:
        imports = [one for one in file.syntax if isinstance(one, (ast.Import, ast.ImportFrom)) and _is_torch(one)]
        always = {id(one) for one in file.ast.body}
        file.facts["lazy torch"] = bool(imports) and not any(id(one) in always for one in imports)
    return file.facts["lazy torch"]


def _is_torch(statement: ast.Import | ast.ImportFrom) -> bool:
    names = [one.name for one in statement.names] if isinstance(statement, ast.Import) else [statement.module or ""]
    return any(name.partition(".")[0] == "torch" for name in names)


def _patched(file: File) -> set[str]:
    """The functions of `torch.cuda` that a file replaces by their objects."""
    if "patched" not in file.facts:
        found = PATCHED.findall(file.text)
        file.facts["patched"] = {name for names in found for name in names if name}
    return file.facts["patched"]


def _finds_out(file: File, body: cst.BaseSuite, handlers: Sequence[cst.ExceptHandler]) -> bool:
    """Whether a few statements are tried, and the answer is no if one of them fails."""
    tried = file.suite(body)
    answers = [file.suite(one.body)[:1] for one in handlers]
    return 0 < len(tried) <= 3 and any(
        isinstance(line, (ast.Return, ast.Assign))
        and isinstance(line.value, (ast.Constant, ast.UnaryOp))
        and ast.unparse(line.value) in ("False", "None", "0", "-1", "'cpu'")
        for lines in answers
        for line in lines
    )


def _has_siblings(file: File, method: cst.FunctionDef) -> bool:
    """Whether a function `cuda` is no method, or its class has methods for other devices, too."""
    owner = next((above for above in file.ancestors(method) if isinstance(above, cst.ClassDef)), None)
    return (
        owner is None or re.search(r"^\s+def (to|cpu|xpu|npu|mps|hpu)\(", file.source(owner), re.MULTILINE) is not None
    )


def _is_own(file: File, test: cst.BaseExpression) -> bool:
    text = file.source(test)
    return OWN.search(text) is not None and re.search(r"\b(?:not|or)\b", text) is None


def _counterpart(file: File, name: str) -> str:
    """The function of a file that does for another vendor what one does for GPUs: `need_two_xpus` to `need_two_gpus`."""
    if not re.search("gpu|cuda", name):
        return ""
    names = "|".join(re.escape(re.sub("gpu|cuda", vendor, name)) for vendor in ("xpu", "npu", "hpu", "mps"))
    found = re.search(rf"^[ \t]*def ({names})\(", file.text, re.MULTILINE)
    return found[1] if found else ""


def _others(file: File, test: cst.BaseExpression) -> set[str]:
    """The kinds of device other than CUDA that a branch is for, by the project's own question for them."""
    text = file.source(test)
    asked = vendors(text) if re.search(r"\w_available\(", text) else set()
    return set() if "cuda" in asked or re.search(r"\b(?:not|or)\b", text) else asked


def _kernels(file: File) -> str:
    """The package for CUDA kernels that a file imports in any case."""
    if "kernels" not in file.facts:
        names: list[str] = []
        for statement in file.ast.body:
            match statement:
                case ast.Import(names=aliases):
                    names += [alias.name for alias in aliases]
                case ast.ImportFrom(module="numba", names=aliases):
                    names += [alias.name for alias in aliases]
                case ast.ImportFrom(module=str(module), level=0):
                    names.append(module)
        file.facts["kernels"] = next((name for name in names if name.partition(".")[0] in KERNELS), "")
    return file.facts["kernels"]


def _scripted(file: File) -> set[str]:
    """The functions and classes that a file hands to `torch.jit.script`, or the classes of what it does."""
    if "scripted" not in file.facts:
        file.facts["scripted"] = set(re.findall(r"\bjit\.script\(\s*(\w+)", file.text))
    return file.facts["scripted"]


def _is_scripted(file: File, decorator: cst.Decorator) -> bool:
    expression = decorator.decorator
    return file.name(expression.func if isinstance(expression, cst.Call) else expression) in SCRIPTED
