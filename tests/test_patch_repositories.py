"""The repositories that a series can start from, and the files in them that are not plain."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from repositories import IDENTITY, Repository
from series import AUTHOR, FILES, apply, cuda_project, patches_of, series, tree


@pytest.fixture
def project(repository) -> Repository:
    return cuda_project(repository)


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


@pytest.mark.parametrize("new", [None, "pack/renamed.py"])
def test_a_deleted_or_renamed_file_is_a_change(project, run, tmp_path, new) -> None:
    path = project.folder / "pack/train.py"
    path.unlink() if new is None else path.rename(project.folder / new)
    project.git("add", "-A")
    error = run("patch", project.folder, "-o", tmp_path / "out", *AUTHOR, status=2).exception
    assert "uncommitted changes in 'pack/" in str(error)


def test_a_file_has_the_name_that_it_has_in_the_base(project, run, tmp_path) -> None:
    project.git("mv", "pack/train.py", "pack/renamed.py")
    project.write("pack/copied.py", FILES["pack/train.py"])
    project.git("config", "diff.renames", "copies")
    project.commit()
    patches = series(run, project.folder, tmp_path / "out")
    clone = apply(project, patches, tmp_path / "clone")
    assert "torch.accelerator.synchronize" in (clone.folder / "pack/renamed.py").read_text()
    text = "".join(patch.read_text() for patch in patches)
    assert "rename from" not in text
    assert "b/pack/train.py" not in text


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


def test_a_folder_that_is_no_repository_is_an_error(tmp_path, run) -> None:
    (tmp_path / "plain").mkdir()
    error = run("patch", tmp_path / "plain", "-o", tmp_path / "out", *AUTHOR, status=2).exception
    assert "not a git repository" in str(error)
