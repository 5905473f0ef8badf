"""What a check costs next to `ast.parse` over the same files: `python tests/bench/check_speed.py [PATH...]`.

One process, no cache, CPU seconds. Absolute figures vary from machine to machine, the ratio much less.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import time
import warnings
from pathlib import Path

from agnostic.check import may_concern
from agnostic.commands.check import check_file
from agnostic.options import files
from agnostic.pool import each


def measure(path: Path) -> None:
    """Print what parsing and what checking the files of a folder costs."""
    settings = dict(files((path,), select=None, ignore=None))
    texts = [file.read_bytes() for file in settings]
    start = time.process_time()
    for text in texts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                ast.parse(text)
            except (SyntaxError, ValueError):
                continue
    parse = time.process_time() - start

    start = time.process_time()
    found = sum(map(len, each(lambda file: check_file(settings, file), list(settings), failed, 1)))
    check = time.process_time() - start
    lines = sum(text.count(b"\n") for text in texts)
    parsed = sum(map(may_concern, texts))
    print(f"{path}: {len(texts)} files, {lines} lines; {parsed} files hold a token; {found} findings")
    print(f"ast.parse {parse:6.2f} s   check {check:6.2f} s   ratio {check / parse:.2f}")


def failed(path: Path, why: str) -> list:
    print(f"{path}: {why}", file=sys.stderr)
    return []


def default() -> Path:
    """A part of the installed torch that every machine with the tests has."""
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "distributed"


if __name__ == "__main__":
    for argument in sys.argv[1:] or [default()]:
        measure(Path(argument))
