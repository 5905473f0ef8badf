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

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.guard import AVAILABLE
from codemods.knowledge.hoist import device_at
from codemods.knowledge.portable import guarded
from codemods.knowledge.spell import spell
from codemods.knowledge.uses import call_of, use

REDUNDANT = "`torch.manual_seed` seeds every device already; this line is not needed"


@rule("AGN405", "cuda")
def check(node: cst.If | cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    if isinstance(node, cst.If):
        seeds = list(_only_seeds(file, node))
        if seeds and all(_seeded(file, call, node) for call in seeds) and _may_go(file, node):
            file.claim(node)
            yield Finding(seeds[0].func, REDUNDANT, (file.delete_statement(node),))
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
    device = device_at(file, node)
    text, imports = spell(file, "torch.get_device_module", node)
    edits = (*imports, *device.edits, file.replace(node, f"{text}({device.text}).{entry.name.rpartition('.')[2]}"))
    unsafe = device.unsafe or f"the module of some devices has no `{entry.name.rpartition('.')[2]}`"
    guard, together = guarded(file, call, "None")
    yield Finding(node, f"{message}; go through the device's module", (*edits, *guard), unsafe, together)


def _only_seeds(file: File, guard: cst.If) -> Iterator[cst.Call]:
    """The seeding calls of `if torch.cuda.is_available():` if there is nothing else in it."""
    if guard.orelse is not None or not isinstance(guard.test, cst.Call) or file.name(guard.test.func) not in AVAILABLE:
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
    """Whether the block, or one around it, calls `torch.manual_seed` with the same argument."""
    wanted = [file.source(arg.value) for arg in call.args]
    if any(isinstance(node, (cst.Call, cst.NamedExpr, cst.Await)) for arg in call.args for node in file.below(arg)):
        return False  # asking twice may give two numbers, or change what comes after
    below = line
    for above in (file.parent(line), *file.ancestors(line)):
        if isinstance(above, (cst.IndentedBlock, cst.Module)):
            for other in above.body:
                if other is not below and _seeds_all(file, other, wanted):
                    return True
        if isinstance(above, (cst.FunctionDef, cst.ClassDef, cst.For, cst.While)):
            return False
        below = above if above is not None else below
    return False


def _seeds_all(file: File, line: cst.CSTNode, wanted: list[str]) -> bool:
    match line:
        case cst.SimpleStatementLine(body=[cst.Expr(value=call) | cst.Assign(value=call)]):
            return (
                isinstance(call, cst.Call)
                and file.name(call.func) in ("torch.manual_seed", "torch.random.manual_seed")
                and [file.source(arg.value) for arg in call.args] == wanted
            )
    return False


def _may_go(file: File, line: cst.CSTNode) -> bool:
    """Whether a statement is not all there is of its block."""
    block = file.parent(line)
    return isinstance(block, (cst.IndentedBlock, cst.Module)) and len(block.body) > 1
