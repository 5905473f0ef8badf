"""The map from CUDA-only names to generic ones, read from `api.toml`."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One line of the map; the file says what each field means."""

    name: str
    to: str = ""
    since: str = ""
    cpu: str = ""
    skip: bool = False
    unsafe: str = ""
    rule: str = ""
    keep: str = ""
    harmless: bool = False


@cache
def _tables() -> dict[str, dict]:
    return tomllib.loads(Path(__file__).parent.with_name("api.toml").read_text(encoding="utf-8"))


@cache
def entries() -> dict[str, Entry]:
    """Every line of the map by its name, the reason of a `keep` spelled out."""
    tables = _tables()
    found = {}
    for name, line in tables["api"].items():
        if reason := line.get("keep"):
            line = {
                "keep": tables["reasons"][reason]["text"],
                "harmless": tables["reasons"][reason].get("harmless", False),
            }
        found[name] = Entry(name, **line)
    return found


def lookup(name: str | None) -> Entry | None:
    """The line for a dotted name, or for the longest part of it that has one: a member of what is kept is kept."""
    found = entries()
    while name and name.startswith(("torch.cuda", "torch.backends.cud")):
        if name in found:
            return found[name]
        name = name.rpartition(".")[0]
    return None


def known(name: str, torch: tuple[int, ...]) -> bool:
    """Whether a generic name exists in a release of torch, as far as the map knows."""
    if not name.startswith("torch.accelerator."):
        return True
    parts = name.split(".")
    since = _tables()["accelerator"].get(parts[2])
    return since is not None and tuple(map(int, since.split("."))) <= torch


def explain(name: str) -> str | None:
    """What becomes of an API, for people."""
    entry = entries().get(name)
    if entry is None:
        close = difflib.get_close_matches(name, entries(), n=3, cutoff=0.8) if name.startswith("torch.") else []
        return (
            f"`{name}` is not in the map; did you mean {' or '.join(f'`{one}`' for one in close)}?" if close else None
        )
    if entry.keep:
        return f"`{name}` stays: {entry.keep}."
    if entry.rule:
        from agnostic.rule import load

        rule = next(rule for rule in load().rules.values() if rule.name == entry.rule)
        return f"`{name}` is rewritten by {rule.code} {rule.name}.\n\n{rule.doc}"
    text = f"`{name}` becomes `{entry.to}` (torch {entry.since})."
    if entry.cpu:
        text += (
            f" Without an accelerator the original gives {entry.cpu} and the replacement raises, so it gets a guard."
        )
    if entry.unsafe:
        text += f" Unsafe: {entry.unsafe}."
    return text
