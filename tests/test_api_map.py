"""The map is complete, and what it names exists: measured on the installed torch."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import tomllib
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import codemods
from agnostic.rule import load

torch = pytest.importorskip("torch")

HOME = Path(codemods.__file__).parent
MAP = tomllib.loads((HOME / "api.toml").read_text(encoding="utf-8"))
ROOTS = ("torch.cuda", "torch.backends.cuda", "torch.backends.cudnn", "torch.cuda.amp")
IMPORTED = {"annotations", "torch"}
"""Names that modules have by accident."""
NEW_NAME = re.compile(r"(?<![\w.])torch(?:\.\w+)+")


@cache
def modules() -> tuple[ModuleType, ...]:
    """The CUDA modules of torch and their public submodules."""
    found = {}
    for root in ROOTS:
        module = importlib.import_module(root)
        found[root] = module
        for inner in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{root}."):
            if not any(part.startswith("_") for part in inner.name.split(".")):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found[inner.name] = importlib.import_module(inner.name)
    return tuple(found.values())


def public(module: ModuleType) -> set[str]:
    """The names that a module exports or defines."""
    names = set(getattr(module, "__all__", ()))
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__:
            names.add(name)
    return {f"{module.__name__}.{name}" for name in names - IMPORTED}


def resolves(dotted: str) -> bool:
    value: object = torch
    for part in dotted.split(".")[1:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = getattr(value, part)
            except AttributeError:
                return False
            except (AssertionError, RuntimeError):  # it is there, and wants a device
                return True
    return True


def test_every_public_name_of_torch_cuda_has_a_line() -> None:
    wanted = set().union(*map(public, modules())) | {module.__name__ for module in modules()}
    assert sorted(wanted - set(MAP["api"])) == []


def test_every_line_says_one_thing() -> None:
    kinds = {"to", "rule", "keep"}
    assert [name for name, line in MAP["api"].items() if len(kinds & set(line)) != 1] == []


def test_every_replacement_exists() -> None:
    assert [line["to"] for line in MAP["api"].values() if "to" in line and not resolves(line["to"])] == []


def test_every_replacement_names_its_release() -> None:
    assert [name for name, line in MAP["api"].items() if "to" in line and "since" not in line] == []
    for name, line in MAP["api"].items():
        if line.get("to", "").startswith("torch.accelerator."):
            assert line["since"] == MAP["accelerator"][line["to"].split(".")[2]], name


def test_every_rule_is_a_rule() -> None:
    names = {rule.name for rule in load().rules.values()}
    assert {line["rule"] for line in MAP["api"].values() if "rule" in line} - names == set()


def test_every_reason_is_used_and_given() -> None:
    assert {line["keep"] for line in MAP["api"].values() if "keep" in line} == set(MAP["reasons"])


def test_the_accelerator_table_is_torch_accelerator() -> None:
    deprecated = {"current_device_idx", "set_device_idx"}
    assert sorted(MAP["accelerator"]) == sorted(set(torch.accelerator.__all__) - deprecated)


def documents() -> list[Path]:
    cases = Path(__file__).parent / "cases"
    return [*sorted(HOME.glob("*.py")), *sorted(cases.glob("*.md"))]


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.stem)
def test_every_name_that_a_rewrite_emits_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    added = re.findall(r"^\+ (.*)$", text, re.MULTILINE)
    kept = set(NEW_NAME.findall("\n".join(re.findall(r"^[-! ] (.*)$", text, re.MULTILINE))))
    names = {name for line in added for name in NEW_NAME.findall(line.partition("#")[0])} - kept
    assert sorted(name for name in names if not resolves(name)) == []
