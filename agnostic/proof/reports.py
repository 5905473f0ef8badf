"""The files of a verification for programs: JSON, which a later one can compare with, and JUnit."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from agnostic.config import ConfigError
from agnostic.proof.compare import Verdict
from agnostic.proof.program import Run

VERSION = 1


def to_json(program: Sequence[str], verdicts: Sequence[Verdict], runs: Sequence[Run], agreement: Any) -> str:
    """Everything that was recorded and found."""
    return json.dumps(
        {
            "version": VERSION,
            "program": list(program),
            "verdicts": [{**dataclasses.asdict(verdict), "text": str(verdict)} for verdict in verdicts],
            "touches": agreement and agreement.as_json(),
            "runs": [dataclasses.asdict(run) for run in runs],
        },
        indent=1,
    )


def read_runs(path: Path) -> dict[str, Run]:
    """The runs by device of a file that `to_json` made. Raises ConfigError if it is not one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        runs = [Run(**{**run, "ranks": {int(rank): e for rank, e in run["ranks"].items()}}) for run in content["runs"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is not a report of `torch-agnostic verify`: {error}") from None
    return {run.device: run for run in runs}


def to_junit(program: Sequence[str], verdicts: Sequence[Verdict], runs: Sequence[Run]) -> str:
    """One test case per comparison."""
    failed = [verdict for verdict in verdicts if not verdict.good]
    suite = ElementTree.Element("testsuite", name="torch-agnostic verify", tests=str(len(verdicts)), errors="0")
    suite.set("failures", str(len(failed)))
    suite.set("time", f"{sum(run.seconds for run in runs):.3f}")
    for verdict in verdicts:
        name = f"{verdict.left} and {verdict.right}"
        case = ElementTree.SubElement(suite, "testcase", classname=" ".join(program), name=name)
        if not verdict.good:
            broken = [run for run in runs if run.status != "ended"]
            detail = ElementTree.SubElement(case, "failure", message=str(verdict))
            detail.text = "\n".join(run.traceback for run in broken) or str(verdict)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
