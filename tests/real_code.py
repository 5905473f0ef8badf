"""Rewrite copies of real packages and count what must never happen: `python tests/real_code.py PATH...`.

A package is copied, `fix --apply` runs over the copy, first with safe fixes only, then with `--unsafe-fixes`.
Counted: files that no longer compile, names that became undefined (ruff's F821), `torch.*` names that the
installed torch does not have, half-migrated lines, and files that a second run changes. The exit status is 1
if any count is not 0.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

DOTTED = re.compile(r"(?<![\w.])torch(?:\.\w+)+")
HALF = re.compile(r"""["']cuda(?::\d+)?["']\s+if\s+(?:\w+\.)*accelerator\b""")
SUMMARY = re.compile(r"(?:Fixed|Would fix) (\d+) findings? in (\d+) files?; (?:(\d+) left|none left)")


@dataclass
class Outcome:
    """What rewriting one package gave; the lists are what must be empty."""

    name: str
    files: int
    changed: int = 0
    fixed: int = 0
    left: int = 0
    failed: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    undefined: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)
    unstable: list[str] = field(default_factory=list)

    @property
    def problems(self) -> dict[str, list[str]]:
        kinds = ("failed", "broken", "undefined", "unknown", "half", "unstable")
        return {kind: getattr(self, kind) for kind in kinds}

    @property
    def is_good(self) -> bool:
        return not any(self.problems.values())


def rewrite(path: Path, unsafe: bool) -> Outcome:
    """Rewrite a copy of the Python files of a folder and look at the result."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, path.name)
        before = _copy(path, root)
        undefined = _undefined(root)
        outcome = Outcome(f"{path.name} ({'all' if unsafe else 'safe'})", len(before))
        _fix(root, unsafe, outcome)
        after = {name: (root / name).read_bytes() for name in before}
        changed = [name for name in before if before[name] != after[name]]
        outcome.changed = len(changed)
        for name in changed:
            if _compiles(before[name]) and (why := _compiles(after[name], say=True)):
                outcome.broken.append(f"{name}: {why}")
            old, new = (data.decode("latin-1") for data in (before[name], after[name]))
            for dotted in sorted(set(DOTTED.findall(new)) - set(DOTTED.findall(old))):
                if not _exists(dotted):
                    outcome.unknown.append(f"{name}: {dotted}")
            for text in (Counter(HALF.findall(new)) - Counter(HALF.findall(old))).elements():
                outcome.half.append(f"{name}: {text}")
        outcome.undefined = sorted((_undefined(root) - undefined).elements())
        _fix(root, unsafe)
        outcome.unstable = [name for name in before if (root / name).read_bytes() != after[name]]
    return outcome


def _copy(path: Path, root: Path) -> dict[str, bytes]:
    files = {}
    for file in sorted(path.rglob("*.py")):
        if file.is_file():
            target = root / file.relative_to(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            files[str(target.relative_to(root))] = target.read_bytes()
    return files


def _fix(root: Path, unsafe: bool, outcome: Outcome | None = None) -> None:
    command = [sys.executable, "-m", "agnostic", "fix", "--apply", *["--unsafe-fixes"] * unsafe, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    last = done.stderr.strip().rpartition("\n")[2]
    found = SUMMARY.search(last)
    if outcome is not None and found:
        outcome.fixed, outcome.left = int(found[1]), int(found[3] or 0)
    elif outcome is not None:
        outcome.failed.append(f"fix ended with {done.returncode}: {last}")


def _compiles(data: bytes, say: bool = False) -> object:
    """Whether Python compiles a file; with `say` the reason why not, or an empty string."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, "<file>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(error) if say else False
    return "" if say else True


def _undefined(root: Path) -> Counter[str]:
    """How often each file uses each undefined name."""
    command = [
        "ruff",
        "check",
        "--isolated",
        "--no-cache",
        "--select",
        "F821",
        "--output-format",
        "json",
        str(root),
    ]
    python = Path(sys.executable)
    command[0] = str(python.with_name("ruff")) if python.with_name("ruff").exists() else "ruff"
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Counter(
        f"{Path(one['filename']).relative_to(root.resolve())}: {one['message']}" for one in json.loads(done.stdout)
    )


@functools.cache
def _exists(dotted: str) -> bool:
    import torch

    value: object = torch
    for part in dotted.split(".")[1:]:
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--safe", action="store_true", help="safe fixes only")
    parser.add_argument("--unsafe", action="store_true", help="all fixes only")
    given = parser.parse_args()
    modes = [unsafe for unsafe, skipped in ((False, given.unsafe), (True, given.safe)) if not skipped]
    head = ("files", "changed", "fixed", "left", *Outcome("", 0).problems)
    print(f"{'package':28}", *(f"{word:>9}" for word in head))
    good = True
    for path in given.paths:
        for unsafe in modes:
            outcome = rewrite(path, unsafe)
            counts = (outcome.files, outcome.changed, outcome.fixed, outcome.left)
            row = (*counts, *map(len, outcome.problems.values()))
            print(f"{outcome.name:28}", *(f"{count:9}" for count in row), flush=True)
            for kind, found in outcome.problems.items():
                for text in found:
                    print(f"    {kind}: {text}")
            good = good and outcome.is_good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
