"""What a rule is: a function that looks at one node and yields findings."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import re
import typing
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

if typing.TYPE_CHECKING:
    import libcst as cst

    from agnostic.file import File

Span = tuple[int, int]
"""First character of a stretch of text and the one behind its last."""


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the characters `[start, end)` of a file by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Finding:
    """One thing wrong at one node, with the edits that mend it, if any do."""

    node: cst.CSTNode
    message: str
    edits: tuple[Edit, ...] = ()
    unsafe: str = ""
    """Why the edits may change what the program does; empty if they cannot."""
    together: tuple[cst.CSTNode, ...] = ()
    """The edits are right only if every finding inside these nodes is fixed as well."""
    alone: bool = False
    """The edits may be made while other findings on the line stay, as in a list of imports."""
    blocks: bool = True
    """False if what is reported is harmless elsewhere, so that a fix around it may go ahead."""
    place: Span | None = None
    """Where it stands, if that is no node: a comment, or text that the mask may hide."""
    follows: tuple[Span, ...] = ()
    """It is a finding only where something in these stretches of text is fixed, and nothing is left there."""
    due: bool = False
    """Something was fixed there before, so that nothing need be fixed now."""


@dataclass(frozen=True)
class Rule:
    """A check with what its file says about it."""

    code: str
    name: str
    doc: str
    tokens: tuple[str, ...]
    nodes: tuple[type[cst.CSTNode], ...]
    check: Callable[[typing.Any, File], Iterator[Finding]]

    @property
    def summary(self) -> str:
        """The first line of the rule's documentation."""
        return self.doc.partition("\n")[0]


_registered: dict[str, dict[str, Rule]] = defaultdict(dict)
"""The rules of each package by their code."""


def rule(code: str, *tokens: str) -> Callable[[Callable], Callable]:
    """Register the decorated function as the rule of its file.

    Its first annotation says which nodes it is shown. `tokens` are strings of which a file must hold one
    for the rule to find anything; everything that skips text without parsing it derives from them. They are
    written as literals, because they are read without importing the rule.
    """

    def register(check: Callable) -> Callable:
        module = inspect.getmodule(check)
        assert module is not None
        hint = next(iter(typing.get_type_hints(check, localns={"File": object}).values()))
        package, _, name = module.__name__.rpartition(".")
        name = name.replace("_", "-")
        if code in _registered[package] and _registered[package][code].name != name:
            raise ValueError(f"{code} is the code of two rules: {_registered[package][code].name} and {name}")
        _registered[package][code] = Rule(
            code=code,
            name=name,
            doc=inspect.cleandoc(module.__doc__ or ""),
            tokens=tokens,
            nodes=typing.get_args(hint) or (hint,),
            check=check,
        )
        return check

    return register


@dataclass(frozen=True)
class Ruleset:
    """All rules of a package, and what the package says about how to read files for them."""

    rules: dict[str, Rule]
    packages: tuple[str, ...]
    """The packages through which rules resolve names."""
    evidence: tuple[str, ...]
    """Patterns of further text that rules look at when they judge a place; each begins with plain text."""
    profile: Callable[[File], object]
    """Gives the house style of the project that a file belongs to."""
    known: Callable[[str, tuple[int, ...]], bool]
    """Whether a dotted name exists in a release of the packages."""
    veto: Callable[[File, cst.CSTNode], str]
    """Why nothing may be changed at a node; empty if it may."""

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The strings of which a file must hold one for any rule to find anything."""
        return shortest(token for rule in self.rules.values() for token in rule.tokens)


def folder(package: str) -> Path:
    """Where the files of a package are, which is not imported for that."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0])


_DECORATOR = re.compile(r"^@rule\((.*?)\)[^\n]*\n^def ", re.MULTILINE | re.DOTALL)


@cache
def declared(package: str = "codemods") -> dict[str, tuple[str, ...]]:
    """The tokens of each rule by its code, read from the files without importing them.

    Most files hold no token, and a run over such files need not wait for libcst.
    """
    found = {}
    for path in sorted(folder(package).glob("*.py")):
        for arguments in _DECORATOR.findall(path.read_text(encoding="utf-8")):
            code, *tokens = ast.literal_eval(f"({arguments},)")
            found[code] = tuple(tokens)
    return found


def shortest(tokens: Iterable[str]) -> tuple[str, ...]:
    """Sorted tokens without those that another one is part of."""
    given = set(tokens)
    return tuple(sorted(token for token in given if not any(one in token and one != token for one in given)))


@cache
def load(package: str = "codemods") -> Ruleset:
    """Import every rule file of a package."""
    home = importlib.import_module(package)
    for module in pkgutil.iter_modules(home.__path__):
        importlib.import_module(f"{package}.{module.name}")
    rules = dict(sorted(_registered[package].items()))
    return Ruleset(rules, home.PACKAGES, home.EVIDENCE, home.profile, home.known, home.veto)
