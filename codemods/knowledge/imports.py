"""Names that were imported: respelled where they are used, or moved with their import."""

from __future__ import annotations

import libcst as cst

from agnostic.file import File
from agnostic.rule import Edit
from codemods.knowledge.spell import spell


def from_import(file: File, node: cst.CSTNode) -> cst.ImportAlias | None:
    """The `from x import y` alias that gives a bare name its meaning."""
    if not isinstance(node, cst.Name):
        return None
    aliases = [binding.node for binding in file.bindings(node)]
    if len(aliases) == 1 and isinstance(aliases[0], cst.ImportAlias):
        return aliases[0] if isinstance(file.parent(aliases[0]), cst.ImportFrom) else None
    return None


def respell(
    file: File, node: cst.Attribute | cst.Name, home: str, new: str
) -> tuple[tuple[Edit, ...], tuple[cst.CSTNode, ...]]:
    """Write `new` at a node: (edits, the import that has to change with it).

    A bare name that was imported under its own name stays, if `home` has the same name to import from.
    """
    alias = from_import(file, node)
    if alias is not None and movable(file, alias) == home:
        return (), (alias,)
    text, edits = spell(file, new, node)
    return (*edits, file.replace(node, text)), ()


def movable(file: File, alias: cst.ImportAlias) -> str | None:
    """The generic name that an imported CUDA name can be imported as instead; None if there is none."""
    from codemods.knowledge.api import entries
    from codemods.knowledge.uses import ROOTS

    statement = file.parent(alias)
    if not isinstance(statement, cst.ImportFrom) or statement.module is None:
        return None
    name = f"{file.source(statement.module)}.{file.source(alias.name)}"
    entry = entries().get(name)
    if not name.startswith(ROOTS) or entry is None:
        return None
    last = name.rpartition(".")[2]
    if entry.rule == "cuda-amp":
        return f"torch.amp.{last}"
    return None


def deleted(file: File, statement: cst.Import | cst.ImportFrom, alias: cst.ImportAlias) -> Edit:
    """Take one name out of an import, and the import with its last one."""
    names = list(statement.names)  # type: ignore[arg-type]
    if len(names) > 1:
        at = names.index(alias)
        if at + 1 < len(names):
            return Edit(file.span(alias)[0], file.span(names[at + 1])[0], "")
        return Edit(file.span(names[at - 1])[1], file.span(alias)[1], "")
    line = file.statement(statement)
    block = file.parent(line)
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    if not alone or (isinstance(block, cst.IndentedBlock) and len(block.body) == 1):
        return file.replace(statement, "pass")
    return file.delete_statement(line)
