"""The shapes that other programs read."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from agnostic.check import UNREADABLE, Diagnostic, Place, unreadable
from agnostic.output import FORMATS
from agnostic.rule import Edit

PATH = Path("a, b:c.py")
SAFE = Diagnostic(
    "AGN201",
    "cuda-method",
    "50% of\nit",
    PATH,
    Place(3, 9),
    Place(3, 15),
    edits=((Edit(8, 14, "to(é)"), Place(3, 9), Place(3, 15)),),
)
UNSAFE = Diagnostic(
    "AGN407", "stream", "a stream", PATH, Place(4, 1), Place(5, 2), SAFE.edits, unsafe="it is another class"
)
LEFT = Diagnostic("AGN407", "stream", "a stream", PATH, Place(4, 1), Place(5, 2), SAFE.edits, stays="line 9 stays")
ALL = [SAFE, UNSAFE, LEFT, unreadable(Path("bad.py"), "why")]


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_found_is_well_formed_too(name: str) -> None:
    text = FORMATS[name]([])
    if name in ("json", "gitlab"):
        assert json.loads(text) == []
    elif name == "sarif":
        assert json.loads(text)["runs"][0]["results"] == []
    elif name == "junit":
        assert ElementTree.fromstring(text).get("failures") == "0"
    else:
        assert text == ""


def test_concise() -> None:
    assert click.unstyle(FORMATS["concise"](ALL[1:])).splitlines() == [
        "a, b:c.py:4:1: AGN407 [unsafe] a stream",
        "a, b:c.py:4:1: AGN407 a stream",
        "bad.py:1:1: AGN000 could not be read: why",
    ]


def test_full_shows_the_line_and_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_text("import torch\n\tm.cuda()\n")
    one = Diagnostic("AGN201", "n", "message", path, Place(2, 4), Place(2, 8), SAFE.edits, unsafe="because")
    lines = click.unstyle(FORMATS["full"]([one])).splitlines()
    assert lines[1:] == [" 2 | \tm.cuda()", "   | \t  ^^^^", "   = unsafe: because", ""]


def test_json_has_ruffs_shape() -> None:
    safe, unsafe, left, _ = json.loads(FORMATS["json"](ALL))
    place = {"row": 3, "column": 9}, {"row": 3, "column": 15}
    assert safe == {
        "code": "AGN201",
        "name": "cuda-method",
        "filename": str(PATH.absolute()),
        "cell": None,
        "message": "50% of\nit",
        "url": safe["url"],
        "location": place[0],
        "end_location": place[1],
        "fix": {
            "applicability": "safe",
            "message": "50% of\nit",
            "reason": None,
            "edits": [{"content": "to(é)", "location": place[0], "end_location": place[1]}],
        },
    }
    assert safe["url"].endswith("#agn201-cuda-method")
    assert (unsafe["fix"]["applicability"], unsafe["fix"]["reason"]) == ("unsafe", "it is another class")
    assert left["fix"] is None
    assert left["message"] == "a stream (left: line 9 stays)"


def test_sarif() -> None:
    log = json.loads(FORMATS["sarif"](ALL))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == [UNREADABLE, "AGN201", "AGN407"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    first = run["results"][0]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%2C%20b%3Ac.py"
    assert place["region"] == {"startLine": 3, "startColumn": 9, "endLine": 3, "endColumn": 15}
    (change,) = first["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"] == {"text": "to(é)"}
    assert [result["level"] for result in run["results"]] == ["warning"] * 3 + ["error"]
    assert ["fixes" in result for result in run["results"]] == [True, True, False, False]


def test_github() -> None:
    first, second, _, last = FORMATS["github"](ALL).splitlines()
    fields = "title=AGN201 cuda-method,file=a%2C b%3Ac.py,line=3,endLine=3,col=9,endColumn=15"
    assert first == f"::warning {fields}::a, b:c.py:3:9: AGN201 50%25 of%0Ait"
    assert "col=" not in second  # columns count on one line only
    assert last.startswith("::error title=AGN000 unreadable-file,file=bad.py,line=1")


def test_gitlab() -> None:
    records = json.loads(FORMATS["gitlab"](ALL))
    assert records[1]["location"] == {"path": "a, b:c.py", "lines": {"begin": 4, "end": 5}}
    assert [record["severity"] for record in records] == ["minor"] * 3 + ["major"]
    assert len({record["fingerprint"] for record in records}) == len(records)
    assert json.loads(FORMATS["gitlab"](ALL)) == records


def test_junit() -> None:
    root = ElementTree.fromstring(FORMATS["junit"](ALL))
    assert root.tag == "testsuites"
    assert {suite.get("name"): suite.get("failures") for suite in root} == {"a, b:c.py": "3", "bad.py": "1"}
    case = root[0][0]
    assert (case.get("name"), case.get("line"), case.get("column")) == ("AGN201 cuda-method", "3", "9")
    assert case[0].tag == "failure"


def test_lintrunner() -> None:
    messages = [json.loads(line) for line in FORMATS["lintrunner"](ALL).splitlines()]
    assert len(messages) == len(ALL)
    keys = {"path", "line", "char", "code", "severity", "name", "original", "replacement", "description"}
    assert all(set(message) == keys for message in messages)
    assert (messages[0]["line"], messages[0]["char"], messages[0]["severity"]) == (3, 9, "warning")
