"""A name imported from `torch.cuda`.

The import goes when nothing needs it any more, or moves to where the generic name lives:

```diff
- from torch.cuda import device_count
+ import torch
- print(device_count())
+ print(torch.accelerator.device_count())
```

```diff
  import torch
  device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
- from torch.cuda.amp import autocast, custom_fwd
+ from torch.amp import autocast, custom_fwd
- @custom_fwd
+ @custom_fwd(device_type=device.type)
  def forward(ctx, x):
-     with autocast():
+     with autocast(device.type, enabled=device.type != "cpu"):
          return x
```

As long as one use of the name stays, so does the import:

```diff
! from torch.cuda import CUDAGraph
! graph = CUDAGraph()
  done = True
```

An import that nothing in the file uses may be there for others, and is reported only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.names import dotted
from agnostic.rule import Edit, Finding, rule
from codemods.knowledge.imports import deleted, movable
from codemods.knowledge.uses import ROOTS, is_reference

HOMES = ("torch.cuda", "torch.distributed.ProcessGroupNCCL")


@rule("AGN105", "cuda", "NCCL")
def check(statement: cst.Import | cst.ImportFrom, file: File) -> Iterator[Finding]:
    if isinstance(statement.names, cst.ImportStar):
        if dotted(statement.module) in ROOTS:  # type: ignore[union-attr]
            yield Finding(statement, "everything is imported from a CUDA-only module; name what is needed")
        return
    aliases = [alias for alias in statement.names if _origin(statement, alias).startswith(HOMES)]
    uses = {alias: _uses(file, alias) for alias in aliases}
    for alias in aliases:
        name = _origin(statement, alias)
        message = f"`{name}` is imported from a CUDA-only module"
        edits = _edits(file, statement, alias) if _known(file, uses[alias]) and not _exported(file, alias) else ()
        moves = isinstance(statement, cst.ImportFrom) and edits[:1] == (_moved(file, statement),)
        together = [use for one in aliases for use in uses[one]] if moves else uses[alias]
        yield Finding(alias, message, edits, "", tuple(together), alone=True)


def _origin(statement: cst.Import | cst.ImportFrom, alias: cst.ImportAlias) -> str:
    name = dotted(alias.name) or ""
    if isinstance(statement, cst.Import):
        return name
    return "" if statement.relative else f"{dotted(statement.module)}.{name}"


def _local(alias: cst.ImportAlias) -> str:
    if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
        return alias.asname.name.value
    return (dotted(alias.name) or "").partition(".")[0]


def _uses(file: File, alias: cst.ImportAlias) -> list[cst.CSTNode]:
    """Where the name that an import binds is read: the whole dotted chain."""
    found: list[cst.CSTNode] = []
    local = _local(alias)
    for node in file.tree.nodes:
        if isinstance(node, cst.Name) and node.value == local and is_reference(file, node):
            if any(binding.node is alias for binding in file.bindings(node)):
                whole: cst.CSTNode = node
                while isinstance(above := file.parent(whole), cst.Attribute):
                    whole = above
                found.append(whole)
    return found


def _known(file: File, uses: list[cst.CSTNode]) -> bool:
    """Whether a name is used at all, and always means what is imported."""
    return bool(uses) and all(file.name(node) is not None for node in uses)


def _exported(file: File, alias: cst.ImportAlias) -> bool:
    """Whether others may import the name from here."""
    return file.path.name == "__init__.py" or f'"{_local(alias)}"' in file.text or f"'{_local(alias)}'" in file.text


def _edits(file: File, statement: cst.Import | cst.ImportFrom, alias: cst.ImportAlias) -> tuple[Edit, ...]:
    if isinstance(statement, cst.Import):
        if alias.asname is None:  # it binds `torch`, as another import may do
            return (deleted(file, statement, alias) if _binds_torch(file) else file.replace(alias, "torch"),)
    elif movable(file, alias):
        if (moved := _moved(file, statement)) is not None:
            return (moved,)
        line = file.statement(statement)
        start, _ = file.span(line)
        text = f"from {str(movable(file, alias)).rpartition('.')[0]} import {file.source(alias)}{file.newline}"
        return (Edit(start, start, text + file.indent(line)), deleted(file, statement, alias))
    return (deleted(file, statement, alias),)


def _moved(file: File, statement: cst.ImportFrom) -> Edit | None:
    """Import all names of a statement from where they live now, if that is one module."""
    homes = {movable(file, one) for one in statement.names}  # type: ignore[union-attr]
    modules = {home.rpartition(".")[0] if home else None for home in homes}
    if len(modules) == 1 and None not in modules and statement.module is not None:
        return file.replace(statement.module, str(modules.pop()))
    return None


def _binds_torch(file: File) -> bool:
    """Whether the name `torch` is there without the imports of CUDA-only modules."""
    return any(
        isinstance(statement, ast.Import)
        and any(
            one.asname is None and one.name.partition(".")[0] == "torch" and not one.name.startswith(HOMES)
            for one in statement.names
        )
        for statement in file.ast.body
    )
