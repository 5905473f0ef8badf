"""`check --diff-base REF` speaks of added lines only."""

from __future__ import annotations

import pytest

OLD = "import torch\n\n\ndef run():\n    torch.cuda.synchronize()\n    total = 1\n    return total\n"
NEW = "    torch.cuda.empty_cache()\n"


@pytest.fixture
def branch(repository, monkeypatch):
    """A repository with one old file with one finding, on a branch."""
    monkeypatch.chdir(repository.folder)
    repository.write("pack/old.py", OLD)
    repository.commit("Base")
    repository.git("checkout", "-q", "-b", "topic")
    return repository


def rows(result) -> list[str]:
    return [line.rpartition(": AGN")[0].rsplit(":", 1)[0] for line in result.stdout.splitlines()]


def check(run, *more, status=0):
    return run("check", "--diff-base", "main", "--output-format", "concise", *more, status=status)


def test_old_findings_are_not_reported(branch, run) -> None:
    branch.write("pack/old.py", OLD.replace("total = 1", "total = 2"))
    assert check(run).stdout == ""


def test_an_added_line_is_reported_before_and_after_the_commit(branch, run) -> None:
    branch.write("pack/old.py", OLD.replace("    total", NEW + "    total"))
    assert rows(check(run, status=1)) == ["pack/old.py:6"]
    branch.commit()
    assert rows(check(run, status=1)) == ["pack/old.py:6"]


def test_a_changed_line_is_an_added_one(branch, run) -> None:
    branch.write("pack/old.py", OLD.replace("synchronize()", "synchronize(0)"))
    assert rows(check(run, status=1)) == ["pack/old.py:5"]


def test_a_new_file_is_all_added(branch, run) -> None:
    branch.write("untracked.py", OLD)
    assert rows(check(run, status=1)) == ["untracked.py:5"]


def test_renames_are_followed(branch, run) -> None:
    (branch.folder / "pack/old.py").rename(branch.folder / "new name.py")
    assert check(run).stdout == ""
    branch.write("new name.py", OLD.replace("    total = 1", NEW + "    total = 1"))
    assert rows(check(run, status=1)) == ["new name.py:6"]
    branch.commit()
    assert rows(check(run, status=1)) == ["new name.py:6"]


def test_commits_of_the_base_branch_since_do_not_count(branch, run) -> None:
    branch.git("checkout", "-q", "main")
    branch.write("pack/old.py", OLD.replace("    torch.cuda.synchronize()\n", ""))
    branch.commit("Fixed on main")
    branch.git("checkout", "-q", "topic")
    assert check(run).stdout == ""


def test_another_line_ending_is_no_added_line(branch, run) -> None:
    branch.write("pack/old.py", OLD.replace("\n", "\r\n"))
    assert check(run).stdout == ""


def test_it_works_from_a_folder_below(branch, run, monkeypatch) -> None:
    branch.write("pack/old.py", OLD.replace("    total", NEW + "    total"))
    monkeypatch.chdir(branch.folder / "pack")
    assert rows(check(run, "old.py", status=1)) == ["old.py:6"]


def test_a_baseline_does_not_hide_added_lines(branch, run) -> None:
    branch.write("pyproject.toml", '[tool.torch-agnostic]\nbaseline = "b.json"\n')
    branch.write("pack/old.py", OLD.replace("    total", NEW + "    total"))
    run("baseline")
    assert rows(check(run, status=1)) == ["pack/old.py:6"]


@pytest.mark.parametrize("revision", ["nowhere", "--output=canary", "-h"])
def test_an_unknown_revision_is_an_error(branch, run, revision) -> None:
    assert "no commit is called" in str(run("check", f"--diff-base={revision}", status=2).exception)
    assert not (branch.folder / "canary").exists()


def test_outside_of_a_repository_it_is_an_error(tmp_path, run, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(OLD)
    assert "not a git repository" in str(run("check", "--diff-base=main", status=2).exception)


def test_nothing_of_the_repository_is_run_or_changed(branch, run) -> None:
    canary = branch.folder.parent / "canary"
    program = branch.folder.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {canary}\ncat\n")
    program.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "diff.external",
        "diff.evil.textconv",
        "filter.evil.clean",
        "core.sshCommand",
    ):
        branch.git("config", key, str(program))
    branch.write(".gitattributes", "*.py filter=evil diff=evil\n")
    branch.write("pack/old.py", OLD.replace("    total", NEW + "    total"))
    index = (branch.folder / ".git/index").read_bytes()
    assert rows(check(run, status=1)) == ["pack/old.py:6"]
    assert not canary.exists()
    assert (branch.folder / ".git/index").read_bytes() == index
