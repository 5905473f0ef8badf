"""A ladder that asks for one vendor's device after the other.

Where every branch only names its vendor's device, one question to `torch.accelerator` replaces them all:

```diff
  import torch
- if torch.cuda.is_available():
-     device = torch.device("cuda")
- elif torch.backends.mps.is_available():
-     device = torch.device("mps")
+ if torch.accelerator.is_available():
+     device = torch.accelerator.current_accelerator()
  else:
      device = torch.device("cpu")
- name = "cuda" if torch.cuda.is_available() else "mps" if torch.mps.is_available() else "cpu"
+ name = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
```

Otherwise the order is somebody's decision and each branch may do its own thing, so that nothing is reordered, removed
or rewritten:

```diff
  import torch
! if torch.cuda.is_available():
      torch.set_default_device("cuda")
  elif torch.backends.mps.is_available():
      fall_back()
```

A branch by the type of a given device is code for that device, and no finding:

```diff
  import torch
  def wait(device):
      if device.type == "cuda":
          torch.cuda.synchronize()
      elif device.type == "xpu":
          torch.xpu.synchronize()
```

Fix safety: unsafe, because a machine may have several kinds of device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.knowledge.ladder import VENDOR, collapse, vendors

SEVERAL = "a machine may have several kinds of device, and the ladder says which comes first"
ASKS = re.compile(r"\b(is_available|is_\w+_available|device_count|is_cuda|is_npu|is_xpu|is_hpu)\b")


@rule("AGN305", "cuda")
def check(node: cst.If | cst.IfExp | cst.Match, file: File) -> Iterator[Finding]:
    if isinstance(node, cst.IfExp) and _arms_differ(file, node):
        file.claim(node)
        return
    branches = list(_branches(node))
    asked = [vendors(file.source(test)) for test, _ in branches]
    named = set().union(*asked)
    if len(named) < 2 or "cuda" not in named or sum(bool(one) for one in asked) < 2:
        return
    parent = file.parent(node)
    if isinstance(node, (cst.If, cst.IfExp)) and type(parent) is type(node) and parent.orelse is node:
        return
    for (test, body), vendor in zip(branches, asked, strict=True):
        if "cuda" in vendor and not vendor - {"cuda"}:
            file.claim(test, *body)
        elif vendor:
            file.claim(test)
    tests = [file.source(test) for test, _ in branches]
    if any("cuda" in test and ASKS.search(test) for test in tests):
        last = "torch.accelerator.current_accelerator(check_available=True)"
        message = f"this asks vendor by vendor; if every branch does the same, `{last}` is one question"
        place = node.test if isinstance(node, cst.If) else node
        yield Finding(place, message, collapse(file, node), SEVERAL)


def _arms_differ(file: File, node: cst.IfExp) -> bool:
    """`torch.cuda.x if flag else torch.xpu.x`: one arm for each vendor."""
    if isinstance(node.orelse, cst.IfExp) or VENDOR.search(file.source(node.test)):
        return False
    one, other = (vendors(file.source(arm)) for arm in (node.body, node.orelse))
    return bool(one and other) and "cuda" in one | other and one != other


def _branches(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, tuple[cst.CSTNode, ...]]]:
    """Each test with what it leads to."""
    match node:
        case cst.If(test=test, body=body, orelse=orelse) | cst.IfExp(test=test, body=body, orelse=orelse):
            yield test, (body,)
            if type(orelse) is type(node):
                yield from _branches(orelse)
            elif isinstance(node, cst.If) and isinstance(orelse, cst.Else):
                inner = orelse.body.body
                if len(inner) == 1 and isinstance(inner[0], cst.If):
                    yield from _branches(inner[0])
        case cst.Match(cases=cases):
            for case in cases:
                yield case.pattern, (case.body,)
