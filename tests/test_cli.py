"""What the command line promises: exit statuses, what goes where, and diffs that git takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agnostic.__main__ import main

HOME = Path(__file__).parent.parent
CALL = b"import torch\n\ntorch.cuda.set_device(0)\nm.cuda()\n"


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agnostic", *arguments]
    given = {**os.environ, "PYTHONPATH": str(HOME), **environment}
    return subprocess.run(command, cwd=cwd, env=given, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_bytes(CALL)
    (tmp_path / "clean.py").write_bytes(b"import torch\n")
    return tmp_path


def test_exit_status_of_check(project: Path) -> None:
    assert run("check", cwd=project).returncode == 1
    assert run("check", "clean.py", cwd=project).returncode == 0


def test_results_are_on_stdout_and_talk_on_stderr(project: Path) -> None:
    done = run("check", "--output-format", "concise", cwd=project)
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["train.py"] * 2
    assert done.stderr.startswith("2 findings in 1 of 2 files.")
    assert "torch-agnostic fix --apply" in done.stderr
    assert "\033" not in done.stdout
    clean = run("check", "clean.py", cwd=project)
    assert (clean.stdout, clean.stderr) == ("", "1 file checked: nothing found.\n")


def test_fix_prints_the_diff_and_changes_nothing(project: Path) -> None:
    done = run("fix", "--unsafe-fixes", cwd=project)
    assert done.returncode == 1
    assert "-m.cuda()\n" in done.stdout
    assert "Write the files with `--apply`." in done.stderr
    assert (project / "train.py").read_bytes() == CALL


def test_prose_is_looked_at_when_asked(project: Path) -> None:
    prose = b"import torch\nn = torch.cuda.device_count()  # of CUDA devices\n"
    (project / "prose.py").write_bytes(prose)
    assert run("check", "prose.py", "--output-format", "concise", cwd=project).stdout.count("\n") == 1
    listed = run("check", "--comments", "prose.py", "--output-format", "concise", cwd=project).stdout
    assert "prose.py:2:37: AGN010 [unsafe] this comment says `CUDA devices`" in listed
    run("fix", "--comments", "--apply", "--unsafe-fixes", "prose.py", cwd=project)
    fixed = b"import torch\nn = torch.accelerator.device_count()  # of accelerators\n"
    assert (project / "prose.py").read_bytes() == fixed


def test_fix_applied_leaves_nothing_to_fix(project: Path) -> None:
    done = run("fix", "--apply", "--unsafe-fixes", cwd=project)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "Fixed 2 findings in 1 file; none left.\n"
    again = run("fix", "--apply", "--unsafe-fixes", cwd=project)
    assert (again.returncode, again.stderr) == (0, "Fixed 0 findings in 0 files; none left.\n")


BAD = {
    "unknown option": ["check", "--no-such-option"],
    "unknown command": ["chekc"],
    "unknown format": ["check", "--output-format", "yaml"],
    "missing path": ["check", "nowhere"],
    "unknown rule": ["check", "--select", "AGN999"],
    "no number": ["check", "--jobs", "many"],
    "no version": ["check", "--target-torch", "new"],
    "unknown profile": ["check", "--profile", "no-such-profile"],
    "unknown explanation": ["rule", "no-such-rule"],
    "missing configuration": ["check", "--config", "nowhere.toml"],
}


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_a_bad_command_is_one_line_and_status_2(project: Path, arguments: list[str]) -> None:
    done = run(*arguments, cwd=project)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("torch-agnostic: ")
    assert done.stderr.count("\n") == 1


def test_an_internal_error_is_one_line_and_status_2(project: Path) -> None:
    (project / "sitecustomize.py").write_text("import agnostic.options\ndel agnostic.options.discover\n")
    done = run("check", cwd=project, PYTHONPATH=f"{HOME}{os.pathsep}{project}")
    assert done.returncode == 2
    assert done.stderr.startswith("torch-agnostic: internal error: NameError")
    assert done.stderr.count("\n") == 1


def test_no_python_files_is_said(tmp_path: Path) -> None:
    done = run("check", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "torch-agnostic: no Python files found under the given paths\n"


def test_statistics_count_by_rule(project: Path) -> None:
    done = run("check", "--statistics", cwd=project)
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["count", "safe", "unsafe", "rule"]
    assert sum(int(row.split()[0]) for row in rows) == 2


DIFFS = {
    "plain": ("train.py", CALL),
    "CRLF": ("train.py", CALL.replace(b"\n", b"\r\n")),
    "no final newline": ("train.py", CALL.rstrip(b"\n")),
    "mixed": ("train.py", b"import torch\r\nx = 1\ntorch.cuda.set_device(0)"),
    "space in the name": ("a b.py", CALL),
    "folder": ("deep/er/train.py", CALL),
    "latin-1": ("train.py", b"# coding: latin-1\nname = '\xe9'\n" + CALL),
}


@pytest.mark.parametrize(("name", "data"), DIFFS.values(), ids=DIFFS)
def test_git_applies_the_diff(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    command = [sys.executable, "-m", "agnostic", "fix", "--unsafe-fixes", "."]
    given = {**os.environ, "PYTHONPATH": str(HOME)}
    diff = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, check=False).stdout
    assert diff
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff, check=True)
    by_git = path.read_bytes()
    path.write_bytes(data)
    run("fix", "--apply", "--unsafe-fixes", ".", cwd=tmp_path)
    assert by_git == path.read_bytes() != data


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_one_line_and_status_2(project: Path) -> None:
    project.chmod(0o555)
    done = run("fix", "--apply", "--unsafe-fixes", ".", cwd=project)
    project.chmod(0o755)
    assert done.returncode == 2
    assert done.stderr == "torch-agnostic: train.py was not written: Permission denied\n"


def test_a_full_disk_is_one_line_and_status_2(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def write(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agnostic.commands.fix.write", write)
    monkeypatch.setattr(sys, "argv", ["torch-agnostic", "fix", "--apply", "--unsafe-fixes", "."])
    monkeypatch.chdir(project)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capfd.readouterr().err == "torch-agnostic: train.py was not written: No space left on device\n"


def test_the_cold_path_imports_no_parser(project: Path) -> None:
    program = (
        "import sys; from agnostic.__main__ import main\n"
        "sys.argv = ['torch-agnostic', 'check', 'clean.py']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(sorted({'torch', 'libcst', 'git'} & set(sys.modules)))"
    )
    given = {**os.environ, "PYTHONPATH": str(HOME)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=project, env=given, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_no_slow_part_of_libcst_is_imported(project: Path) -> None:
    program = (
        "import sys; from agnostic.__main__ import main\n"
        "sys.argv = ['torch-agnostic', 'fix', '--unsafe-fixes']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "slow = {'torch', 'libcst.matchers', 'libcst.codemod'}\n"
        "print(sorted(slow & set(sys.modules)), file=sys.stderr)"
    )
    given = {**os.environ, "PYTHONPATH": str(HOME)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=project, env=given, capture_output=True, text=True, check=True)
    assert done.stderr.endswith("[]\n")


def test_many_processes_find_what_one_finds(tmp_path: Path) -> None:
    for number in range(70):
        (tmp_path / f"file{number}.py").write_bytes(CALL * (number % 3))
    (tmp_path / "broken.py").write_bytes(b"print 'cuda'\n")
    one, many = (
        run("check", "--no-cache", "--output-format", "json", "--jobs", jobs, cwd=tmp_path) for jobs in ("1", "2")
    )
    assert one.stdout == many.stdout
    assert one.stdout.count('"code"') == 1 + 2 * 23 + 4 * 23


def test_modules_in_the_folder_that_is_checked_are_not_imported(tmp_path: Path) -> None:
    for name in ("click.py", "libcst.py", "dataclasses.py"):
        (tmp_path / name).write_text("open('executed', 'w').close()\n")
    root = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-m", "agnostic", "check", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "executed").exists()
