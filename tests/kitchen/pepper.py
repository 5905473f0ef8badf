"""Pepper is hot."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule


@rule("KIT102", "pepper")
def check(node: cst.Attribute, file: File) -> Iterator[Finding]:
    if file.name(node) == "kitchen.pepper":
        yield Finding(node, "use season", (file.replace(node.attr, "season"),), unsafe="it is milder")
