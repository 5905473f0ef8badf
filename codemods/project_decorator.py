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

Fix safety: unsafe, because nothing proves that the project at hand has the other decorator, and the test may be for
CUDA on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.project_vocabulary import UNSAFE


@rule("AGN703", "cuda", "gpu")
def check(name: cst.Name, file: File) -> Iterator[Finding]:
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
        yield Finding(name, message, (file.replace(name, new),), UNSAFE.format(new), together)
