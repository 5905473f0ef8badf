"""A ladder that asks for one vendor's device after the other.

Its order is somebody's decision and each branch may do its own thing, so nothing is reordered, removed or rewritten
in it. Where every branch does the same, one question to `torch.accelerator` replaces them all:

```diff
  import torch
! if torch.cuda.is_available():
      device = "cuda"
  elif torch.backends.mps.is_available():
      device = "mps"
  else:
      device = "cpu"
```

```python
device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
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
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule

VENDOR = re.compile(r"\b(cuda|xpu|mps|npu|hpu|mlu|musa|mtia|xla|tpu|neuron)\b")
ASKS = re.compile(r"\b(is_available|is_\w+_available|device_count|is_cuda|is_npu|is_xpu|is_hpu)\b")


@rule("AGN305", "cuda")
def check(node: cst.If | cst.IfExp | cst.Match, file: File) -> Iterator[Finding]:
    if isinstance(node, cst.IfExp) and _arms_differ(file, node):
        file.claim(node)
        return
    branches = list(_branches(node))
    vendors = [set(VENDOR.findall(file.source(test))) for test, _ in branches]
    named = set().union(*vendors)
    if len(named) < 2 or "cuda" not in named or sum(bool(one) for one in vendors) < 2:
        return
    parent = file.parent(node)
    if isinstance(node, (cst.If, cst.IfExp)) and type(parent) is type(node) and parent.orelse is node:
        return
    for (test, body), vendor in zip(branches, vendors, strict=True):
        if "cuda" in vendor and not vendor - {"cuda"}:
            file.claim(test, *body)
        elif vendor:
            file.claim(test)
    tests = [file.source(test) for test, _ in branches]
    if any("cuda" in test and ASKS.search(test) for test in tests):
        last = "torch.accelerator.current_accelerator(check_available=True)"
        yield Finding(
            node, f"this asks vendor by vendor; if every branch does the same, `{last}` is one question for all"
        )


def _arms_differ(file: File, node: cst.IfExp) -> bool:
    """`torch.cuda.x if flag else torch.xpu.x`: one arm for each vendor."""
    one, other = (set(VENDOR.findall(file.source(arm))) for arm in (node.body, node.orelse))
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
