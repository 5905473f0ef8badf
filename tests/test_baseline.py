"""Only what is above the baseline fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FINDING = "torch.cuda.synchronize()\n"


def old_code(root: Path, files: int = 30, each: int = 10) -> None:
    """A project with `files` times `each` findings."""
    for number in range(files):
        folder = root / f"part{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"module{number}.py").write_text("import torch\n" + FINDING * each)


@pytest.fixture
def project(tmp_path: Path, monkeypatch, run) -> Path:
    """A project with 300 old findings, all in its baseline."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.torch-agnostic]\nbaseline = "agnostic-baseline.json"\n')
    old_code(tmp_path)
    assert "300 findings in 30 files" in run("baseline").stderr
    return tmp_path


def test_300_old_findings_pass(project, run) -> None:
    result = run("check")
    assert result.stdout == ""
    assert "300 old findings" in result.stderr


def test_a_new_finding_fails_in_an_old_file(project, run) -> None:
    path = project / "part0/module0.py"
    path.write_text(path.read_text() + FINDING)
    result = run("check", "--output-format", "concise", status=1)
    assert {line.partition(":")[0] for line in result.stdout.splitlines()} == {"part0/module0.py"}
    assert "1 above it" in result.stderr


def test_a_new_finding_fails_in_a_new_file(project, run) -> None:
    (project / "fresh.py").write_text("import torch\n" + FINDING)
    assert run("check", "--output-format", "concise", status=1).stdout.startswith("fresh.py:2:1: AGN101")


def test_a_finding_of_another_rule_fails(project, run) -> None:
    path = project / "part0/module0.py"
    path.write_text(path.read_text().replace(FINDING, 'x = torch.ones(2, device="cuda")\n', 1))
    found = json.loads(run("check", "--output-format", "json", status=1).stdout)
    assert {one["code"] for one in found} == {"AGN202"}


@pytest.mark.parametrize("new", ["elsewhere/module0.py", "part0/renamed.py", "elsewhere/renamed.py"])
def test_a_moved_file_does_not_fail(project, run, new) -> None:
    target = project / new
    target.parent.mkdir(exist_ok=True)
    (project / "part0/module0.py").rename(target)
    assert "300 old findings" in run("check").stderr


def test_a_moved_folder_does_not_fail_and_a_new_finding_in_it_does(project, run) -> None:
    (project / "part0").rename(project / "moved")
    run("check")
    path = project / "moved/module3.py"
    path.write_text(path.read_text() + FINDING)
    result = run("check", "--output-format", "concise", status=1)
    assert {line.partition(":")[0] for line in result.stdout.splitlines()} == {"moved/module3.py"}


def test_a_copied_file_fails(project, run) -> None:
    (project / "copy.py").write_text((project / "part0/module0.py").read_text())
    run("check", status=1)


def test_what_is_fixed_is_noticed_and_pruned_and_then_fails_when_it_comes_back(project, run) -> None:
    path = project / "part0/module0.py"
    text = path.read_text()
    path.write_text(text.replace(FINDING, "", 4))
    (project / "part1/module1.py").unlink()
    assert "14 gone since, it can be tightened: `torch-agnostic baseline --prune`" in run("check").stderr
    assert "286 findings in 29 files (before: 300)" in run("baseline", "--prune").stderr
    assert "gone" not in run("check").stderr
    path.write_text(text)
    run("check", status=1)


def test_pruning_adds_nothing(project, run) -> None:
    before = (project / "agnostic-baseline.json").read_bytes()
    (project / "fresh.py").write_text("import torch\n" + FINDING)
    assert "1 more are not in it" in run("baseline", "--prune").stderr
    assert (project / "agnostic-baseline.json").read_bytes() == before


def test_what_a_run_does_not_look_for_is_not_gone(project, run) -> None:
    assert "gone" not in run("check", "--select", "AGN9").stderr
    assert "gone" not in run("check", "part0").stderr
    run("baseline", "--prune", "--select", "AGN9")
    run("baseline", "--prune", "part0")
    assert "300 old findings" in run("check").stderr


def test_a_baseline_of_some_paths_keeps_the_others(project, run) -> None:
    (project / "part0/fresh.py").write_text("import torch\n" + FINDING)
    assert "301 findings" in run("baseline", "part0").stderr
    run("check")


def test_the_file_is_in_a_stable_order(project, run) -> None:
    before = (project / "agnostic-baseline.json").read_bytes()
    run("baseline", "part2", "part0", "part1", "--jobs", "1")
    assert (project / "agnostic-baseline.json").read_bytes() == before
    names = list(json.loads(before)["counts"])
    assert names == sorted(names)


def test_without_the_baseline_everything_is_reported(project, run) -> None:
    assert run("check", "--no-baseline", "--output-format", "concise", status=1).stdout.count("\n") == 300


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no baseline"),
        ("{", "not a baseline"),
        ('{"version": 2, "counts": {}}', "version 2"),
        ('{"version": 1, "counts": {"a.py": {"AGN101": -1}}}', "whole numbers"),
        ('{"version": 1, "counts": []}', "not a baseline"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_an_error(project, run, text, words) -> None:
    path = project / "agnostic-baseline.json"
    path.unlink() if text is None else path.write_text(text)
    assert words in str(run("check", status=2).exception)
