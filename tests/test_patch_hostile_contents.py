"""What a hostile repository holds leads nowhere: its paths, links, names, settings and objects."""

from __future__ import annotations

import contextlib
import subprocess

import pytest
from repositories import Repository
from victim import SOURCE, outside


@pytest.mark.parametrize(
    "names",
    [
        ["../escaped.py"],
        ["../../escaped.py"],
        ["pack/../../escaped.py"],
        [".git/hooks/planted.py"],
        [".GIT/hooks/planted.py"],
        ["./dot.py"],
    ],
    ids="-".join,
)
def test_paths_that_leave_the_tree_are_left_and_named(victim, run, tmp_path, names) -> None:
    victim.plant_tree(*(("100644", name, SOURCE.encode()) for name in names), ("100644", "fine.py", SOURCE.encode()))
    output = tmp_path / "out"
    before = outside(victim, output)
    run(
        "patch",
        victim.repository.folder,
        "-o",
        output,
        "--author",
        "A <a@b.c>",
        "--allow-dirty",
        "--verify",
        "true",
    )
    assert outside(victim, output) == before
    changed = "".join(path.read_text() for path in output.glob("*.patch"))
    assert "+++ b/fine.py" in changed
    assert changed.count("+++ ") == changed.count("+++ b/fine.py")
    assert "its path leaves the tree" in (output / "cover-letter.md").read_text()
    assert not list(tmp_path.glob("**/escaped.py"))


def test_a_file_below_a_link_in_the_same_tree_is_not_written_through_it(victim, run, tmp_path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    victim.plant_tree(("120000", "a", str(target).encode()), ("100644", "a/b.py", SOURCE.encode()))
    output = tmp_path / "out"
    run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>", "--allow-dirty")
    assert not list(target.iterdir())
    assert not list(output.glob("*.patch"))
    assert "two things at this place" in (output / "cover-letter.md").read_text()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_links_that_leave_the_tree_are_not_followed(victim, run, tmp_path, kind) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "train.py").write_text(SOURCE + "# secret\n")
    link = victim.repository.folder / ("link.py" if kind == "file" else "linked")
    link.symlink_to(secret / "train.py" if kind == "file" else secret)
    victim.repository.commit()
    output = tmp_path / "out"
    before = outside(victim, output)
    run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>")
    assert outside(victim, output) == before
    assert "secret" not in "".join(path.read_text() for path in output.glob("*.patch"))


def test_a_folder_that_became_a_link_is_a_change_and_not_read(victim, run, tmp_path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (victim.repository.folder / "pack").rename(tmp_path / "elsewhere/pack")
    (victim.repository.folder / "pack").symlink_to(tmp_path / "elsewhere/pack")
    arguments = ("patch", victim.repository.folder, "-o", tmp_path / "out", "--author", "A <a@b.c>")
    assert "uncommitted changes" in str(run(*arguments, status=2).exception)


def test_a_name_with_a_newline_makes_no_header(victim, run, tmp_path) -> None:
    victim.commit("pack/x\nFrom: Mallory <m@example.com>\n\ndiff --git a/y b.py", SOURCE)
    output = tmp_path / "out"
    run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>")
    for path in output.glob("*.patch"):
        assert path.read_text().count("\nFrom: ") == 1
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(victim.repository.folder), str(clone)], check=True)
    Repository(clone).git("am", *map(str, sorted(output.glob("*.patch"))))


def test_a_source_that_looks_like_a_mail_stays_a_source(victim, run, tmp_path) -> None:
    fake = "From 0123456789 Mon Sep 17 00:00:00 2001\nFrom: x\nSubject: y\n---\n-- \ndiff --git a/e.py b/e.py\n"
    victim.commit("pack/mail.py", f'TEXT = """\n{fake}"""\n{SOURCE}OTHER = """\n{fake}"""\n')
    output = tmp_path / "out"
    run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(victim.repository.folder), str(clone)], check=True)
    Repository(clone).git("am", *map(str, sorted(output.glob("*.patch"))))
    assert (clone / "pack/mail.py").read_text().count(fake) == 2


@pytest.mark.parametrize("name", ["A\nX-Header: y", "A <evil@example.com>", " "])
def test_a_user_name_of_the_repository_makes_no_header(victim, run, tmp_path, name) -> None:
    victim.repository.git("config", "user.name", name)
    error = run("patch", victim.repository.folder, "-o", tmp_path / "out", status=2).exception
    assert "is no author" in str(error)


def test_settings_for_patches_of_the_repository_are_not_obeyed(victim, run, tmp_path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("top secret\n")
    elsewhere = tmp_path / "elsewhere"
    victim.config(f"format.outputDirectory={elsewhere}", f"format.signatureFile={secret}")
    victim.config("format.attach=x", "format.to=m@x.y", "diff.noprefix=true", "diff.renames=copies")
    victim.config(f"core.worktree={tmp_path}", "core.quotePath=false")
    output = tmp_path / "out"
    run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>", "--allow-dirty")
    assert not elsewhere.exists()
    text = "".join(path.read_text() for path in output.glob("*.patch"))
    assert "secret" not in text
    assert "+++ b/pack/train.py" in text
    assert "m@x.y" not in text


def test_replaced_objects_and_grafts_do_not_count(victim, run, tmp_path) -> None:
    head = victim.repository.git("rev-parse", "HEAD").strip()
    victim.commit("pack/train.py", "print('replaced')\n")
    victim.repository.git("replace", head, victim.repository.git("rev-parse", "HEAD").strip())
    output = tmp_path / "out"
    run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>", "--revision", head)
    assert "torch.cuda.synchronize" in "".join(path.read_text() for path in output.glob("*.patch"))


def test_a_link_in_the_output_folder_is_replaced_and_not_followed(victim, run, tmp_path) -> None:
    output = tmp_path / "out"
    run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>")
    name = next(output.glob("0001-*.patch"))
    precious = tmp_path / "precious"
    precious.write_text("precious")
    name.unlink()
    name.symlink_to(precious)
    run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>")
    assert precious.read_text() == "precious"
    assert not name.is_symlink()


@pytest.mark.parametrize(
    "settings", ['baseline = "../../escaped.json"', 'extend-exclude = ["[z-a]"]', 'select = ["AGN101"]']
)
def test_the_settings_of_the_repository_write_nothing(victim, run, tmp_path, settings) -> None:
    victim.commit("pyproject.toml", f"[tool.torch-agnostic]\n{settings}\n")
    output = tmp_path / "out"
    before = outside(victim, output)
    with contextlib.suppress(AssertionError):
        run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>")
    assert outside(victim, output) == before


def test_a_damaged_repository_is_a_clear_error(victim, run, tmp_path) -> None:
    (victim.repository.folder / ".git/index").write_bytes(b"garbage")
    error = run("patch", victim.repository.folder, "-o", tmp_path / "out", "--author", "A <a@b.c>", status=2).exception
    assert "index" in str(error)
