"""A `torch.cuda` function that the project has its own word for.

Projects that run on several kinds of device have a helper for each purpose, and reviewers expect it. Which words a
project uses is its `profile`; this is verl's:

settings: profile = "verl"

```diff
  import torch
+ from verl.utils.device import get_device_id, get_torch_device
  def free():
-     torch.cuda.empty_cache()
-     return torch.cuda.current_device()
+     get_torch_device().empty_cache()
+     return get_device_id()
```

Fix safety: unsafe while the profile is a guess (`profile = "auto"`), since nothing proves that the project has the
helper. Safe once the configuration names the profile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.profile import guess, out_of_reach, own_imports
from codemods.knowledge.uses import call_of, use
from codemods.stream import stream_group

RULES = {"stream", "seed", "rng-state", "device-module-member", "set-device", "device-context"}
KEPT = {"is_available", "get_device_properties", "get_device_capability"}


@rule("AGN100", "cuda")
def check(node: cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    profile = file.profile
    if not profile.calls and not profile.module:
        return
    entry = use(file, node)
    if entry is None or not (entry.to or entry.rule in RULES):
        return
    if any(isinstance(above, cst.Annotation) for above in file.ancestors(node)):
        return  # a type checker takes classes there, and no member of a variable
    member = entry.name.rpartition(".")[2]
    call = call_of(file, node)
    if member in profile.calls:
        template = profile.calls[member]
        words, device, _ = template.partition("({device})")
        if device and (call is None or any(arg.star for arg in call.args)):
            return
        edits = [file.replace(node, words)]
        needs = f" {profile.device}" if device else ""
        if device and call is not None:
            edits += [file.replace(arg, profile.device) for arg in call.args[:1]]
            edits += [file.insert_argument(call, profile.device)] if not call.args else []
            file.claim(*call.args[:1])
    elif profile.module and member not in KEPT and entry.name.count(".") == 2:
        words, needs = f"{profile.module}.{member}", ""
        edits = [file.replace(node, words)]
    else:
        return
    file.claim(node)
    helper = re.split(r"\W", words)[0]
    message = f"`{entry.name}` is CUDA only; this project's own word is `{words}`"
    together = stream_group(file, node) if entry.rule == "stream" else ()
    unsafe = guess(file, helper) or out_of_reach(file, words + needs, node)
    yield Finding(node, message, (*own_imports(file, words + needs, node), *edits), unsafe, together)
