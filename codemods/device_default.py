"""A default that is `"cuda"`: of a parameter, an option of the command line, a field.

A parameter decides when the function runs:

```diff
  import torch
- def load(path, device="cuda"):
+ def load(path, device=None):
      "Read a state."
+     if device is None:
+         device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
      return torch.load(path, map_location=device)
```

An option or a field keeps being a string:

```diff
  import argparse
  import torch
  parser = argparse.ArgumentParser()
- parser.add_argument("--device", default="cuda")
+ parser.add_argument("--device", default=torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu")
! parser.add_argument("--on", default="cuda", choices=["cpu", "cuda"])
```

Fix safety: unsafe. A default is part of an interface: it may be read by others, and is no longer the same string on
every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.device_string import imports_torch
from codemods.knowledge.device import type_expression
from codemods.knowledge.profile import own_imports
from codemods.knowledge.slots import slot_of
from codemods.knowledge.spell import root

ADVICE = "decide when it runs, with torch.accelerator.current_accelerator(check_available=True)"
UNSAFE = "a default is part of an interface, and others may read it"


@rule("AGN206", "cuda")
def check(literal: cst.SimpleString, file: File) -> Iterator[Finding]:
    value = file.string(literal)
    found = re.fullmatch(r"cuda(?::(\d+))?", value) if isinstance(value, str) else None
    if not found or not imports_torch(file) or slot_of(file, literal).kind != "default":
        return
    message = f'the default `"{value}"` fails where there is no CUDA; {ADVICE}'
    parent = file.parent(literal)
    torch, added = root(file, file.module)
    text = type_expression(file, file.module, torch, found[1])
    added = (*added, *own_imports(file, text))
    if isinstance(parent, cst.Param):
        yield Finding(literal, message, (*added, *edits) if (edits := _parameter(file, parent, text)) else (), UNSAFE)
    elif isinstance(parent, cst.Arg) and isinstance(call := file.parent(parent), cst.Call):
        chosen = any(arg.keyword is not None and arg.keyword.value in ("choices", "type") for arg in call.args)
        plain = not chosen or all("choices" != arg.keyword.value and file.source(arg.value) == "str" for arg in call.args
                                  if arg.keyword is not None and arg.keyword.value in ("choices", "type"))  # fmt: skip
        yield Finding(literal, message, (*added, file.replace(literal, text)) if plain else (), UNSAFE)
    else:
        yield Finding(literal, message, (*added, file.replace(literal, text)), UNSAFE)


def _parameter(file: File, parameter: cst.Param, text: str) -> tuple[Edit, ...]:
    """None as the default, and the decision as the first statement; nothing for a lambda or a body on the same line."""
    function = next(one for one in file.ancestors(parameter) if isinstance(one, (cst.FunctionDef, cst.Lambda)))
    if not isinstance(function, cst.FunctionDef) or not isinstance(function.body, cst.IndentedBlock):
        return ()
    assert parameter.default is not None
    edits = [file.replace(parameter.default, "None")]
    annotation = parameter.annotation.annotation if parameter.annotation is not None else None
    if annotation is not None and file.source(annotation) in ("str", "torch.device"):
        edits.append(file.insert_after(annotation, " | None"))
    statements = function.body.body
    first = statements[0]
    match first:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString())]):
            if len(statements) == 1:
                return tuple(edits)
            first = statements[1]
    if re.fullmatch(r"(\.\.\.|pass|raise NotImplementedError.*)", file.source(first)):
        return tuple(edits)
    start = file.lines[file.line(function.body.body[0]) - 1] if first is statements[0] else None
    start = file.lines[_first_line(file, first) - 1] if start is None else start
    indent = file.indent(statements[0])
    name = parameter.name.value
    step = file.module.default_indent
    lines = f"{indent}if {name} is None:{file.newline}{indent}{step}{name} = {text}{file.newline}"
    return (*edits, Edit(start, start, lines))


def _first_line(file: File, statement: cst.CSTNode) -> int:
    """The line on which a statement begins, its decorators included."""
    decorators = getattr(statement, "decorators", ())
    return min([file.line(statement), *(file.line(one) for one in decorators)])
