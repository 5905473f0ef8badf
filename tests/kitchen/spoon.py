"""A rule whose fix does not exist in the kitchen."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule


@rule("KIT106", "spoon")
def check(node: cst.Attribute, file: File) -> Iterator[Finding]:
    if file.name(node) == "kitchen.spoon":
        yield Finding(node, "use a ladle", (file.replace(node.attr, "ladle"),))
