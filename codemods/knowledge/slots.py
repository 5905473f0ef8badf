"""What a device literal stands for, judged by its slot: the same text is a device, a key, or a trainer's name."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from agnostic.file import File
from codemods.knowledge.api import lookup
from codemods.knowledge.guard import has_accelerator

Kind = Literal["device", "type", "default", "value", "text", "report"]

DEVICE_WORD = re.compile(r"(^|_)(device|dev|DEVICE|DEV)(_?(type|name|str|string|id))?$|^map_location$|^device_map$")
TAKES_TYPE = {
    "torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast", "torch.amp.GradScaler",
    "torch.GradScaler", "torch.amp.custom_fwd", "torch.amp.custom_bwd", "torch.get_autocast_dtype",
    "torch.set_autocast_dtype", "torch.is_autocast_enabled", "torch.set_autocast_enabled",
    "torch.amp.is_autocast_available", "torch.distributed.init_device_mesh", "torch.distributed.DeviceMesh",
    "torch.distributed.device_mesh.init_device_mesh", "torch.distributed.device_mesh.DeviceMesh",
    "torch.distributed.tensor.DeviceMesh", "torch.distributed._tensor.DeviceMesh",
    "torch.distributed._tensor.init_device_mesh", "torch.random.fork_rng",
}  # fmt: skip
"""Callables whose device argument must be a string."""
TAKES_DEVICE = {
    "torch.set_default_device", "torch.get_device_module", "torch.Generator", "torch.load", "torch.jit.load",
    "torch.distributed.get_default_backend_for_device", "torch.accelerator.synchronize",
    "torch.accelerator.set_device_index", "torch.accelerator.current_stream",
}  # fmt: skip
"""Callables that take a device at the position where a literal stands."""
METHODS = {"to", "to_empty", "new_empty", "new_full", "new_ones", "new_tensor", "new_zeros", "pin_memory"}
PLACES = {"device", "device_map", "map_location"}
"""Keywords that take a device, whether as a string or as a torch.device."""
REGISTRY = {"accelerator", "choices", "device_types", "help", "key", "name", "title", "prefix", "extras", "metavar"}
"""Keywords under which a device's name is something else: a trainer's registry, a list of options, a text."""
VENDORS = {
    "cpu",
    "cuda",
    "xpu",
    "mps",
    "npu",
    "hpu",
    "mlu",
    "musa",
    "mtia",
    "xla",
    "tpu",
    "neuron",
    "rocm",
    "hip",
    "meta",
}


@dataclass(frozen=True)
class Slot:
    """`device` takes a torch.device, `type` a string only; `unsure` says why a device there is a guess."""

    kind: Kind
    unsure: str = ""


TEXT = Slot("text")


def slot_of(file: File, node: cst.BaseExpression) -> Slot:
    """What a device literal is, where it stands."""
    parent = file.parent(node)
    match parent:
        case cst.Arg():
            return _argument(file, parent)
        case cst.Param(default=default, name=cst.Name(name)) if default is node:
            return Slot("default") if DEVICE_WORD.search(name) else Slot("report")
        case cst.Assign(targets=[cst.AssignTarget(target), *_]) | cst.AnnAssign(target=target):
            return _assigned(file, parent, target)
        case cst.NamedExpr(target=cst.Name(name)) if DEVICE_WORD.search(name):
            return Slot("value")
        case cst.Return():
            return Slot("value", "callers of this function may compare its result with a literal")
        case cst.DictElement(key=key):
            return TEXT if key is node else _entry(file, parent)
        case cst.Comparison() | cst.ComparisonTarget() | cst.MatchValue() | cst.Expr() | cst.ConcatenatedString():
            return TEXT  # comparisons are a rule of their own
        case cst.Element():
            return _element(file, parent)
        case cst.IfExp(body=body, orelse=orelse) if node in (body, orelse):
            return slot_of(file, parent)
        case cst.BooleanOperation():
            return slot_of(file, parent)
        case cst.Subscript() | cst.Index() | cst.SubscriptElement():
            return TEXT
    return Slot("report")


def _argument(file: File, arg: cst.Arg) -> Slot:
    call = file.parent(arg)
    if not isinstance(call, cst.Call):
        return TEXT  # an argument of a class definition
    called = file.name(call.func) or ""
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    keyword = arg.keyword.value if arg.keyword is not None else None
    position = call.args.index(arg)
    if keyword in REGISTRY or (method in ("get", "pop", "startswith", "endswith", "replace", "split") and not keyword):
        return _default_of(file, call, position) if method in ("get", "pop") else TEXT
    if method == "add_argument" or called.startswith(("click.", "typer.", "dataclasses.")):
        return Slot("default") if keyword in ("default", None) and keyword else TEXT
    if called.startswith("torch.cuda."):
        entry = lookup(called)
        return Slot("device") if entry is not None and entry.to else TEXT
    if called.endswith("fork_rng") and not has_accelerator(file, call):
        return Slot("report")  # the module of the CPU has no state to keep
    if called in TAKES_TYPE and (keyword in ("device_type", "device") or (keyword is None and position == 0)):
        return Slot("type")
    if called == "getattr" or (isinstance(call.func, cst.Name) and call.func.value == "getattr"):
        return _default_of(file, call, position)
    if called in TAKES_DEVICE and (keyword is None or DEVICE_WORD.search(keyword)):
        return Slot("device")
    if called == "torch.device":
        return Slot("device") if len(call.args) == 1 else Slot("type")
    if keyword in ("use_device", "pin_memory_device"):
        return Slot("type")
    if keyword is not None and keyword.isupper():
        return Slot("type", "it is a setting; what reads it may compare it with a literal")
    if keyword is not None and DEVICE_WORD.search(keyword):
        if keyword.endswith(("type", "name", "str", "string")):
            return Slot("type", "" if called.startswith("torch.") else _stranger(file, call))
        known = called.startswith("torch.") or method in METHODS
        return Slot("device", "" if known else _stranger(file, call))
    if keyword is None and method in METHODS and position == 0:
        return Slot("device")
    if method == "append" and file.source(call.func).lower().endswith("devices.append"):
        return Slot("value", "it is in a list of devices, which others may compare with a literal")
    if method.startswith("assert"):
        return _expected(file, arg)
    return _parameter(file, call, arg) or Slot("report")


def _parameter(file: File, call: cst.Call, arg: cst.Arg) -> Slot | None:
    """The slot of an argument of a function, class or method of this file, by the parameter that it fills."""
    function = None if arg.keyword is not None else _definition(file, call.func)
    if function is None:
        return None
    parameters = [*function.args.posonlyargs, *function.args.args]
    is_bound = bool(parameters) and parameters[0].arg in ("self", "cls")
    position = call.args.index(arg) + is_bound
    if position >= len(parameters) or not DEVICE_WORD.search(parameters[position].arg):
        return None
    annotation = parameters[position].annotation
    wants_object = annotation is not None and ast.unparse(annotation).endswith("device")
    return Slot("device" if wants_object else "type", _stranger(file, call))


def _definition(file: File, func: cst.BaseExpression) -> ast.FunctionDef | None:
    """The only function that a call of `name()` or `self.name()` may run, of a class its constructor."""
    match func:
        case cst.Name(name):
            if any(not isinstance(one.node, (cst.FunctionDef, cst.ClassDef)) for one in file.bindings(func)):
                return None
            found: list[ast.AST] = [one for one in file.ast.body if getattr(one, "name", None) == name]
            if len(found) == 1 and isinstance(found[0], ast.ClassDef):
                found = [one for one in found[0].body if getattr(one, "name", None) == "__init__"]
        case cst.Attribute(value=cst.Name("self" | "cls"), attr=cst.Name(name)):
            classes = [one for one in file.syntax if isinstance(one, ast.ClassDef)]
            found = [one for owner in classes for one in owner.body if getattr(one, "name", None) == name]
        case _:
            return None
    return found[0] if len(found) == 1 and isinstance(found[0], ast.FunctionDef) else None


def _stranger(file: File, call: cst.Call) -> str:
    name = file.source(call.func)
    return f"`{name if len(name) < 40 else name[:37] + '...'}` may want a string, or the literal itself"


def _default_of(file: File, call: cst.Call, position: int) -> Slot:
    """The fallback of `getattr(args, "device", "cuda")` or `config.get("device", "cuda")`."""
    last = len(call.args) - 1
    name = call.args[last - 1].value if last else None
    if position == last and isinstance(name, cst.SimpleString) and DEVICE_WORD.search(file.string(name) or ""):
        return Slot("value", "it is the fallback of a setting; others may compare the setting with a literal")
    return TEXT


def _assigned(file: File, statement: cst.CSTNode, target: cst.BaseExpression) -> Slot:
    match target:
        case cst.Name(name) | cst.Attribute(attr=cst.Name(name)):
            pass
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(cst.SimpleString() as key))]):
            name = file.string(key) or ""
        case _:
            return Slot("report")
    if not DEVICE_WORD.search(name):
        return Slot("report")
    block = file.parent(file.statement(statement))
    if block is not None and isinstance(file.parent(block), cst.ClassDef):
        return Slot("default")
    if "exec(" in file.text:
        return Slot("report")  # a configuration that is executed may compare the types of settings
    return Slot("value")


def _entry(file: File, element: cst.DictElement) -> Slot:
    """A value of a dictionary: a device under a key that says so, or in a `map_location`."""
    owner = file.parent(element)
    above = file.parent(owner) if owner is not None else None
    if isinstance(above, cst.Arg) and above.keyword is not None and above.keyword.value == "map_location":
        return Slot("type")
    if isinstance(above, cst.Assign) and file.source(above.targets[0].target) == "map_location":
        return Slot("type")
    key = file.string(element.key)
    if key is not None and (DEVICE_WORD.search(key) or re.fullmatch(r"(cuda|cpu)(:\d+)?", key)):
        return Slot("value", "it is a setting in a dictionary; others may compare it with a literal")
    return _expected(file, element)


def _element(file: File, element: cst.CSTNode) -> Slot:
    """A member of a list or tuple: left if the list names several kinds of device."""
    listed = file.parent(element)
    if listed is None or len(_vendors(file, listed)) > 1 or len(_vendors(file, file.statement(listed))) > 1:
        return TEXT
    above = file.parent(listed) if listed is not None else None
    if isinstance(above, (cst.Comparison, cst.ComparisonTarget)):
        return TEXT
    if isinstance(above, cst.Arg) and above.keyword is not None and above.keyword.value in REGISTRY:
        return TEXT
    if isinstance(above, cst.Assign) and file.source(above.targets[0].target).lower().endswith("devices"):
        return Slot("value", "it is in a list of devices, which others may compare with a literal")
    return _expected(file, element)


def _vendors(file: File, node: cst.CSTNode) -> set[str]:
    """The kinds of accelerator that literals below a node name; of a compound statement, none."""
    known = file.facts.setdefault("vendors", {})
    if id(node) not in known:
        parts = () if isinstance(node, cst.BaseCompoundStatement) else file.below(node)
        known[id(node)] = {(file.string(one) or "").partition(":")[0] for one in parts} & VENDORS - {"cpu"}
    return known[id(node)]


def _expected(file: File, node: cst.CSTNode) -> Slot:
    """A literal in code that runs with an accelerator only: what a test expects of the device it uses."""
    return Slot("value", "it must mean the device that is used here") if has_accelerator(file, node) else Slot("report")


def places(file: File, value: cst.BaseExpression, guess: bool) -> list[ast.Name] | None:
    """The uses of the variable of a function that a value is kept in, if all only place something on a device.

    As a guess, everything that it is handed to does so. The statements are those of the file, since a use need not
    be anywhere near the word CUDA.
    """
    match file.parent(value), file.function(value):
        case cst.Assign(targets=[cst.AssignTarget(cst.Name(name))]), cst.FunctionDef(body=body):
            nodes = [node for statement in file.suite(body) for node in ast.walk(statement)]
            uses = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
            placed = [one for node in nodes if isinstance(node, ast.Call) for one in _placed(node, guess)]
            found = [use for use in uses if isinstance(use.ctx, ast.Load)]
            return found if all(use in placed for use in found) else None
    return None


def _placed(call: ast.Call, guess: bool) -> list[ast.expr]:
    """The arguments of a call that say where something goes, whether as a string or as a torch.device."""
    if guess and not (isinstance(call.func, ast.Name) and call.func.id in ("str", "len", "print")):
        return [*call.args, *(word.value for word in call.keywords)]
    method = isinstance(call.func, ast.Attribute) and call.func.attr in METHODS
    return [*call.args[:method], *(word.value for word in call.keywords if word.arg in PLACES)]
