"""A hostile repository runs nothing and writes nothing outside the output folder.

Each attack that runs a program is live: after the run it is set off by plain git, to show that it would have
been seen.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest
from repositories import IDENTITY
from victim import SOURCE, Victim, outside

HOOKS = (
    "pre-commit", "post-checkout", "post-index-change", "reference-transaction", "applypatch-msg",
    "pre-applypatch", "post-applypatch", "post-commit", "post-rewrite", "commit-msg", "prepare-commit-msg",
    "fsmonitor-watchman",
)  # fmt: skip


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
