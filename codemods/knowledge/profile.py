"""House styles: how a project spells the device, its functions and its decorators, read from `profiles/*.toml`."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agnostic.config import ConfigError
from codemods.knowledge.late_import import is_another, is_late, late_import

if TYPE_CHECKING:
    import libcst as cst

    from agnostic.file import File
    from agnostic.rule import Edit

ASIDE = re.compile(r"(^|/)(tests?|testing|examples?|benchmarks?|recipes|scripts|tools|test_\w+)(/|$)")
"""Where a project keeps code that imports its package; elsewhere a few imports speak of a user of it."""
FOLDER = Path(__file__).parent.with_name("profiles")


@dataclass(frozen=True)
class Profile:
    """One house style. What is empty is written in the generic form."""

    name: str
    packages: tuple[str, ...] = ()
    """The project's packages: a file belongs to it that imports one, or is part of one."""
    text: str = ""
    """A further pattern on the text of a file that belongs to the project."""
    path: str = ""
    """A pattern on the path of a file in the project, for a style of tests or sources only."""
    device: str = ""
    """The expression for the device."""
    device_kind: Literal["device", "type"] = "type"
    """Whether that expression is a torch.device, or its type."""
    constant: str = ""
    """The name of the variable that a file keeps the device in."""
    expression: str = ""
    """What that variable is set to."""
    module: str = ""
    """The expression for the module that stands in for torch.cuda, with functions of the same names."""
    current: str = ""
    """The expression for the current device, with its index, where a device is wanted."""
    backend: str = ""
    """The expression for the backend of a process group."""
    word: str = ""
    """What the project's prose calls an accelerator, such as `GPU`."""
    assume_accelerator: bool = False
    """The project needs no guard for machines without an accelerator."""
    late_devices: bool = False
    """No device is known while the project is imported, so that none is made for a whole module."""
    renamed: str = ""
    """The expression for the name of an out-of-tree backend, where the project lists devices by name."""
    identifier: str = ""
    """What options and variables that were named after CUDA say instead of `cuda`."""
    oldest_torch: str = ""
    """The oldest torch that the project supports, for files that come without its requirements."""
    calls: dict[str, str] = field(default_factory=dict)
    """A function of torch.cuda -> the project's own call; `{device}` is its first argument."""
    decorators: dict[str, str] = field(default_factory=dict)
    """A decorator for CUDA -> the one for any accelerator."""
    skip: str = ""
    """The decorator that skips a test where there is no accelerator."""
    imports: dict[str, str] = field(default_factory=dict)
    """A name -> the module to import it from."""


@cache
def profiles() -> dict[str, Profile]:
    """All profiles by name: those for a part of a project first, and those that know the project by its packages."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        known = {item.name.replace("_", "-"): item.name for item in fields(Profile)}
        found.append(Profile(name=path.stem, **{known[key]: value for key, value in table.items()}))
    return {one.name: one for one in sorted(found, key=lambda one: (not one.path, not one.packages, one.name))}


def profile(file: File) -> Profile:
    """The profile that the settings name; for `auto`, the one that most speaks for, else the generic one.

    Raises ConfigError for a name that is no profile.
    """
    wanted = file.settings.profile
    if wanted != "auto":
        if wanted not in profiles():
            raise ConfigError(f"there is no profile `{wanted}`; there are {', '.join(sorted(profiles()))}")
        return profiles()[wanted]
    path = file.path.as_posix()
    found = [(_belongs(one, file), one) for one in profiles().values() if re.search(one.path, path)]
    score, best = max(found, key=lambda pair: pair[0])
    return best if score else profiles()["generic"]


def _belongs(profile: Profile, file: File) -> int:
    """How much speaks for a file being part of a project, and not the one that defines the project's words."""
    where = file.path.with_suffix("").as_posix()
    if any(where.endswith(module.replace(".", "/")) for module in profile.imports.values()):
        return 0
    score = 2 * bool(profile.text and re.search(profile.text, file.text, re.MULTILINE))
    for package in profile.packages:
        above, inside, _ = f"/{where}".partition(f"/{package}/")
        score += 100 * (bool(inside) and not ASIDE.search(f"{above}/"))
        if package in file.text:
            imports = re.findall(rf"^([ \t]*)(?:from|import) {package}\b", file.text, re.MULTILINE)
            always = imports.count("")  # what is imported where it is there is another project's
            score += len(imports) + always if len(imports) > 4 or ASIDE.search(where) else 0
    return score


