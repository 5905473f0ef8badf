"""CUDA streams and events.

`torch.Stream` and `torch.Event` are the generic classes; a stream is its own context manager. An event is recorded on
a stream of its own kind, so all of a class or function change together, or none:

```diff
  import torch
  def step(x):
-     side = torch.cuda.Stream()
-     done = torch.cuda.Event(True)
-     side.wait_stream(torch.cuda.current_stream())
-     with torch.cuda.stream(side):
+     side = torch.Stream()
+     done = torch.Event(enable_timing=True)
+     side.wait_stream(torch.accelerator.current_stream())
+     with side:
          run(x)
-     done.record(torch.cuda.current_stream())
+     done.record(torch.accelerator.current_stream())
```

A stream whose raw handle is read stays, with everything around it:

```diff
  import torch
  def launch(kernel):
!     stream = torch.cuda.Stream()
!     kernel(stream.cuda_stream)
```

Only `torch.cuda.stream` accepts None as a stream, so that a value which may be None gets a `nullcontext`.

Fix safety: safe for events and the current stream. Unsafe for streams: a `torch.Stream` is no `torch.cuda.Stream`,
which code in other places may rely on.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.config import version
from agnostic.file import File
from agnostic.rule import Edit, Finding, rule
from codemods.knowledge.guard import is_not_none
from codemods.knowledge.scope import assigned
from codemods.knowledge.spell import member, spell
from codemods.knowledge.uses import argument, call_of, has_star, use

CLASSES = {"Stream": "torch.Stream", "Event": "torch.Event"}
FUNCTIONS = {"current_stream": "torch.accelerator.current_stream", "set_stream": "torch.accelerator.set_stream"}
EVENT = ("enable_timing", "blocking", "interprocess")
ELSEWHERE = "a `torch.Stream` is no `torch.cuda.Stream`, on which code in other places may rely"


@rule("AGN407", "cuda")
def check(node: cst.Attribute | cst.Name, file: File) -> Iterator[Finding]:
    entry = use(file, node)
    if entry is None or entry.rule != "stream":
        return
    kind = entry.name.rpartition(".")[2]
    call = call_of(file, node)
    group = stream_group(file, node)
    if kind in CLASSES or kind in FUNCTIONS:
        new = CLASSES.get(kind) or FUNCTIONS[kind]
        text, imports = spell(file, new, node)
        edits: tuple[Edit, ...] | None = (*imports, file.replace(node, text))
        if call is not None:
            arguments = _event(file, call) if kind == "Event" else _positional(file, call, kind)
            edits = None if arguments is None or edits is None else edits + arguments
        unsafe = ELSEWHERE if kind == "Stream" else ""
        message = f"`{entry.name}` is CUDA only; use `{new}`"
    elif kind == "stream" and call is not None and isinstance(file.parent(call), cst.WithItem):
        edits, unsafe = _context(file, node, call)
        message = "`torch.cuda.stream` is CUDA only; a `torch.Stream` is its own context manager (torch 2.7)"
    else:
        edits, unsafe, message = None, "", f"`{entry.name}` is CUDA only and has no generic form"
    yield Finding(node, message, edits or (), unsafe, group)


def stream_group(file: File, node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """The stream code of the class or outermost function around a node, or of the module's top level."""
    owner: cst.CSTNode = file.module
    for above in file.ancestors(node):
        if isinstance(above, (cst.ClassDef, cst.FunctionDef)):
            owner = above
    found: list[cst.CSTNode] = []
    for one in file.below(owner):
        match one:
            case cst.Attribute(attr=cst.Name("cuda_stream" | "cuda_event")):
                found.append(one)
            case cst.Attribute() | cst.Name() if (entry := use(file, one)) is not None:
                if entry.rule == "stream" or "graph" in entry.name.lower():
                    found.append(one)
    return tuple(found)


def _event(file: File, call: cst.Call) -> tuple[Edit, ...] | None:
    """Positional flags become keywords; None if an argument has no generic form."""
    if has_star(call) or any(arg.keyword is not None and arg.keyword.value == "external" for arg in call.args):
        return None
    return tuple(
        file.name_keyword(arg, name) for arg, name in zip(call.args, EVENT, strict=False) if arg.keyword is None
    )


def _positional(file: File, call: cst.Call, kind: str) -> tuple[Edit, ...] | None:
    if has_star(call):
        return None
    edits = []
    for position, arg in enumerate(call.args):
        if arg.keyword is not None and arg.keyword.value == "device" and kind == "current_stream":
            edits.append(Edit(file.span(arg)[0], file.span(arg.value)[0], ""))
        elif arg.keyword is None and kind == "Stream" and position == 1:
            edits.append(file.name_keyword(arg, "priority"))
    return tuple(edits)


def _context(file: File, node: cst.CSTNode, call: cst.Call) -> tuple[tuple[Edit, ...] | None, str]:
    """`with torch.cuda.stream(s):` without the call."""
    arg = argument(call, 0, "stream")
    if arg is None or file.torch < version("2.7"):
        return None, ""
    start, end = file.span(call)
    first, last = file.span(arg.value)
    if _is_stream(file, arg.value):
        return (Edit(start, first, ""), Edit(last, end, "")), ""
    text = file.source(arg.value)
    if not isinstance(arg.value, (cst.Name, cst.Attribute)):
        return None, ""
    null, imports = member(file, "contextlib", "nullcontext")
    return (*imports, Edit(start, first, f"{null}() if {text} is None else "), Edit(last, end, "")), ""


def _is_stream(file: File, value: cst.BaseExpression, sure: bool = False, asked: frozenset[str] = frozenset()) -> bool:
    """Whether a value certainly is a stream; `sure` says that it is not None."""
    match value:
        case cst.Call(func=func):
            name = file.name(func) or ""
            return name.rpartition(".")[2] in ("Stream", "current_stream", "ExternalStream")
        case cst.IfExp(body=body, orelse=orelse) if sure:
            arms = [arm for arm in (body, orelse) if not (isinstance(arm, cst.Name) and arm.value == "None")]
            return all(_is_stream(file, arm, False, asked) for arm in arms)
        case cst.Name(name) if name not in asked:
            values = [binding.value for binding in file.bindings(value)]
            sure = is_not_none(file, value)
            return bool(values) and all(
                one is not None and _is_stream(file, one, sure, asked | {name}) for one in values
            )
        case cst.Attribute(value=cst.Name("self"), attr=cst.Name(attribute)):
            owner = next((above for above in file.ancestors(value) if isinstance(above, cst.ClassDef)), None)
            values = [one for _, one in assigned(file, owner, attribute)] if owner is not None else []
            sure = is_not_none(file, value)
            values = [one for one in values if not (sure and isinstance(one, cst.Name) and one.value == "None")]
            return bool(values) and all(one is not None and _is_stream(file, one) for one in values)
    return False
