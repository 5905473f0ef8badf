"""`init` shows a plan, writes it when told, and the result is clean until something new comes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

LOCKED = "import torch\n\ntorch.cuda.synchronize()\ntorch.cuda.nvtx.mark('x')\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(LOCKED)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["torch>=2.9"]')
    return tmp_path


def ours(project: Path) -> dict:
    return tomllib.loads((project / "pyproject.toml").read_text())["tool"]["torch-agnostic"]


def test_the_plan_is_shown_and_nothing_is_written(project, run) -> None:
    before = (project / "pyproject.toml").read_bytes()
    result = run("init")
    assert "Append to pyproject.toml" in result.stdout
    assert "2 findings in 1 files" in result.stdout
    assert "The oldest torch is 2.9" in result.stdout
    assert (project / "pyproject.toml").read_bytes() == before
    assert not (project / "agnostic-baseline.json").exists()


def test_what_is_written_is_clean_until_something_new_comes(project, run) -> None:
    run("init", "--yes")
    assert ours(project) == {"baseline": "agnostic-baseline.json"}
    assert "2 old findings" in run("check").stderr
    (project / "new.py").write_text(LOCKED)
    run("check", status=1)


def test_what_is_there_stays(project, run) -> None:
    old = (project / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_bytes(old.replace("\n", "\r\n").encode())
    run("init", "--yes")
    new = (project / "pyproject.toml").read_bytes()
    assert new.startswith(old.replace("\n", "\r\n").encode())
    assert b"\n" not in new.replace(b"\r\n", b"")


def test_the_profile_of_a_known_project_is_proposed(project, run) -> None:
    (project / "torchtitan").mkdir()
    run("init", "--yes")
    assert ours(project)["profile"] == "torchtitan"


def test_a_style_of_tests_is_left_to_each_file(project, run) -> None:
    (project / "src/diffusers").mkdir(parents=True)
    run("init", "--yes")
    assert "profile" not in ours(project)


def test_a_clean_project_gets_no_baseline(project, run) -> None:
    (project / "train.py").write_text("import torch\n")
    (project / "pyproject.toml").unlink()
    assert "no baseline is needed" in run("init", "--yes").stdout
    assert ours(project) == {"target-torch": "2.10"}
    assert not (project / "agnostic-baseline.json").exists()


@pytest.mark.parametrize("text", ["[tool.torch-agnostic]\n", "[[tool]]\n", "= 1\n"])
def test_what_cannot_be_extended_is_an_error_and_stays(project, run, text) -> None:
    (project / "pyproject.toml").write_text(text)
    run("init", "--yes", status=2)
    assert (project / "pyproject.toml").read_text() == text
