"""New names for what was named after CUDA, in projects that have a word for it."""

from __future__ import annotations

import re

import libcst as cst

from agnostic.file import File

PART = re.compile(r"(?<![a-zA-Z])(cuda|CUDA)(?![a-zA-Z])")
"""`cuda` as a word of an identifier or an option."""
BY_TEXT = re.compile(r"(?<![\w.])(locals|globals|eval|exec)\(")
"""Functions that reach variables by their names."""


def renamed(name: str, word: str) -> str:
    """`no_cuda` with another word for CUDA."""
    return PART.sub(lambda found: word.upper() if found[0].isupper() else word, name)


def references(file: File, variable: cst.Name) -> list[cst.Name]:
    """Every place that sets or reads a variable; nothing if it is reached in other ways, too."""
    bindings = file.bindings(variable)
    found = []
    for node in file.tree.nodes:
        if isinstance(node, (cst.Global, cst.Nonlocal)) and any(one.name.value == variable.value for one in node.names):
            return []
        if isinstance(node, cst.Name) and node.value == variable.value and file.bindings(node) == bindings:
            match file.parent(node):
                case cst.Attribute(attr=other) | cst.Arg(keyword=other) | cst.Param(name=other) if other is node:
                    continue
                case cst.FormattedStringExpression(equal=cst.AssignEqual()):
                    return []  # the name is part of what is shown
            found.append(node)
    return [] if BY_TEXT.search(file.text) else found


def attributes(file: File, attribute: cst.Attribute) -> list[cst.Name]:
    """Every place that sets or reads an attribute of a variable, which is known by that name."""
    text = file.source(attribute)
    return [node.attr for node in file.tree.nodes if isinstance(node, cst.Attribute) and file.source(node) == text]
