"""A decorator by which the project's tests ask for CUDA.

The test asks for any accelerator, together with everything in it:

settings: profile = "hf-tests"

```diff
  import torch
- from transformers.testing_utils import require_torch_gpu, torch_device
+ from transformers.testing_utils import require_torch_accelerator, torch_device
- @require_torch_gpu
+ @require_torch_accelerator
  def test_copy():
-     assert torch.ones(1).cuda().sum() == 1
+     assert torch.ones(1).to(torch_device).sum() == 1
```

A condition that is written out becomes the project's decorator, where it has one.

Fix safety: unsafe while the profile is a guess (`profile = "auto"`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.guard import implies
from codemods.knowledge.imports import deleted
from codemods.knowledge.profile import guess, own_imports


@rule("AGN703", "cuda", "gpu")
def check(name: cst.Name | cst.Decorator, file: File) -> Iterator[Finding]:
    if isinstance(name, cst.Decorator):
        yield from _condition(file, name)
        return
    new = file.profile.decorators.get(name.value)
    if new is None:
        return
    parent = file.parent(name)
    if isinstance(parent, cst.Call):
        parent = file.parent(parent)
    message = f"`{name.value}` asks for CUDA; this project's word for any accelerator is `{new}`"
    if isinstance(parent, (cst.Decorator, cst.ImportAlias)):
        places = [one for one in file.tree.nodes if isinstance(one, cst.Name) and one.value == name.value]
        owners = [file.parent(parent)] if isinstance(parent, cst.Decorator) else []
        together = tuple(one for one in (*places, *owners) if one is not None and one is not name)
        if not isinstance(parent, cst.ImportAlias):
            edits = (file.replace(name, new),)
        elif file.path.name == "__init__.py":
            return  # others import the name from here
        elif _is_there(file, parent, new) and isinstance(statement := file.parent(parent), cst.ImportFrom):
            edits = (deleted(file, statement, parent),)
        else:
            edits = (file.replace(name, new),)
        yield Finding(name, message, edits, guess(file, new), together)


def _is_there(file: File, alias: cst.ImportAlias, new: str) -> bool:
    """Whether a file imports a decorator already, or will once an earlier import is renamed."""
    row = file.line(alias)
    for statement in file.syntax:
        for one in statement.names if isinstance(statement, ast.ImportFrom) else ():
            earlier = (one.lineno, one.name) < (row, file.source(alias.name))
            if one.name == new or (earlier and file.profile.decorators.get(one.name) == new):
                return True
    return False


def _condition(file: File, decorator: cst.Decorator) -> Iterator[Finding]:
    """`@skipif(not torch.cuda.is_available(), ...)` in a project with a decorator for that."""
    skip = file.profile.skip
    match decorator.decorator:
        case cst.Call(func=cst.Attribute(attr=cst.Name("skipif" | "skipIf")), args=[cst.Arg(value=test), *_]) if skip:
            if isinstance(test, cst.UnaryOperation) and implies(file, test, False) and "cuda" in file.source(test):
                file.claim(decorator)
                owner = file.parent(decorator)
                edits = (*own_imports(file, skip), file.replace(decorator.decorator, skip))
                message = f"this test asks for CUDA; this project's word for any accelerator is `{skip}`"
                together = (owner,) if owner is not None else ()
                yield Finding(decorator, message, edits, guess(file, skip), together)
