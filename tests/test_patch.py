"""A series applies with `git am`, one logical change to a commit, and ends where `fix --apply` ends."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from repositories import IDENTITY, Repository

AUTHOR = ("--author", "A Person <person@example.com>")
FILES = {
    "pack/train.py": (
        "import torch\n\n\ndef step():\n    torch.cuda.synchronize()\n    if torch.cuda.is_available():\n"
        "        torch.cuda.empty_cache()\n"
    ),
    "pack/deep/model.py": (
        "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n\n\ndef wait():\n    torch.cuda.synchronize()\n"
    ),
    "pack/kept.py": "import torch\n\ntorch.cuda.nvtx.mark('x')\n",
    "tests/test_it.py": 'import torch\n\nx = torch.ones(2, device="cuda")\n',
    "README.md": "A project\n",
    "pyproject.toml": "[tool.torch-agnostic]\nassume-accelerator = true\n",
}


@pytest.fixture
def project(repository) -> Repository:
    for name, text in FILES.items():
        repository.write(name, text)
    repository.commit("Base")
    return repository


def series(run, source, output, *more):
    """The patches in a folder."""
    run("patch", source, "-o", output, *AUTHOR, *more)
    return sorted(output.glob("*.patch"))


def apply(project: Repository, patches, target: Path) -> Repository:
    """A clone of a project with patches applied by `git am`."""
    subprocess.run(["git", "clone", "-q", str(project.folder), str(target)], check=True)
    clone = Repository(target)
    clone.git("am", "--keep-non-patch", *map(str, patches))
    return clone


def tree(folder: Path) -> dict[str, bytes]:
    return {
        os.path.relpath(path, folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def patches_of(paths) -> list[bytes]:
    return [path.read_bytes() for path in paths]


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


def test_the_user_s_repository_is_not_touched(project, run, tmp_path) -> None:
    def state() -> dict:
        return {
            os.path.relpath(path, project.folder): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in project.folder.rglob("*")
            if path.is_file()
        }

    before = state()
    series(run, project.folder, tmp_path / "out")
    assert state() == before


@pytest.mark.parametrize("staged", [False, True])
def test_a_dirty_base_is_refused_unless_told(project, run, tmp_path, staged) -> None:
    path = project.write("pack/train.py", "import torch\n")
    if staged:
        project.git("add", "-A")
    error = run("patch", project.folder, "-o", tmp_path / "out", *AUTHOR, status=2).exception
    assert "uncommitted changes in 'pack/train.py'" in str(error)
    patches = series(run, project.folder, tmp_path / "out", "--allow-dirty")
    assert any("pack/train.py" in patch.read_text() for patch in patches)
    assert path.read_text() == "import torch\n"


def test_other_uncommitted_files_do_not_matter(project, run, tmp_path) -> None:
    project.write("README.md", "changed\n")
    project.write("untracked.py", FILES["pack/kept.py"])
    assert series(run, project.folder, tmp_path / "out")


def test_a_deleted_file_is_a_change(project, run, tmp_path) -> None:
    (project.folder / "pack/train.py").unlink()
    assert "uncommitted" in str(run("patch", project.folder, "-o", tmp_path / "out", *AUTHOR, status=2).exception)


@pytest.mark.parametrize("attributes", ["", "* text=auto\n", "*.py -text\n"])
def test_files_with_crlf_keep_it(repository, run, tmp_path, attributes) -> None:
    repository.write(".gitattributes", attributes)
    repository.git("config", "core.autocrlf", "false")
    repository.write("win.py", FILES["pack/train.py"].replace("\n", "\r\n"))
    repository.write("mixed é.py", "import torch\r\n# café = 'x'\ntorch.cuda.synchronize()\r\n")
    repository.commit()
    patches = series(run, repository.folder, tmp_path / "out")
    clone = apply(repository, patches, tmp_path / "clone")
    text = clone.git("cat-file", "blob", "HEAD:win.py")
    stored = subprocess.check_output(["git", "cat-file", "blob", "HEAD:win.py"], cwd=clone.folder)
    assert "torch.accelerator.synchronize" in text
    assert (b"\r\n" in stored) == (attributes != "* text=auto\n")
    assert b"\n" not in stored.replace(b"\r\n", b"") or attributes == "* text=auto\n"


def test_other_encodings_survive(repository, run, tmp_path) -> None:
    source = "# -*- coding: latin-1 -*-\nimport torch\n\nname = 'é'  # =C3\ntorch.cuda.synchronize()  # è\n"
    repository.write("latin.py", source.encode("latin-1"))
    repository.write("pyproject.toml", FILES["pyproject.toml"])
    repository.write("bom.py", b"\xef\xbb\xbf" + FILES["pack/train.py"].encode())
    repository.commit()
    clone = apply(repository, series(run, repository.folder, tmp_path / "out"), tmp_path / "clone")
    new = source.replace("torch.cuda", "torch.accelerator").encode("latin-1")
    assert (clone.folder / "latin.py").read_bytes() == new
    assert (clone.folder / "bom.py").read_bytes().startswith(b"\xef\xbb\xbf")


def test_strange_names_and_modes_survive(repository, run, tmp_path) -> None:
    names = [
        b"caf\xe9.py",
        b"a b.py",
        b"tab\there.py",
        b'quote".py',
        b"new\nline.py",
        "日本.py".encode(),
        b"-dash.py",
    ]
    for name in names:
        path = Path(os.fsdecode(os.fsencode(repository.folder) + b"/" + name))
        path.write_text(FILES["pack/train.py"])
    path.chmod(0o755)
    repository.commit()
    clone = apply(repository, series(run, repository.folder, tmp_path / "out"), tmp_path / "clone")
    for name in names:
        path = Path(os.fsdecode(os.fsencode(clone.folder) + b"/" + name))
        assert "torch.accelerator.synchronize" in path.read_text()
    assert path.stat().st_mode & 0o100


def test_links_and_submodules_are_left_and_named(repository, run, tmp_path) -> None:
    other = Repository(tmp_path / "other")
    other.write("a.py", FILES["pack/train.py"])
    other.commit()
    repository.write("real.py", FILES["pack/train.py"])
    (repository.folder / "link.py").symlink_to("real.py")
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.folder), "vendored.py")
    repository.commit()
    out = tmp_path / "out"
    patches = series(run, repository.folder, out)
    assert all("link.py" not in patch.read_text() for patch in patches)
    letter = (out / "cover-letter.md").read_text()
    assert "'link.py': a symbolic link" in letter
    assert "'vendored.py': a submodule" in letter
    apply(repository, patches, tmp_path / "clone")


def test_worktrees_bare_and_shallow_clones_work(project, run, tmp_path) -> None:
    wanted = patches_of(series(run, project.folder, tmp_path / "out"))
    project.git("worktree", "add", "-q", str(tmp_path / "worktree"))
    subprocess.run(["git", "clone", "-q", "--bare", str(project.folder), str(tmp_path / "bare")], check=True)
    project.write("README.md", "second\n")
    project.commit()
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{project.folder}", str(tmp_path / "shallow")], check=True
    )
    for name in ("worktree", "bare"):
        assert patches_of(series(run, tmp_path / name, tmp_path / f"{name}-out")) == wanted
    assert len(series(run, tmp_path / "shallow", tmp_path / "shallow-out")) == len(wanted)


def test_a_sparse_checkout_is_whole_to_the_series(project, run, tmp_path) -> None:
    wanted = [path.name for path in series(run, project.folder, tmp_path / "out")]
    project.git("sparse-checkout", "set", "--no-cone", "/pack/kept.py")
    assert not (project.folder / "pack/train.py").exists()
    assert [path.name for path in series(run, project.folder, tmp_path / "sparse")] == wanted


def test_a_partial_clone_gives_a_clear_error(project, run, tmp_path) -> None:
    project.git("config", "uploadpack.allowFilter", "true")
    url = f"file://{project.folder}"
    subprocess.run(
        ["git", "clone", "-q", "--no-checkout", "--filter=blob:none", url, str(tmp_path / "partial")],
        check=True,
    )
    error = run("patch", tmp_path / "partial", "-o", tmp_path / "out", "--allow-dirty", *AUTHOR, status=2).exception
    assert "a partial clone?" in str(error)


def test_an_earlier_commit_can_be_the_base(project, run, tmp_path) -> None:
    wanted = tree(series(run, project.folder, tmp_path / "out")[0].parent)
    project.write("pack/train.py", "import torch\n")
    project.commit()
    assert tree(series(run, project.folder, tmp_path / "earlier", "--revision", "HEAD~1")[0].parent) == wanted


def test_a_repository_of_sha256_objects_works(tmp_path, run) -> None:
    folder = tmp_path / "sha256"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "--object-format=sha256"], cwd=folder, check=True)
    (folder / "a.py").write_text(FILES["pack/train.py"])
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", "commit", "-qm", "x"], cwd=folder, check=True, env={**os.environ, **IDENTITY})
    assert series(run, folder, tmp_path / "out")


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


def test_a_folder_that_is_no_repository_is_an_error(tmp_path, run) -> None:
    (tmp_path / "plain").mkdir()
    error = run("patch", tmp_path / "plain", "-o", tmp_path / "out", *AUTHOR, status=2).exception
    assert "not a git repository" in str(error)
