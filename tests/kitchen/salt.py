"""Salt is called season."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule


@rule("KIT101", "salt")
def check(node: cst.Attribute, file: File) -> Iterator[Finding]:
    if file.name(node) == "kitchen.salt":
        yield Finding(node, "use season", (file.replace(node.attr, "season"),))
