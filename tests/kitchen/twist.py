"""A rule without an end."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule


@rule("KIT108", "twist")
def check(node: cst.Attribute, file: File) -> Iterator[Finding]:
    if file.name(node) in ("kitchen.twist", "kitchen.twist_again"):
        other = "twist_again" if node.attr.value == "twist" else "twist"
        yield Finding(node, "twist", (file.replace(node.attr, other),))
