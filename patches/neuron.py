"""A series at work: this repository's tests of the project on neuron, with the changed files in place of the installed.

The project is copied by links, so that only changed files are other ones; nothing installed is touched.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec
from pathlib import Path

from agnostic.config import ConfigError
from agnostic.patch.base import Base
from agnostic.patch.series import Series

ROOT = Path(__file__).resolve().parent.parent


def outcome(base: Base, series: Series, packages: tuple[str, ...], tests: tuple[str, ...]) -> dict[str, int]:
    """How many tests passed, failed and were skipped with a series applied to the installed packages.

    Raises ConfigError if the base is not what is installed.
    """
    changed = {name: data for commit in series.commits for name, data in commit.files.items()}
    with tempfile.TemporaryDirectory(prefix="torch-agnostic-") as folder:
        for package in packages:
            copy(installed(package), Path(folder, package), _below(package, changed), base.folder / package)
        subprocess.run([sys.executable, "-m", "backend_ref", "build"], cwd=ROOT, capture_output=True, check=True)
        report = Path(folder, "report.xml")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "", f"--junitxml={report}", *tests],
            cwd=ROOT,
            env=environment(Path(folder)),
            capture_output=True,
            text=True,
            check=False,
        )
        found = _counts(report)
        if found["failed"] or not found["passed"]:
            print(done.stdout[-6000:], done.stderr[-2000:], file=sys.stderr)
        return found


def environment(folder: Path) -> dict[str, str]:
    """Variables under which a process imports from a folder first and then from here, and has the reference device."""
    path = os.pathsep.join([str(folder), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "TORCH_AGNOSTIC_BACKEND": "neuron"}


def installed(package: str) -> Path:
    """The folder of an installed package, which is not imported for that. Raises ConfigError if there is none."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ConfigError(f"{package} is not installed here; the tests on neuron need it")
    return Path(spec.origin).parent


def copy(package: Path, target: Path, changed: dict[str, bytes], base: Path | None = None) -> None:
    """A package by links, but for some files; raises ConfigError where it differs from the base of those."""
    target.mkdir()
    folders = {name.partition("/")[0] for name in changed if "/" in name}
    for path in package.iterdir():
        if path.name in folders:
            copy(path, target / path.name, _below(path.name, changed), base / path.name if base else None)
        elif path.name in changed:
            if base is not None and path.read_bytes() != (base / path.name).read_bytes():
                raise ConfigError(f"{path} is not that of the base; install the version of the source")
            (target / path.name).write_bytes(changed[path.name])
        elif path.name != "__pycache__":
            (target / path.name).symlink_to(path)


def _below(folder: str, changed: dict[str, bytes]) -> dict[str, bytes]:
    return {name[len(folder) + 1 :]: data for name, data in changed.items() if name.startswith(f"{folder}/")}


def _counts(report: Path) -> dict[str, int]:
    found = {"passed": 0, "failed": 0, "skipped": 0}
    if not report.is_file():
        return {**found, "failed": 1}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {part.tag for part in case}
        kind = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[kind] += 1
    return found
