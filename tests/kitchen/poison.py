"""A rule whose fix is no Python."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from agnostic.file import File
from agnostic.rule import Finding, rule


@rule("KIT105", "poison")
def check(node: cst.Attribute, file: File) -> Iterator[Finding]:
    if file.name(node) == "kitchen.poison":
        yield Finding(node, "remove it", (file.replace(node, "1 +"),))
