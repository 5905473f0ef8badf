"""The engine on rules about cooking: what is applied, what stays, and what never reaches the file."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

from agnostic import rule
from agnostic.check import FAILED, REFUSED, check_text
from agnostic.commands.check import check_file
from agnostic.config import Settings
from agnostic.fix import Fixed, fix_bytes
from agnostic.gate import early
from agnostic.pool import each

SETTINGS = Settings(root=Path("/nowhere"))
DISH = Path("dish.py")


@pytest.fixture(autouse=True)
def kitchen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    for module in ("check", "fix"):
        monkeypatch.setattr(sys.modules[f"agnostic.{module}"], "load", partial(rule.load, "kitchen"))
    monkeypatch.setattr(sys.modules["agnostic.check"], "may_concern", lambda data: True)
    monkeypatch.setattr(sys.modules["agnostic.fix"], "may_concern", lambda data: True)


def cook(text: str, unsafe: bool = False) -> Fixed:
    return fix_bytes(DISH, text.encode(), SETTINGS, unsafe)


def test_a_safe_fix_is_applied() -> None:
    assert cook("import kitchen as k\nk.salt(1)\n").after == b"import kitchen as k\nk.season(1)\n"


def test_an_unsafe_fix_waits_for_permission() -> None:
    text = "import kitchen\nkitchen.pepper(1)\n"
    fixed = cook(text)
    assert not fixed.changed
    assert [one.stays for one in fixed.left] == ["unsafe: it is milder"]
    assert cook(text, unsafe=True).after == b"import kitchen\nkitchen.season(1)\n"


def test_what_goes_together_is_fixed_together() -> None:
    text = "import kitchen\ndef dish():\n    kitchen.pot()\n    kitchen.salt(1)\n"
    assert b"kitchen.grill()\n    kitchen.season(1)" in cook(text).after


def test_what_goes_together_stays_together() -> None:
    text = "import kitchen\ndef dish():\n    kitchen.pot()\n    kitchen.fish(1)\n    kitchen.salt(1)\n"
    fixed = cook(text)
    assert b"kitchen.pot()\n    kitchen.fish(1)\n    kitchen.season(1)" in fixed.after
    assert [one.stays for one in fixed.left] == ["it goes together with line 4, which stays", ""]


def test_a_safe_fix_is_as_unsafe_as_its_partners() -> None:
    text = "import kitchen\ndef dish():\n    kitchen.pot()\n    kitchen.pepper(1)\n"
    assert not cook(text).changed
    assert b"kitchen.grill()\n    kitchen.season(1)" in cook(text, unsafe=True).after
    diagnostics, _ = check_text(DISH, text, SETTINGS)
    assert [one.applicability for one in diagnostics] == ["unsafe", "unsafe"]
    assert diagnostics[0].unsafe == "it goes together with line 4: it is milder"


def test_a_suppressed_finding_keeps_its_partners_from_being_fixed() -> None:
    text = "import kitchen\ndef dish():\n    kitchen.pot()\n    kitchen.salt(1)  # agnostic: ignore\n"
    fixed = cook(text)
    assert not fixed.changed
    assert [one.code for one in fixed.left] == ["KIT103"]


def test_fixes_that_need_each_other_and_touch_are_reported_as_left() -> None:
    text = "import kitchen\nkitchen.layer()\nkitchen.salt(1)\n"
    fixed = cook(text)
    assert fixed.after == text.replace("salt", "season").encode()
    assert {one.stays for one in fixed.left} == {"its edits and those it goes together with change the same text"}
    assert all(one.applicability is None for one in fixed.left)


@pytest.mark.parametrize("bad", ["kitchen.poison", "kitchen.spoon"])
def test_a_fix_that_does_not_pass_the_gate_keeps_no_other_from_being_applied(bad: str) -> None:
    text = f"import kitchen\nx = {bad}\nkitchen.salt(1)\n"
    fixed = cook(text)
    assert fixed.after == text.replace("salt", "season").encode()
    (left,) = fixed.left
    assert left.stays.startswith("the result would")


def test_a_fix_through_an_alias_does_not_pass_the_gate_either() -> None:
    fixed = cook("import kitchen as k\nx = k.spoon\n")
    assert not fixed.changed
    assert "`kitchen.ladle`" in fixed.left[0].stays


def test_a_file_whose_fixes_do_not_end_is_left_byte_for_byte() -> None:
    fixed = cook("import kitchen\nkitchen.twist()\nkitchen.salt(1)\n")
    assert fixed.after == fixed.before
    assert [one.code for one in fixed.left] == ["KIT108", "KIT101", REFUSED]


def test_a_rule_that_fails_is_a_finding_of_its_file(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text("import kitchen\nkitchen.fire()\n")
    good.write_text("import kitchen\nkitchen.salt(1)\n")
    settings = dict.fromkeys([bad, good], SETTINGS)

    def failed(path: Path, why: str) -> list[str]:
        return [f"{FAILED}: {why}"]

    found = list(each(partial(check_file, settings), [bad, good], failed))
    assert found[0] == [f"{FAILED}: KeyError in fire.py:16: 'smoke'"]
    assert [one.code for one in found[1]] == ["KIT101"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x = a\nimport a\n", {"a"}),
        ("import a\nx = a\n", set()),
        ("def f():\n    return a\nimport a\n", set()),
        ("def f(x=a):\n    pass\nimport a\n", {"a"}),
        ("if x:\n    import a\n    a()\n", set()),
        ("x = lambda: a\nimport a\n", set()),
        ("class C:\n    x = a\nimport a\n", {"a"}),
        ("x = len(y)\n", set()),
    ],
)
def test_names_that_a_module_uses_before_they_are_bound(text: str, wanted: set[str]) -> None:
    assert early(text) == wanted