def guess(file: File, words: str) -> str:
    """Why words of the project are unsafe: nothing if a person has said which project it is."""
    return f"the project must have `{words}`" if file.settings.profile == "auto" else ""


def out_of_reach(file: File, words: str, node: cst.CSTNode) -> str:
    """Why words of the project cannot be used at a node; nothing if they can."""
    for name, module in _named(file, words):
        if is_another(file, module, name):
            return f"`{name}` is not that of `{module}` in this file"
    for name, module in _wanted(file, words):
        if is_late(file, module, name) and late_import(file, node, module, name) is None:
            return f"`{name}` is imported inside of functions here, since `{module}` needs this file in turn"
    return ""


def own_imports(file: File, text: str, node: cst.CSTNode | None = None) -> tuple[Edit, ...]:
    """The edits that import what an expression in the project's own words needs at a node."""
    edits: dict[tuple[int, int], Edit] = {}
    for name, module in _wanted(file, text):
        if node is not None and is_late(file, module, name):
            found = late_import(file, node, module, name) or ()
        else:
            found = (_extend(file, module, name) or _new(file, module, name),)
        for edit in found:
            place = (edit.start, edit.end)
            edits[place] = replace(edit, text=edits[place].text + edit.text) if place in edits else edit
    return tuple(edits.values())


def _named(file: File, text: str) -> list[tuple[str, str]]:
    """The project's names in an expression, each with its module."""
    imports = sorted(file.profile.imports.items())
    return [(name, module) for name, module in imports if re.search(rf"(?<![\w.]){re.escape(name)}\b", text)]


def _wanted(file: File, text: str) -> list[tuple[str, str]]:
    """Those of them that the file has to import."""
    return [(name, module) for name, module in _named(file, text) if not _binds(file, name)]


def _binds(file: File, name: str) -> bool:
    """Whether a name is there already, or comes with the decorator that is renamed to it."""
    return any(
        (isinstance(one, (ast.Import, ast.ImportFrom))
        and any(name in (alias.asname or alias.name, file.profile.decorators.get(alias.name)) for alias in one.names))
        or (isinstance(one, (ast.FunctionDef, ast.ClassDef)) and one.name == name)
        or (isinstance(one, ast.Assign)
        and any(isinstance(part, ast.Name) and part.id == name for target in one.targets for part in ast.walk(target)))
        for one in file.ast.body
    )  # fmt: skip


def _extend(file: File, module: str, name: str) -> Edit | None:
    """Add a name to the file's import from a module, in order; test helpers may be known by another path."""
    from agnostic.rule import Edit

    last_part = module.rpartition(".")[2]
    for statement in file.ast.body:
        if isinstance(statement, ast.ImportFrom) and (
            statement.module == module or ("testing" in last_part and (statement.module or "").endswith(last_part))
        ):
            later = next((alias for alias in statement.names if alias.name > name), None)
            if later is not None:
                at = file.lines[later.lineno - 1] + later.col_offset
                alone = not file.text[file.lines[later.lineno - 1] : at].strip()
                gap = file.newline + file.text[file.lines[later.lineno - 1] : at] if alone else " "
                return Edit(at, at, f"{name},{gap}")
            last = statement.names[-1]
            at = file.lines[(last.end_lineno or 1) - 1] + (last.end_col_offset or 0)
            start = file.lines[last.lineno - 1]
            indent = file.text[start : start + last.col_offset]
            return Edit(at, at, f",{file.newline}{indent}{name}" if not indent.strip() else f", {name}")
    return None


def _new(file: File, module: str, name: str) -> Edit:
    """A new import behind the file's others."""
    from agnostic.rule import Edit
    from codemods.knowledge.spell import import_edit

    line = f"from {module} import {name}"
    place = None
    for statement in file.ast.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            if isinstance(statement, ast.ImportFrom) and not statement.level and (statement.module or "") > module:
                if place is not None and (statement.module or "").partition(".")[0] == module.partition(".")[0]:
                    at = file.lines[statement.lineno - 1]
                    return Edit(at, at, f"{line}{file.newline}")
            place = statement.end_lineno
        elif place is not None and not isinstance(statement, (ast.If, ast.Try)):
            break
    if place is None:
        empty = import_edit(file, "")
        return Edit(empty.start, empty.end, f"{line}{file.newline * 2}")
    at = file.lines[place] if place < len(file.lines) else len(file.text)
    return Edit(at, at, f"{line}{file.newline}")
