"""A variable that is named after CUDA and holds the answer whether there is an accelerator.

A project that has a word for that uses it, once the answer is generic. Examples for PyTorch say `accel`:

settings: profile = "examples"

```diff
  import torch
  def main():
-     use_cuda = torch.cuda.is_available()
+     use_accel = torch.accelerator.is_available()
      options = {"batch_size": 64}
-     if use_cuda:
-         cuda_options = {"num_workers": 1, "pin_memory": True}
-         options.update(cuda_options)
+     if use_accel:
+         accel_options = {"num_workers": 1, "pin_memory": True}
+         options.update(accel_options)
```

So does an attribute beside the options of a program, `args.cuda`. Where the answer stays CUDA's, so does the name.

Fix safety: safe for variables of a function, in a project whose configuration names the profile. Unsafe for those of a
module, which other files may import.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.availability import dependants
from codemods.knowledge.guard import implies, set_to
from codemods.knowledge.rename import PART, attributes, references, renamed


@rule("AGN308", "cuda", "CUDA")
def check(target: cst.AssignTarget, file: File) -> Iterator[Finding]:
    word = file.profile.identifier
    if not word or not PART.search(file.source(target.target)):
        return
    match target.target:
        case cst.Name() as variable:
            values = [binding.value for binding in file.bindings(variable)]
            places, scope = references(file, variable), file.function(variable) or file.module
        case cst.Attribute(value=cst.Name(), attr=variable) as attribute:
            values, places, scope = set_to(file, attribute), attributes(file, attribute), file.module
        case _:
            return
    if not PART.search(variable.value) or not places or places[0] is not variable:
        return
    depends = [_depends(file, value) if value is not None else () for value in values]
    name = renamed(variable.value, word)
    if depends and all(depends) and not re.search(rf"\b{name}\b", file.source(scope)):
        together = [node for nodes in depends for node in nodes]
        edits = tuple(file.replace(place, name) for place in places)
        unsafe = "other files may use it" if scope is file.module else ""
        if file.settings.profile == "auto":
            unsafe = unsafe or f"that the project says `{word}` is a guess"
        message = f"`{variable.value}` is named after CUDA and holds for any accelerator"
        yield Finding(variable, message, edits, unsafe, tuple(together))


def _depends(file: File, value: cst.BaseExpression) -> tuple[cst.CSTNode, ...]:
    """What has to be generic for the name of a value to be so: nothing if the value is not about the accelerator."""
    if implies(file, value):
        return (value, *dependants(file, value)[1])
    guard = next((above for above in file.ancestors(value) if isinstance(above, cst.If)), None)
    if isinstance(value, cst.Dict) and guard is not None and implies(file, guard.test):
        return (guard.test, guard.body)
    return ()
