"""A series applies with `git am`, one logical change to a commit, and ends where `fix --apply` ends."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from repositories import Repository
from series import AUTHOR, FILES, apply, cuda_project, series, tree


@pytest.fixture
def project(repository) -> Repository:
    return cuda_project(repository)


def fixed(run, project: Repository, target: Path, *more) -> dict[str, bytes]:
    """The tree as `fix --apply` leaves it."""
    subprocess.run(["git", "clone", "-q", str(project.folder), str(target)], check=True)
    result = run("fix", "--apply", target, *more, status=1)
    assert "Fixed" in result.stderr
    return tree(target)


@pytest.mark.parametrize("split", ["rule", "api", "folder", "owner"])
@pytest.mark.parametrize("more", [[], ["--unsafe-fixes"]], ids=["safe", "unsafe"])
def test_the_series_applies_and_ends_where_fix_ends(project, run, tmp_path, split, more) -> None:
    patches = series(run, project.folder, tmp_path / "out", "--split", split, *more)
    assert len(patches) > 1 or split == "owner"
    clone = apply(project, patches, tmp_path / "clone")
    assert tree(clone.folder) == fixed(run, project, tmp_path / "fixed", *more)


def test_prose_is_reworded_in_the_commit_of_its_code(project, run, tmp_path) -> None:
    project.write("pyproject.toml", "[tool.torch-agnostic]\nassume-accelerator = true\ncomments = true\n")
    project.write("pack/train.py", "import torch\n\ntorch.cuda.synchronize()  # wait for CUDA\n")
    project.commit("Ask for prose, too")
    patches = series(run, project.folder, tmp_path / "out", "--unsafe-fixes")
    clone = apply(project, patches, tmp_path / "clone")
    assert tree(clone.folder) == fixed(run, project, tmp_path / "fixed", "--unsafe-fixes")
    first = patches[0].read_text()
    assert "\n-torch.cuda.synchronize()  # wait for CUDA\n" in first
    assert "\n+torch.accelerator.synchronize()  # wait for the accelerator\n" in first


def test_each_commit_compiles_and_holds_one_change(project, run, tmp_path) -> None:
    clone = apply(project, series(run, project.folder, tmp_path / "out", "--split", "rule"), tmp_path / "clone")
    commits = clone.git("rev-list", "--reverse", "origin/main..HEAD").split()
    subjects = [clone.git("log", "-1", "--format=%s", commit).strip() for commit in commits]
    assert subjects == [
        "Use torch.accelerator where it has the function",
        "Move to the device instead of calling .cuda()",
        'Name the device instead of the literal "cuda"',
        "Ask whether there is an accelerator",
    ]
    for commit in commits:
        for name in clone.git("ls-tree", "-r", "--name-only", commit).splitlines():
            if name.endswith(".py"):
                compile(clone.git("show", f"{commit}:{name}"), name, "exec")
    first = clone.git("show", "--format=", commits[0])
    assert "-    torch.cuda.synchronize()" in first
    assert "empty_cache" not in re.findall(r"^[-+].*", first, re.MULTILINE), "it goes together with its guard"


def test_fixes_that_go_together_are_in_one_commit(project, run, tmp_path) -> None:
    for patch in series(run, project.folder, tmp_path / "out", "--split", "api"):
        added = re.findall(r"^\+[^+].*", patch.read_text(), re.MULTILINE)
        guards = sum("is_available" in line for line in added)
        assert guards == sum("empty_cache" in line for line in added)


def test_the_same_input_gives_the_same_bytes(project, run, tmp_path, monkeypatch) -> None:
    one = tree(series(run, project.folder, tmp_path / "one", "--jobs", "1")[0].parent)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.chdir(project.folder)
    two = tree(series(run, ".", tmp_path / "two")[0].parent)
    assert one == two


def test_a_second_run_replaces_the_series_and_spares_other_folders(project, run, tmp_path) -> None:
    series(run, project.folder, tmp_path / "out", "--split", "api")
    series(run, project.folder, tmp_path / "out", "--split", "folder")
    assert not [path.name for path in (tmp_path / "out").glob("*.patch") if "Replace" in path.name]
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.txt").write_text("x")
    assert "no part of a series" in str(
        run("patch", project.folder, "-o", tmp_path / "other", *AUTHOR, status=2).exception
    )
    assert tree(tmp_path / "other") == {"thesis.txt": b"x"}


def test_subject_and_body_follow_the_conventions(repository, run, tmp_path) -> None:
    repository.write("vllm/worker.py", FILES["pack/train.py"])
    repository.commit()
    patches = series(run, repository.folder, tmp_path / "out", "--signoff")
    text = patches[0].read_text()
    assert "Subject: [PATCH 1/" in text
    assert "] [Hardware] " in text
    body = text.partition("\n\n")[2].partition("\n---\n")[0]
    assert body.startswith("Purpose\n\n")
    assert "\n\nTest Plan\n\n- " in body
    assert body.endswith("\n\nSigned-off-by: A Person <person@example.com>")
    assert max(map(len, body.splitlines())) <= 72
    clone = apply(repository, patches, tmp_path / "clone")
    assert clone.git("log", "-1", "--format=%s").startswith("[Hardware] ")


def test_subjects_of_apis_fit_without_being_cut(repository, run, tmp_path) -> None:
    repository.write("pyproject.toml", FILES["pyproject.toml"])
    repository.write("vllm/worker.py", FILES["pack/train.py"])
    repository.commit()
    clone = apply(repository, series(run, repository.folder, tmp_path / "out"), tmp_path / "clone")
    subjects = clone.git("log", "--format=%s", "origin/main..HEAD").splitlines()
    assert "[Hardware] Use torch.accelerator.synchronize" in subjects
    assert max(map(len, subjects)) <= 72


def test_the_cover_letter_says_what_it_is_what_was_left_and_what_to_test(project, run, tmp_path) -> None:
    series(run, project.folder, tmp_path / "out")
    letter = (tmp_path / "out/cover-letter.md").read_text()
    assert "This series is a draft" in letter
    assert project.git("rev-parse", "HEAD").strip() in letter
    assert "torch.cuda.nvtx.mark" in letter
    assert "## What to test" in letter
    assert re.search(r"\| 4 \| 3 \| \+\d+ -\d+ \| 7 \| 1 \|", letter)


def test_owners_and_folders_name_their_commits(project, run, tmp_path) -> None:
    project.write("CODEOWNERS", "*  @everybody\n/pack/deep/ @deep @net\n")
    project.commit()
    names = [path.name for path in series(run, project.folder, tmp_path / "out", "--split", "owner")]
    assert names == [
        "0001-Make-the-files-of-deep-net-device-generic.patch",
        "0002-Make-the-files-of-everybody-device-generic.patch",
    ]
    names = [path.name for path in series(run, project.folder, tmp_path / "out", "--split", "folder")]
    assert names[0] == "0001-Make-pack-device-generic.patch"
    assert len(names) == 3


def test_what_the_user_asks_to_verify_runs_after_each_commit(project, run, tmp_path) -> None:
    log = tmp_path / "log"
    series(
        run,
        project.folder,
        tmp_path / "out",
        "--verify",
        f"cat README.md >> {log}; python3 -m compileall -q .",
    )
    assert log.read_text() == "A project\n" * 4
    command = "! grep -rq accelerator.synchronize pack"
    error = run("patch", project.folder, "-o", tmp_path / "two", *AUTHOR, "--verify", command, status=2).exception
    assert "failed after the commit 'Use torch.accelerator where it has the function'" in str(error)
    assert not (tmp_path / "two").exists()


def test_the_author_comes_from_git_or_is_asked_for(project, run, tmp_path, monkeypatch) -> None:
    run("patch", project.folder, "-o", tmp_path / "out")
    assert "From: A Person <person@example.com>" in next((tmp_path / "out").glob("0001*")).read_text()
    for name, value in (
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("HOME", str(tmp_path)),
        ("XDG_CONFIG_HOME", str(tmp_path)),
    ):
        monkeypatch.setenv(name, value)
    project.git("config", "--unset", "user.name")
    error = run("patch", project.folder, "-o", tmp_path / "out", status=2).exception
    assert "write `--author" in str(error)
    error = run("patch", project.folder, "-o", tmp_path / "out", "--author", "nobody", status=2).exception
    assert "write `--author" in str(error)


def test_a_project_without_findings_gives_no_patch(repository, run, tmp_path) -> None:
    repository.write("a.py", "print(1)\n")
    repository.commit()
    assert series(run, repository.folder, tmp_path / "out") == []
    assert "nothing can be rewritten" in (tmp_path / "out/cover-letter.md").read_text()
