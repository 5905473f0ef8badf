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

import ast
import re
from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.device_string import imports_torch
from codemods.knowledge.device import type_expression
from codemods.knowledge.hoist import above_comments, device_at
from codemods.knowledge.profile import own_imports
from codemods.knowledge.slots import slot_of
from codemods.knowledge.spell import root, torch_import

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
    device = device_at(file, literal) if file.profile.expression and found[1] in (None, "0") else None
    if device is not None and not _is_hidden(file, device.text, parent):
        text, added = device.type, device.edits
    else:
        text = type_expression(file, file.module, torch, found[1])
        added = (*added, *own_imports(file, text))
    if isinstance(parent, cst.Param):
        yield Finding(literal, message, (*added, *edits) if (edits := _parameter(file, parent, text)) else (), UNSAFE)
    elif isinstance(parent, cst.Arg) and isinstance(call := file.parent(parent), cst.Call):
        chosen = any(arg.keyword is not None and arg.keyword.value in ("choices", "type") for arg in call.args)
        plain = not chosen or all(arg.keyword.value != "choices" and file.source(arg.value) == "str" for arg in call.args
                                  if arg.keyword is not None and arg.keyword.value in ("choices", "type"))  # fmt: skip
        yield Finding(literal, message, (*added, file.replace(literal, text)) if plain else (), UNSAFE)
    elif _is_value(file, literal):
        yield Finding(literal, message)
    else:
        yield Finding(literal, message, (*added, file.replace(literal, text)), UNSAFE)


def _is_hidden(file: File, name: str, parameter: cst.CSTNode | None) -> bool:
    """Whether a name means something else in the function that has a parameter."""
    if not isinstance(parameter, cst.Param):
        return False
    function = next(one for one in file.ancestors(parameter) if isinstance(one, (cst.FunctionDef, cst.Lambda)))
    return name in file.names.bound_in(function)


def _is_value(file: File, default: cst.BaseExpression) -> bool:
    """Whether it is a field of something that is compared by its fields, as a key is."""
    owner = next((above for above in file.ancestors(default) if isinstance(above, cst.ClassDef)), None)
    if owner is None:
        return False
    bases = [file.source(base.value) for base in owner.bases]
    decorators = [file.source(one.decorator) for one in owner.decorators]
    return any(base.endswith("NamedTuple") for base in bases) or any("frozen=True" in one for one in decorators)


def _parameter(file: File, parameter: cst.Param, text: str) -> tuple[Edit, ...]:
    """None as the default, and the decision as the first statement; nothing for a lambda or a body on the same line."""
    function = next(one for one in file.ancestors(parameter) if isinstance(one, (cst.FunctionDef, cst.Lambda)))
    if not isinstance(function, cst.FunctionDef) or not isinstance(function.body, cst.IndentedBlock):
        return ()
    _, statement = torch_import(file, file.module)
    if statement is not None and not isinstance(file.parent(statement), cst.Module):
        return ()  # the function may have to do without torch
    assert parameter.default is not None
    edits = [file.replace(parameter.default, "None")]
    annotation = parameter.annotation.annotation if parameter.annotation is not None else None
    if annotation is not None and re.fullmatch(r"[\"']?(str|torch\.device)[\"']?", file.source(annotation)):
        if _imports_optional(file) and not isinstance(annotation, cst.SimpleString):
            edits += [file.insert_before(annotation, "Optional["), file.insert_after(annotation, "]")]
        else:
            at = file.span(annotation)[1] - isinstance(annotation, cst.SimpleString)  # in front of the quote
            edits.append(Edit(at, at, " | None"))
    suite = file.suite(function.body)
    if (
        suite
        and isinstance(suite[0], ast.Expr)
        and isinstance(suite[0].value, ast.Constant)
        and suite[0].value.value is not ...
    ):
        suite = suite[1:]
    if not suite or re.fullmatch(r"\.\.\.|pass|raise NotImplementedError.*", ast.unparse(suite[0])):
        return tuple(edits)
    row = min([suite[0].lineno, *(one.lineno for one in getattr(suite[0], "decorator_list", ()))])
    indent = file.text_of_line(row)[: suite[0].col_offset]
    if indent.strip():
        return ()
    start = file.lines[above_comments(file, row) - 1]
    name = parameter.name.value
    step = file.module.default_indent
    lines = f"{indent}if {name} is None:{file.newline}{indent}{step}{name} = {text}{file.newline}"
    return (*edits, Edit(start, start, lines))


def _imports_optional(file: File) -> bool:
    """Whether a file writes `Optional[X]`, as files do that run on an older Python, too."""
    return any(
        isinstance(one, ast.ImportFrom)
        and one.module == "typing"
        and any(name.name == "Optional" for name in one.names)
        for one in file.ast.body
    )
