"""Every diff block of a rule, in its docstring or in tests/cases/<rule>.md, is a test.

` ` a line that stays, `-` before, `+` after, `!` reported and left. A block in a case file may follow a line
`settings: key = value; key = value` that holds for it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agnostic.check import check_text
from agnostic.config import Settings
from agnostic.fix import fix_bytes
from agnostic.rule import load

HERE = Path(__file__).parent
RULES = load().rules
BLOCK = re.compile(r"(?:^settings: (?P<settings>[^\n]*)\n+)?^```diff\n(?P<diff>.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> Iterator[tuple[dict, list[tuple[str, str]]]]:
    """Each diff block as (settings, list of (mark, line))."""
    for block in BLOCK.finditer(text):
        given = tomllib.loads((block["settings"] or "").replace("; ", "\n"))
        settings = {key.replace("-", "_"): value for key, value in given.items()}
        yield settings, [(line[:1] or " ", line[2:]) for line in block["diff"].splitlines()]


def cases() -> Iterator:
    for rule in RULES.values():
        for number, (settings, lines) in enumerate(blocks(rule.doc), 1):
            yield pytest.param(settings, lines, id=f"{rule.name}-{number}")
    for path in sorted(HERE.glob("cases/*.md")):
        for number, (settings, lines) in enumerate(blocks(path.read_text(encoding="utf-8")), 1):
            yield pytest.param(settings, lines, id=f"cases-{path.stem}-{number}")


def join(lines: list[tuple[str, str]], marks: str) -> str:
    return "".join(f"{text}\n" for mark, text in lines if mark in marks)


@pytest.mark.parametrize(("settings", "lines"), list(cases()))
def test_diff(settings: dict, lines: list[tuple[str, str]]) -> None:
    before, after = join(lines, " -!"), join(lines, " +!")
    path = Path(settings.pop("path", "example.py"))
    unsafe = settings.pop("unsafe", True)
    wanted = replace(Settings(root=Path("/nowhere"), profile="generic"), **settings)
    fixed = fix_bytes(path, before.encode(), wanted, unsafe=unsafe)
    assert fixed.after.decode() == after
    compile(after, "after", "exec")
    again = fix_bytes(path, fixed.after, wanted, unsafe=unsafe)
    assert again.after == fixed.after, "a second run must change nothing"
    diagnostics, _ = check_text(path, before, wanted)
    reported = {one.start.row for one in diagnostics}
    marks = "".join(mark for mark, _ in lines if mark != "+")
    assert all(marks[row - 1] in "-!" for row in reported), "only marked lines are reported"
    for run in re.finditer(r"-+|!", marks):
        assert reported & set(range(run.start() + 1, run.end() + 1)), f"line {run.start() + 1} is reported"


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_every_rule_shows_a_finding_and_what_is_none(rule) -> None:
    marks = {mark for _, lines in blocks(rule.doc) for mark, _ in lines}
    assert marks & set("-!")
    assert " " in marks


def test_masked_and_whole_text_give_the_same_findings() -> None:
    for settings, lines in (param.values for param in cases()):
        text = join(lines, " -!")
        given = Settings(root=Path("/nowhere"), profile="generic", comments=True)
        masked, whole = (check_text(Path("example.py"), text, given, whole=choice)[0] for choice in (False, True))
        assert masked == whole, settings
