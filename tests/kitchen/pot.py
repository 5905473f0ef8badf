"""A pot becomes a grill if all that is in it can be changed."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule


@rule("KIT103", "pot")
def check(node: cst.Attribute, file: File) -> Iterator[Finding]:
    if file.name(node) == "kitchen.pot":
        dish = file.function(node)
        assert dish is not None
        yield Finding(node, "use a grill", (file.replace(node.attr, "grill"),), together=(dish.body,))
