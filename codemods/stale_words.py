"""A message or a comment that says CUDA, while the code beside it takes any accelerator.

Looked for with `--comments` only. The words change together with the code that they are about: the condition whose
message they are, the line that they stand on or above. Where the code stays, so do they. A message beside a condition
that was made generic before is found, too.

settings: comments = true

```diff
  import torch
- @unittest.skipIf(not torch.cuda.is_available(), "needs a CUDA device")
+ @unittest.skipIf(not torch.accelerator.is_available(), "needs an accelerator")
  class TestCopy(unittest.TestCase):
      def test_copy(self):
-         # wait for CUDA
-         torch.cuda.synchronize()
+         # wait for the accelerator
+         torch.accelerator.synchronize()
-     @unittest.skipIf(torch.cuda.device_count() < 2, "needs two CUDA devices")
+     @unittest.skipIf(torch.accelerator.device_count() < 2, "needs two accelerators")
      def test_peer(self):
          self.fail("no test yet")
```

What is true of CUDA alone stays, and so does a text that is compared, or lists device types:

settings: comments = true

```diff
  import torch
! if not torch.cuda.is_available():
      raise RuntimeError("CUDA is required")
! torch.cuda.CUDAGraph()  # a CUDA graph
- torch.cuda.synchronize()  # events of CUDA 11 need that
+ torch.accelerator.synchronize()  # events of CUDA 11 need that
```

Fix safety: unsafe, since it is prose, which only a person can read. Another file may look for the message, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit, Finding, Span, rule
from codemods.knowledge.beside import Prose, comments, compared, messages
from codemods.knowledge.prose import rewordings

GENERIC = re.compile(r"\baccelerator\.(?:is_available|device_count|current_accelerator)\(")
UNSAFE = "it is prose: read it"


@rule("AGN010", "cuda", "CUDA")
def check(module: cst.Module, file: File) -> Iterator[Finding]:
    if not file.settings.comments:
        return
    found: dict[Span, list[Finding]] = {}
    for prose in (*messages(file), *comments(file)):
        for finding in _findings(module, file, prose):
            assert finding.place is not None
            found.setdefault(finding.place, []).append(finding)
    for same in found.values():
        yield max(same, key=lambda finding: len(finding.follows))


def _findings(module: cst.Module, file: File, prose: Prose) -> Iterator[Finding]:
    text = " ".join(prose.says.lower().split())
    if prose.kind == "message" and (text == "cuda" or any(phrase in text for phrase in compared(file))):
        return
    due = prose.kind == "message" and any(GENERIC.search(file.text, *code) for code in prose.code)
    for words in rewordings(prose.says, file.profile.word or "accelerator"):
        start, end = prose.start + words.start, prose.start + words.end
        old = file.text[start:end]
        if old == prose.says[words.start : words.end]:
            message = f"this {prose.kind} says `{old}`, which is stale beside code for any accelerator"
            edits = (Edit(start, end, words.text),)
            yield Finding(module, message, edits, UNSAFE, place=(start, end), follows=prose.code, due=due)
