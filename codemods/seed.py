"""Seeding the CUDA generators.

`torch.manual_seed` seeds the generators of every device, so that a second line beside it is not needed:

```diff
  import torch
  def seed_all(seed):
      torch.manual_seed(seed)
-     torch.cuda.manual_seed_all(seed)
  def seed_more(seed):
      torch.manual_seed(seed)
-     if torch.cuda.is_available():
-         torch.cuda.manual_seed_all(seed)
-     if args.cuda:
-         torch.cuda.manual_seed(seed)
      return seed
```

Alone, it goes through the device's module:

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- torch.cuda.manual_seed(0)
+ if torch.accelerator.is_available():
+     torch.get_device_module(device).manual_seed(0)
```

Fix safety: safe beside `torch.manual_seed` with the same seed. Unsafe alone: the module of a device need not have the
function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.device_module import module_of_device
from codemods.knowledge.guard import AVAILABLE
from codemods.knowledge.portable import guarded
from codemods.knowledge.spell import root
from codemods.knowledge.uses import call_of, use

SEEDS = re.compile(
    r"(?:seed|seed_all|is_available|device|use_deterministic_algorithms|getattr|print|str|int|info|debug)$"
)
"""Calls between two seeds that draw no number."""
REDUNDANT = "`torch.manual_seed` seeds every device already; this line is not needed"


@rule("AGN405", "cuda")
def check(node: cst.If | cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    if isinstance(node, cst.If):
        seeds = list(_only_seeds(file, node))
        if seeds and all(_seeded(file, call, node) for call in seeds) and _may_go(file, node):
            file.claim(node)
            asks = [node.test] if isinstance(node.test, cst.Call) else []
            for place in (*asks, *(call.func for call in seeds)):
                yield Finding(place, REDUNDANT, (file.delete_statement(node),))
        return
    entry = use(file, node)
    if entry is None or entry.rule != "seed":
        return
    call = call_of(file, node)
    message = f"`{entry.name}` seeds CUDA only"
    if call is None or entry.name.endswith((".seed", ".seed_all")):
        yield Finding(node, f"{message}; `torch.seed()` seeds every device, the CPU too")
        return
    line = file.statement(node)
    if file.is_statement(call) and _seeded(file, call, line) and _may_go(file, line):
        yield Finding(node, REDUNDANT, (file.delete_statement(line),))
        return
    member = entry.name.rpartition(".")[2]
    module, imports, unsafe = module_of_device(file, node)
    unsafe = unsafe or f"the module of some devices has no `{member}`"
    guard, together = guarded(file, call, "None")
    edits = (*imports, file.replace(node, f"{module}.{member}"), *guard)
    yield Finding(node, f"{message}; go through the device's module", edits, unsafe, together)


def _only_seeds(file: File, guard: cst.If) -> Iterator[cst.Call]:
    """The seeding calls of `if torch.cuda.is_available():` or `if args.cuda:` if there is nothing else in it."""
    match guard.test:
        case cst.Name() | cst.Attribute(value=cst.Name()) if guard.orelse is None:
            pass
        case cst.Call(func=func) if guard.orelse is None and file.name(func) in AVAILABLE:
            pass
        case _:
            return
    calls = []
    for line in guard.body.body:
        match line:
            case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call(func=func) as call)]) if file.name(func) in (
                "torch.cuda.manual_seed",
                "torch.cuda.manual_seed_all",
            ):
                calls.append(call)
            case _:
                return
    yield from calls


def _seeded(file: File, call: cst.Call, line: cst.CSTNode) -> bool:
    """Whether the block, or one around it, calls `torch.manual_seed` with the same argument, and only other seeds are
    set between the two."""
    if any(isinstance(node, (cst.Call, cst.NamedExpr, cst.Await)) for arg in call.args for node in file.below(arg)):
        return False  # asking twice may give two numbers, or change what comes after
    wanted = _arguments(ast.parse(f"_({file.source(call.args[0].value)})", mode="eval").body) if call.args else []
    general = f"{root(file, call)[0]}.manual_seed"
    below = line
    for above in (file.parent(line), *file.ancestors(line)):
        if isinstance(above, (cst.IndentedBlock, cst.Module)):
            suite = file.ast.body if isinstance(above, cst.Module) else file.suite(above)
            row = file.line(below)
            at = next((number for number, one in enumerate(suite) if one.lineno == row), None)
            if at is None:
                return False
            for step in (-1, 1):
                other = at + step
                while 0 <= other < len(suite) and _only_sets_seeds(suite[other], wanted):
                    if _seeds_all(suite[other], general, wanted):
                        return True
                    other += step
            if at and not all(_only_sets_seeds(one, wanted) for one in suite[:at]):
                return False
        if isinstance(above, (cst.FunctionDef, cst.ClassDef, cst.For, cst.While)):
            return False
        below = above if isinstance(above, cst.BaseCompoundStatement) else below
    return False


def _seeds_all(line: ast.stmt, general: str, wanted: list[str]) -> bool:
    match line:
        case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
            return ast.unparse(call.func).replace(".random.", ".") == general and _arguments(call) == wanted
    return False


def _only_sets_seeds(line: ast.stmt, wanted: list[str]) -> bool:
    """Whether a statement draws no number and leaves the wanted seed alone, as far as its words say."""
    for node in ast.walk(line):
        match node:
            case ast.Call(func=func):
                name = ast.unparse(func)
                if not SEEDS.search(name) or ("torch.cuda" in name and "seed" in name and _arguments(node) != wanted):
                    return False
            case ast.Name(id=name, ctx=ast.Store()) if any(re.search(rf"\b{name}\b", one) for one in wanted):
                return False
            case ast.Attribute(ctx=ast.Store()) if ast.unparse(node) in wanted:
                return False
            case ast.FunctionDef() | ast.ClassDef() | ast.For() | ast.While() | ast.With() | ast.Return():
                return False
    return True


def _arguments(call: ast.expr) -> list[str]:
    assert isinstance(call, ast.Call)
    return [ast.unparse(one) for one in (*call.args, *(word.value for word in call.keywords))]


def _may_go(file: File, line: cst.CSTNode) -> bool:
    """Whether a statement is not all there is of its block."""
    block = file.parent(line)
    return isinstance(block, (cst.IndentedBlock, cst.Module)) and len(block.body) > 1
