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

Where the answer stays CUDA's, so does the name.

Fix safety: safe for variables of a function, in a project whose configuration names the profile. Unsafe for those of a
module, which other files may import.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.availability import dependants
from codemods.knowledge.guard import implies
from codemods.knowledge.rename import PART, references, renamed


@rule("AGN308", "cuda", "CUDA")
def check(target: cst.AssignTarget, file: File) -> Iterator[Finding]:
    variable = target.target
    word = file.profile.identifier
    if not word or not isinstance(variable, cst.Name) or not PART.search(variable.value):
        return
    bindings = file.bindings(variable)
    if not bindings or bindings[0].node is not file.parent(target):
        return
    together: list[cst.CSTNode] = []
    for binding in bindings:
        depends = _depends(file, binding.value) if binding.value is not None else ()
        if not depends:
            return
        together += depends
    name = renamed(variable.value, word)
    places = references(file, variable)
    scope = file.function(variable) or file.module
    if places and name not in file.source(scope):
        edits = tuple(file.replace(place, name) for place in places)
        unsafe = "other files may import it" if scope is file.module else ""
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
