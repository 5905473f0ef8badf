"""Findings for programs: ruff's JSON, SARIF, GitHub, GitLab, JUnit and lintrunner."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from agnostic import __version__
from agnostic.check import FAILED, UNREADABLE, Diagnostic, Place

HOME = "https://github.com/torch-agnostic/torch-agnostic"


def shown(path: Path) -> str:
    """The path as a person would type it."""
    try:
        return os.path.relpath(path)
    except ValueError:
        return str(path)


def is_error(one: Diagnostic) -> bool:
    """Whether a finding is about a file that was not looked at."""
    return one.code in (UNREADABLE, FAILED)


def message(one: Diagnostic) -> str:
    return one.message + (f" (left: {one.stays})" if one.stays else "")


def url(one: Diagnostic) -> str:
    return f"{HOME}#{one.code.lower()}-{one.name}"


def as_json(diagnostics: Sequence[Diagnostic]) -> str:
    """A list in ruff's shape, so that its readers work."""
    return json.dumps([_record(one) for one in diagnostics], indent=2, ensure_ascii=False) + "\n"


def _record(one: Diagnostic) -> dict[str, Any]:
    fix = None
    if one.applicability:
        fix = {
            "applicability": one.applicability,
            "message": one.message,
            "reason": one.unsafe or None,
            "edits": [
                {"content": edit.text, "location": _place(start), "end_location": _place(end)}
                for edit, start, end in one.edits
            ],
        }
    return {
        "code": one.code,
        "name": one.name,
        "filename": str(one.path.absolute()),
        "cell": None,
        "message": message(one),
        "url": url(one),
        "location": _place(one.start),
        "end_location": _place(one.end),
        "fix": fix,
    }


def _place(place: Place) -> dict[str, int]:
    return {"row": place.row, "column": place.column}


def sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """SARIF 2.1.0, for code scanning; a fix is included where there is one."""
    codes = sorted({(one.code, one.name) for one in diagnostics})
    rules = [{"id": code, "name": name, "helpUri": f"{HOME}#{code.lower()}-{name}"} for code, name in codes]
    numbers = {code: number for number, (code, _) in enumerate(codes)}
    driver = {
        "name": "torch-agnostic",
        "informationUri": HOME,
        "version": __version__,
        "rules": rules,
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, numbers[one.code]) for one in diagnostics],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _result(one: Diagnostic, number: int) -> dict[str, Any]:
    artifact = {"uri": quote(shown(one.path).replace(os.sep, "/"))}
    place = {"physicalLocation": {"artifactLocation": artifact, "region": _region(one.start, one.end)}}
    result: dict[str, Any] = {
        "ruleId": one.code,
        "ruleIndex": number,
        "level": "error" if is_error(one) else "warning",
        "message": {"text": message(one)},
        "locations": [place],
    }
    if one.applicability:
        replacements = [
            {"deletedRegion": _region(start, end), "insertedContent": {"text": edit.text}}
            for edit, start, end in one.edits
        ]
        change = {"artifactLocation": artifact, "replacements": replacements}
        description = (one.unsafe and f"Unsafe: {one.unsafe}") or "Safe"
        result["fixes"] = [{"description": {"text": description}, "artifactChanges": [change]}]
    return result


def _region(start: Place, end: Place) -> dict[str, int]:
    return {
        "startLine": start.row,
        "startColumn": start.column,
        "endLine": end.row,
        "endColumn": end.column,
    }


def github(diagnostics: Sequence[Diagnostic]) -> str:
    """Workflow commands, which GitHub shows as annotations; columns count on one line only."""
    lines = []
    for one in diagnostics:
        fields = {"title": f"{one.code} {one.name}", "file": shown(one.path), "line": one.start.row}
        fields["endLine"] = one.end.row
        if one.start.row == one.end.row:
            fields |= {"col": one.start.column, "endColumn": one.end.column}
        listed = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in fields.items())
        kind = "error" if is_error(one) else "warning"
        text = f"{shown(one.path)}:{one.start.row}:{one.start.column}: {one.code} {message(one)}"
        lines.append(f"::{kind} {listed}::{_escaped(text)}\n")
    return "".join(lines)


def _escaped(text: str, more: str = "") -> str:
    return "".join(f"%{ord(char):02X}" if char in "%\r\n" + more else char for char in text)


def gitlab(diagnostics: Sequence[Diagnostic]) -> str:
    """A code quality report."""
    seen: Counter[tuple[str, str, str]] = Counter()
    records = []
    for one in diagnostics:
        same = (shown(one.path), one.code, one.message)
        seen[same] += 1  # so that equal findings of a file have fingerprints of their own
        digest = hashlib.sha256("\0".join([*same, str(seen[same])]).encode()).hexdigest()
        records.append(
            {
                "description": f"{one.code}: {message(one)}",
                "check_name": one.code,
                "fingerprint": digest,
                "severity": "major" if is_error(one) else "minor",
                "location": {
                    "path": shown(one.path),
                    "lines": {"begin": one.start.row, "end": one.end.row},
                },
            }
        )
    return json.dumps(records, indent=2, ensure_ascii=False) + "\n"


def junit(diagnostics: Sequence[Diagnostic]) -> str:
    """One suite for each file, one failed case for each finding; one that passes if there is none."""
    root = ElementTree.Element("testsuites", name="torch-agnostic")
    root.set("tests", str(max(1, len(diagnostics))))
    root.set("failures", str(len(diagnostics)))
    root.set("errors", "0")
    files: dict[Path, list[Diagnostic]] = {}
    for one in diagnostics:
        files.setdefault(one.path, []).append(one)
    for path, found in files.items():
        suite = ElementTree.SubElement(root, "testsuite", name=shown(path), package="torch-agnostic")
        suite.set("tests", str(len(found)))
        suite.set("failures", str(len(found)))
        suite.set("errors", "0")
        for one in found:
            name = f"{one.code} {one.name}"
            case = ElementTree.SubElement(suite, "testcase", name=name, classname=shown(path))
            case.set("line", str(one.start.row))
            case.set("column", str(one.start.column))
            failure = ElementTree.SubElement(case, "failure", message=message(one))
            failure.text = f"line {one.start.row}, column {one.start.column}: {message(one)}"
    if not diagnostics:
        suite = ElementTree.SubElement(root, "testsuite", name="torch-agnostic", tests="1", failures="0")
        suite.set("errors", "0")
        ElementTree.SubElement(suite, "testcase", name="no findings", classname="torch-agnostic")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def lintrunner(diagnostics: Sequence[Diagnostic]) -> str:
    """One LintMessage on each line."""
    return "".join(
        json.dumps(
            {
                "path": shown(one.path),
                "line": one.start.row,
                "char": one.start.column,
                "code": "TORCH_AGNOSTIC",
                "severity": "error" if is_error(one) else "warning",
                "name": f"{one.code} {one.name}",
                "original": None,
                "replacement": None,
                "description": message(one),
            },
            ensure_ascii=False,
        )
        + "\n"
        for one in diagnostics
    )
