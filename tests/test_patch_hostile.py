"""A hostile repository runs nothing and writes nothing outside the output folder.

Each attack that runs a program is live: after the run it is set off by plain git, to show that it would have
been seen.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from repositories import IDENTITY, Repository

SOURCE = "import torch\n\n\ndef run():\n    torch.cuda.synchronize()\n    return torch.ones(2, device='cuda')\n"
HOOKS = (
    "pre-commit", "post-checkout", "post-index-change", "reference-transaction", "applypatch-msg",
    "pre-applypatch", "post-applypatch", "post-commit", "post-rewrite", "commit-msg", "prepare-commit-msg",
    "fsmonitor-watchman",
)  # fmt: skip


@dataclass
class Victim:
    """A repository under attack, and the program whose run betrays it."""

    repository: Repository
    canary: Path
    program: Path

    def config(self, *settings: str) -> None:
        """Set `key=value`, {program} standing for the program."""
        for setting in settings:
            key, _, value = setting.partition("=")
            self.repository.git("config", "--add", key, value.format(program=self.program))

    def commit(self, name: str, text: str) -> None:
        self.repository.write(name, text)
        with self.asleep():
            self.repository.commit("More")

    @contextlib.contextmanager
    def asleep(self):
        """The program does nothing meanwhile."""
        self.program.write_text("#!/bin/sh\ncat\n")
        yield
        self.arm()

    def arm(self) -> None:
        self.program.write_text(f"#!/bin/sh\ntouch '{self.canary}'\nexit 1\n")
        self.program.chmod(0o755)

    def plant_tree(self, *entries: tuple[str, str, bytes]) -> None:
        """Commit a tree that git would refuse to write: (mode, name, content); names may hold anything."""
        lines = []
        for mode, name, content in entries:
            identity = self._object("blob", content)
            for part in reversed(name.split("/")):
                if part != name.split("/")[-1]:
                    identity, mode = self._object("tree", lines.pop()), "40000"
                lines.append(f"{mode} {part}".encode() + b"\0" + bytes.fromhex(identity))
        lines.sort(key=lambda line: line.partition(b" ")[2])
        tree = self._object("tree", b"".join(lines))
        commit = self.repository.git("commit-tree", tree, "-m", "planted").strip()
        self.repository.git("update-ref", "refs/heads/main", commit)

    def _object(self, kind: str, data: bytes) -> str:
        command = ["git", "hash-object", "-w", "--literally", "-t", kind, "--stdin"]
        done = subprocess.run(command, cwd=self.repository.folder, input=data, capture_output=True, check=True)
        return done.stdout.decode().strip()


def outside(victim: Victim, output: Path) -> dict[str, bytes]:
    """Everything around the repository, and all of it but what git itself may refresh."""
    root = victim.repository.folder.parent
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in root.rglob("*")
        if not path.is_relative_to(output) and not path.is_symlink()
    }


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    victim = Victim(Repository(tmp_path / "repository"), tmp_path / "canary", tmp_path / "program")
    victim.program.write_text("#!/bin/sh\ncat\n")
    victim.repository.write("pack/train.py", SOURCE)
    victim.repository.commit("Base")
    victim.arm()
    return victim


def hooks(victim: Victim) -> None:
    folder = victim.repository.folder / ".git/hooks"
    folder.mkdir(exist_ok=True)
    for name in HOOKS:
        (folder / name).symlink_to(victim.program)


def hooks_path(victim: Victim) -> None:
    folder = victim.repository.folder.parent / "hooks"
    folder.mkdir()
    for name in HOOKS:
        (folder / name).symlink_to(victim.program)
    victim.config(f"core.hooksPath={folder}")


def fsmonitor(victim: Victim) -> None:
    victim.config("core.fsmonitor={program}")


def clean_filter(victim: Victim) -> None:
    victim.config("filter.evil.clean={program}", "filter.evil.smudge={program}", "filter.evil.required=true")
    victim.commit(".gitattributes", "*.py filter=evil\n")
    os.utime(victim.repository.folder / "pack/train.py", (1, 1))


def process_filter(victim: Victim) -> None:
    victim.commit(".gitattributes", "*.py filter=evil\n")
    victim.config("filter.evil.process={program}")
    os.utime(victim.repository.folder / "pack/train.py", (1, 1))


def textconv(victim: Victim) -> None:
    victim.config("diff.evil.textconv={program}", "diff.evil.cachetextconv=true")
    victim.commit(".gitattributes", "*.py diff=evil\n")


def external_diff(victim: Victim) -> None:
    victim.config("diff.external={program}")
    victim.commit("pack/more.py", SOURCE)


def diff_driver(victim: Victim) -> None:
    victim.config("diff.evil.command={program}")
    victim.commit(".gitattributes", "*.py diff=evil\n")
    victim.commit("pack/more.py", SOURCE)


def attributes_outside_the_tree(victim: Victim) -> None:
    victim.config("diff.evil.textconv={program}")
    (victim.repository.folder / ".git/info").mkdir(exist_ok=True)
    (victim.repository.folder / ".git/info/attributes").write_text("*.py diff=evil\n")


def included_configuration(victim: Victim) -> None:
    path = victim.repository.folder / "more.cfg"
    path.write_text(f"[core]\n\tfsmonitor = {victim.program}\n[diff]\n\texternal = {victim.program}\n")
    victim.config("include.path=../more.cfg")


def pager_and_editor(victim: Victim) -> None:
    names = ("core.pager", "pager.log", "pager.diff", "pager.format-patch", "core.editor", "sequence.editor")
    victim.config(*(f"{name}={{program}}" for name in names))


def signing_program(victim: Victim) -> None:
    victim.config("gpg.program={program}", "commit.gpgSign=true", "log.showSignature=true", "user.signingKey=x")


def aliases(victim: Victim) -> None:
    for name in ("rev-parse", "ls-tree", "cat-file", "format-patch", "fast-import", "resolve"):
        victim.config(f"alias.{name}=!{{program}}")


def missing_objects(victim: Victim, url: str) -> None:
    """A partial clone whose contents come from a remote that runs a program."""
    victim.config(
        f"remote.origin.url={url}",
        "remote.origin.promisor=true",
        "remote.origin.partialclonefilter=blob:none",
        "extensions.partialClone=origin",
        "core.repositoryFormatVersion=1",
        "protocol.allow=always",
        "protocol.ext.allow=always",
        "core.sshCommand={program}",
    )
    name = victim.repository.git("rev-parse", "HEAD:pack/train.py").strip()
    (victim.repository.folder / ".git/objects" / name[:2] / name[2:]).unlink()


def submodule(victim: Victim, url: str) -> None:
    head = victim.repository.git("rev-parse", "HEAD").strip()
    victim.repository.write(
        ".gitmodules", f'[submodule "x.py"]\n\tpath = x.py\n\turl = {url}\n\tupdate = !{victim.program}\n'
    )
    victim.repository.git("update-index", "--add", "--cacheinfo", f"160000,{head},x.py")
    with victim.asleep():
        victim.repository.commit("With a submodule")
    victim.config(f"submodule.x.py.url={url}", "submodule.x.py.update=!{program}", "protocol.ext.allow=always")
    victim.config("submodule.recurse=true", "diff.submodule=log", "status.submoduleSummary=true")


ATTACKS: dict[str, tuple[Callable[[Victim], None], list[str] | None]] = {
    "hooks": (hooks, ["commit", "--allow-empty", "-m", "x"]),
    "hooks-path": (hooks_path, ["commit", "--allow-empty", "-m", "x"]),
    "fsmonitor": (fsmonitor, ["status"]),
    "clean-filter": (clean_filter, ["status"]),
    "process-filter": (process_filter, ["status"]),
    "textconv": (textconv, ["show", "--textconv", "HEAD:pack/train.py"]),
    "external-diff": (external_diff, ["diff", "HEAD~1"]),
    "diff-driver": (diff_driver, ["diff", "HEAD~1"]),
    "attributes-outside-the-tree": (
        attributes_outside_the_tree,
        ["show", "--textconv", "HEAD:pack/train.py"],
    ),
    "included-configuration": (included_configuration, ["status"]),
    "pager-and-editor": (pager_and_editor, ["commit", "--amend"]),
    "signing-program": (signing_program, ["commit", "--allow-empty", "-m", "x"]),
    "aliases": (aliases, ["resolve"]),
    "missing-objects-ssh": (
        lambda one: missing_objects(one, "ssh://host/x"),
        ["cat-file", "-p", "HEAD:pack/train.py"],
    ),
    "missing-objects-ext": (
        lambda one: missing_objects(one, f"ext::{one.program} x"),
        ["cat-file", "-p", "HEAD:pack/train.py"],
    ),
    "missing-objects-dash": (lambda one: missing_objects(one, f"--upload-pack={one.program}"), None),
    "submodule-ext": (lambda one: submodule(one, f"ext::{one.program} x"), None),
    "submodule-dash": (lambda one: submodule(one, f"--upload-pack={one.program}"), None),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_runs(victim, run, tmp_path, monkeypatch, name) -> None:
    attack, trigger = ATTACKS[name]
    attack(victim)
    victim.canary.unlink(missing_ok=True)
    output = tmp_path / "out"
    before = outside(victim, output)
    status = 2 if name.startswith("missing") else 0
    result = run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>", status=status)
    if status:
        assert "a partial clone?" in str(result.exception)
    else:
        assert list(output.glob("*.patch"))
    assert not victim.canary.exists()
    assert outside(victim, output) == before
    monkeypatch.chdir(victim.repository.folder)
    run("check", "--diff-base", "HEAD", "--no-baseline", "pack")
    assert not victim.canary.exists()
    if trigger:
        environment = {**os.environ, **IDENTITY, "GIT_PAGER": "", "EDITOR": ""}
        del environment["EDITOR"]
        subprocess.run(
            ["git", *trigger],
            cwd=victim.repository.folder,
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert victim.canary.exists(), "the attack is not live"


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


def test_the_caller_s_environment_does_not_lead_elsewhere(victim, run, tmp_path, monkeypatch) -> None:
    for name in ("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_ASKPASS", "PAGER"):
        monkeypatch.setenv(name, str(victim.program))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    output = tmp_path / "out"
    run("patch", victim.repository.folder, "-o", output, "--author", "A <a@b.c>")
    assert list(output.glob("*.patch"))
    assert not victim.canary.exists()
    assert not (tmp_path / "nowhere").exists()


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
