"""Two fixes that need each other and change the same text."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule


@rule("KIT109", "layer")
def check(node: cst.Attribute, file: File) -> Iterator[Finding]:
    if file.name(node) == "kitchen.layer":
        call = file.parent(node)
        assert call is not None
        yield Finding(node, "first", (file.replace(call, "kitchen.stew()"),), together=(call,))
        yield Finding(call, "second", (file.replace(call, "kitchen.oven()"),), together=(call,))
