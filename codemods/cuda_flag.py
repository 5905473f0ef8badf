"""A command-line option that is named after CUDA: `--no-cuda`.

It stays, since command lines and scripts say it, unless the project has a word of its own. The new name then comes
first, the old one goes on working, and what reads the option follows. Examples for PyTorch say `accel`:

settings: profile = "examples"

```diff
  import argparse
  import torch
  parser = argparse.ArgumentParser()
- parser.add_argument("--no-cuda", action="store_true", help="stay on the CPU")
+ parser.add_argument("--no-accel", "--no-cuda", action="store_true", help="stay on the CPU")
  args = parser.parse_args()
- fast = not args.no_cuda and torch.cuda.is_available()
+ fast = not args.no_accel and torch.accelerator.is_available()
```

Without such a word, and where the option decides something that only CUDA has, it is reported:

```diff
  import argparse
  import torch
  parser = argparse.ArgumentParser()
! parser.add_argument("--cuda", action="store_true")
```

Fix safety: unsafe, since other files may read the option by its old name.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule
from codemods.availability import dependants
from codemods.device_string import imports_torch
from codemods.knowledge.rename import renamed

SWITCHES = {"--cuda", "--no-cuda", "--no_cuda", "--use-cuda", "--use_cuda", "--disable-cuda", "--disable_cuda",
            "--enable-cuda", "--enable_cuda", "--with-cuda", "--with_cuda"}  # fmt: skip
"""Options that choose the device; others, such as `--cuda-graphs`, are about CUDA."""


@rule("AGN307", "cuda")
def check(call: cst.Call, file: File) -> Iterator[Finding]:
    match call:
        case cst.Call(
            func=cst.Attribute(attr=cst.Name("add_argument")),
            args=[cst.Arg(value=cst.SimpleString() as option, keyword=None), *_],
        ) if (name := file.string(option)) in SWITCHES and imports_torch(file):
            word = file.profile.identifier
            message = f"the option `{name}` is named after CUDA; an option for any accelerator can keep it as an alias"
            reads = _reads(file, name[2:].replace("-", "_")) if word and _is_only_name(file, call) else []
            if not reads:
                yield Finding(option, message, blocks=False)
                return
            new = renamed(name, word)
            edits = [file.insert_before(option, f"{option.quote}{new}{option.quote}, ")]
            together: list[cst.CSTNode] = []
            for read in reads:
                edits.append(file.replace(read.attr, renamed(read.attr.value, word)))
                together += dependants(file, read)[1]
            unsafe = f"other files may read `{reads[0].attr.value}`"
            yield Finding(option, message, tuple(edits), unsafe, tuple(together), blocks=False)


def _is_only_name(file: File, call: cst.Call) -> bool:
    """Whether the value of an option is known by the option's name, and by no string."""
    if any(arg.keyword is not None and arg.keyword.value == "dest" for arg in call.args):
        return False
    name = (file.string(call.args[0].value) or "")[2:].replace("-", "_")
    return f'"{name}"' not in file.text and f"'{name}'" not in file.text


def _reads(file: File, name: str) -> list[cst.Attribute]:
    """Where a file reads the value of an option."""
    return [
        node
        for node in file.tree.nodes
        if isinstance(node, cst.Attribute) and node.attr.value == name and file.name(node) is None
    ]
