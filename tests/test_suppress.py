"""Comments that silence findings, and those that silence nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from agnostic.check import UNUSED, check_text
from agnostic.config import Settings

SETTINGS = Settings(root=Path("/nowhere"), profile="generic")


def codes(text: str, **settings: object) -> list[str]:
    given = Settings(root=Path("/nowhere"), profile="generic", **settings)  # type: ignore[arg-type]
    return [one.code for one in check_text(Path("file.py"), f"import torch\n{text}", given)[0]]


SILENT = {
    "at the end of the line": "m.cuda()  # agnostic: ignore[AGN201] measured here\n",
    "all rules": "m.cuda()  # agnostic: ignore\n",
    "a prefix": "m.cuda()  # agnostic: ignore[AGN2]\n",
    "several": "m.cuda()  # agnostic: ignore[AGN101, AGN201]\n",
    "on the line above": "# agnostic: ignore[AGN201] measured here\nm.cuda()\n",
    "above, with a comment between": "# agnostic: ignore[AGN201]\n# because\nm.cuda()\n",
    "above a decorated line": "if a:\n    # agnostic: ignore[AGN201]\n    m.cuda()\n",
    "at the end of the statement": "f(\n    m.cuda(),\n)  # agnostic: ignore[AGN201]\n",
    "in the statement": "f(\n    m.cuda(),  # agnostic: ignore[AGN201]\n)\n",
    "the whole file": "m.cuda()\n# agnostic: ignore-file[AGN201]\nm.cuda()\n",
    "noqa with the code": "m.cuda()  # noqa: AGN201\n",
    "noqa with several codes": "m.cuda()  # noqa: E501, AGN201\n",
    "noqa in small letters": "m.cuda()  # NOQA: agn201\n",
    "a bare noqa": "m.cuda()  # noqa\n",
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_a_comment_silences(text: str) -> None:
    assert codes(text) == []


LOUD = {
    "another code": ("m.cuda()  # agnostic: ignore[AGN101]\n", ["AGN201", UNUSED]),
    "the line before": ("x = 1  # agnostic: ignore[AGN201]\nm.cuda()\n", ["AGN201", UNUSED]),
    "the line below": ("m.cuda()\n# agnostic: ignore[AGN201]\nx = 1\n", ["AGN201", UNUSED]),
    "a string": ("m.cuda(); x = '# agnostic: ignore'\n", ["AGN201"]),
    "noqa for another tool": ("m.cuda()  # noqa: E501\n", ["AGN201"]),
    "nothing to silence": ("x = 1  # agnostic: ignore[AGN201]\n", [UNUSED]),
    "no file to silence": ("x = 1  # agnostic: ignore-file\n", [UNUSED]),
}


@pytest.mark.parametrize(("text", "wanted"), LOUD.values(), ids=LOUD)
def test_a_comment_that_silences_nothing_is_a_finding(text: str, wanted: list[str]) -> None:
    assert codes(text) == wanted


def test_an_unused_comment_is_not_judged_when_only_some_rules_run() -> None:
    assert codes("m.cuda()  # agnostic: ignore[AGN201]\n", select=("AGN1",)) == []


def test_a_comment_about_prose_is_judged_only_where_prose_is_read() -> None:
    text = "# agnostic: ignore[AGN010] its name\nx = 1\n"
    assert codes(text) == []
    assert codes(text, comments=True) == [UNUSED]


def test_markers_that_a_project_uses_already() -> None:
    text = "m.cuda()  # allow-cuda\n"
    assert codes(text) == ["AGN201"]
    assert codes(text, ignore_comments=("allow-cuda",)) == []
    assert codes("x = 1  # allow-cuda\n", ignore_comments=("allow-cuda",)) == []
