"""Whatever a file holds, it is a finding at worst: no crash, no lost byte, and the other files are done."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agnostic.check import UNREADABLE
from agnostic.commands.check import check_file
from agnostic.commands.fix import fix_file
from agnostic.config import Settings
from agnostic.fix import write

CALL = b"import torch\nx.cuda()\ntorch.cuda.synchronize()\n"
FIXED = b"torch.accelerator.synchronize()"
SETTINGS = Settings(root=Path("/nowhere"), profile="generic", assume_accelerator=True)

READABLE = {
    "CRLF": CALL.replace(b"\n", b"\r\n"),
    "CR only": CALL.replace(b"\n", b"\r"),
    "mixed line ends": b"import torch\r\nif a:\n    torch.cuda.synchronize()\r\n",
    "BOM": b"\xef\xbb\xbf" + CALL,
    "latin-1": b"# -*- coding: latin-1 -*-\nname = '\xe9'\n" + CALL,
    "UTF-8": "name = 'é😀'; ".encode() + CALL,
    "no final newline": CALL.rstrip(b"\n"),
    "tabs": b"import torch\nif a:\n\ttorch.cuda.synchronize()\n",
    "form feed": b"import torch\n\x0c\ntorch.cuda.synchronize()\n",
    "separators in a string": "import torch\ns = 'a\x0bb\u2028c'\ntorch.cuda.synchronize()\n".encode(),
    "space that libcst loses": b"import torch\ntry:\n    torch.cuda.synchronize()\nexcept E :\n    'cuda'\n",
    "form feed in an indentation": b"import torch\nif a:\n\x0c    torch.cuda.synchronize()\n",
    "trailing backslash": b"import torch\ntorch.cuda.\\\nsynchronize()\n",
    "long flat list": b"import torch\nx = [" + b"'cuda', " * 300 + b"]\ntorch.cuda.synchronize()\n",
    "deep code without a token": b"x = " + b"(" * 90 + b"1" + b")" * 90 + b"\n" + CALL,
    "chain of calls without a token": b"x = a" + b".b()" * 300 + b"\n" + CALL,
}
UNREADABLE_FILES = {
    "Python 2": b"print 'cuda'\n",
    "NUL": b"import torch\x00\nx.cuda()\n",
    "bad UTF-8": b"x = '\xff cuda'\n",
    "unknown cookie": b"# coding: no-such-codec\nx.cuda()\n",
    "cookie at odds with BOM": b"\xef\xbb\xbf# coding: latin-1\nx.cuda()\n",
    "UTF-16": "import torch\nx.cuda()\n".encode("utf-16") + b"cuda",
    "merge markers": b"<<<<<<< HEAD\nx.cuda()\n=======\nx.to(d)\n>>>>>>> main\n",
    "notebook magic": b"%matplotlib inline\nx.cuda()\n",
    "mixed tabs": b"if a:\n        x.cuda()\n\ty = 1\n",
    "3,000 parentheses": b"x = " + b"(" * 3000 + b"'cuda'" + b")" * 3000 + b"\n",
    "10,000 elif": b"if a: x.cuda()\n" + b"elif b: x.cuda()\n" * 10000,
    "10,000 and": b"x = 'cuda'" + b" and 'cuda'" * 10000 + b"\n",
    "10,000 strings": b"x = (" + b"'cuda' " * 10000 + b")\n",
    "1,000 plus": b"x = 'cuda'" + b" + 'cuda'" * 1000 + b"\n",
    "chain of calls": b"x = a" + b".cuda()" * 2000 + b"\n",
    "chain of attributes": b"x = a" + b".cuda" * 2000 + b"\n",
    "nested lists": b"x = " + b"[" * 180 + b"'cuda'" + b"]" * 180 + b"\n",
    "nested conditions": b"x = " + b"1 if a else " * 900 + b"'cuda'\n",
}
NOTHING = {
    "empty": b"",
    "a newline": b"\n",
    "a comment": b"# cuda\n",
    "a BOM": b"\xef\xbb\xbf",
    "white space": b"  \n\t\n",
}


@pytest.mark.parametrize("data", READABLE.values(), ids=READABLE)
def test_unusual_files_are_fixed_and_all_else_stays(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(data)
    fixed = fix_file({path: SETTINGS}, True, path)
    assert not any(one.code == UNREADABLE for one in fixed.left)
    assert FIXED in fixed.after or b"torch.accelerator.\\\nsynchronize()" in fixed.after
    kept = [line for line in data.splitlines(keepends=True) if b"cuda" not in line]
    position = 0
    for line in kept:  # in their order, bytes and line ends included
        position = fixed.after.index(line, position) + len(line)


@pytest.mark.parametrize("data", UNREADABLE_FILES.values(), ids=UNREADABLE_FILES)
def test_a_file_that_cannot_be_analysed_is_one_finding_that_says_why(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(data)
    (finding,) = check_file({path: SETTINGS}, path)
    assert finding.code == UNREADABLE
    assert len(finding.message) > len("could not be read: ")
    assert "\n" not in finding.message
    fixed = fix_file({path: SETTINGS}, True, path)
    assert fixed.after == data


@pytest.mark.parametrize("data", NOTHING.values(), ids=NOTHING)
def test_files_with_nothing_in_them_are_clean(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(data)
    assert check_file({path: SETTINGS}, path) == []


@pytest.mark.slow
def test_a_file_of_five_megabytes_is_fixed(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(b"import torch\n" + b"table = {'key': [1, 2, 3]}  # some words to fill\n" * 110_000 + CALL)
    fixed = fix_file({path: SETTINGS}, True, path)
    assert FIXED in fixed.after


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "agnostic", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_one_bad_file_does_not_keep_the_others_from_being_fixed(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_bytes(UNREADABLE_FILES["Python 2"])
    (tmp_path / "deep.py").write_bytes(UNREADABLE_FILES["3,000 parentheses"])
    (tmp_path / "good.py").write_bytes(b"import torch\ntorch.cuda.synchronize()\n")
    done = run("fix", "--apply", "--assume-accelerator", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert "bad.py:1:1: AGN000" in done.stderr
    assert "deep.py:1:1: AGN000" in done.stderr
    assert "Traceback" not in done.stderr
    assert FIXED in (tmp_path / "good.py").read_bytes()


def test_links_folders_with_a_suffix_and_what_dangles(tmp_path: Path) -> None:
    real = tmp_path / "real.py"
    real.write_bytes(CALL)
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "loop").symlink_to(tmp_path)
    done = run("check", "--output-format", "concise", ".", cwd=tmp_path)
    assert {line.partition(":")[0] for line in done.stdout.splitlines()} == {"real.py"}
    named = run("check", "dangling.py", cwd=tmp_path)
    assert (named.returncode, named.stderr) == (2, "torch-agnostic: no such file or folder: dangling.py\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_a_file_without_permission_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "secret.py"
    path.write_bytes(CALL)
    path.chmod(0)
    (finding,) = check_file({path: SETTINGS}, path)
    assert (finding.code, finding.message) == (UNREADABLE, "could not be read: Permission denied")


def test_writing_keeps_the_mode_and_follows_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_bytes(b"before")
    real.chmod(0o751)
    link.symlink_to(real)
    write(link, b"after")
    assert link.is_symlink()
    assert real.read_bytes() == b"after"
    assert real.stat().st_mode & 0o777 == 0o751
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.py", "real.py"]


def test_a_failed_write_leaves_the_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(b"before")

    def replace(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="No space left"):
        write(path, b"after")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("file.py", b"before")]
