"""The miniature projects: what they are, a rewritten copy of them, and how they are run."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from click.testing import CliRunner, Result

from agnostic.commands.fix import command
from agnostic.proof.program import REAL, STANDING_IN, Run, record

HERE = Path(__file__).resolve().parent / "projects"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""The models are so small that more threads only wait for each other."""
TIMEOUT = 300


@dataclass(frozen=True)
class Project:
    """One folder of `tests/projects`, as its `project.toml` describes it."""

    name: str
    about: str
    command: tuple[str, ...]
    before: str
    rtol: float
    why: str = ""
    processes: int = 1
    needs: tuple[str, ...] = ()

    @property
    def lines(self) -> int:
        """Lines of Python."""
        return sum(len(path.read_text().splitlines()) for path in (HERE / self.name).rglob("*.py"))

    def missing(self) -> str:
        """What the project needs and this environment has not."""
        return ", ".join(name for name in self.needs if find_spec(name) is None)

    def run(self, root: Path, device: str, **more: str) -> Run:
        """Run the copy of the project below `root` with the recorder in it."""
        extra = {**ONE_THREAD, **more, **(accelerate_settings(device) if "accelerate" in self.needs else {})}
        return record(self.command, device, self.processes, TIMEOUT, extra, root / self.name)


def accelerate_settings(device: str) -> dict[str, str]:
    """What makes accelerate, unmodified, take a device of the reference backend for its own.

    It recognises a device named `neuron` by a package; for one that it does not know it has a setting, which
    does for one process.
    """
    if device == "neuron":
        return {"PYTHONPATH": str(HERE / "shims")}
    return {} if device in ("cpu", STANDING_IN, *REAL) else {"ACCELERATE_TORCH_DEVICE": device}


@cache
def projects() -> dict[str, Project]:
    """All projects by name."""
    found = {}
    for path in sorted(HERE.glob("*/project.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        lists = {key: tuple(value) for key, value in table.items() if isinstance(value, list)}
        found[path.parent.name] = Project(path.parent.name, **{**table, **lists})
    return found


def has_recorder() -> bool:
    """Whether the entry points of torch-agnostic are there, through which the backend and the recorder come
    in.
    """
    return any(point.value.startswith("agnostic.proof") for point in entry_points(group="torch.backends"))


def rewrite(root: Path) -> Path:
    """Copy all projects to `root` and let the command rewrite each; nothing is edited by hand."""
    shutil.copytree(HERE, root, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    for name in projects():
        result = fix(root / name, "--apply")
        assert result.exit_code in (0, 1), result.output
    return root


def fix(folder: Path, *options: str) -> Result:
    """Run `torch-agnostic fix --unsafe-fixes` on the folder of a project, in this process."""
    return CliRunner().invoke(command, ["--unsafe-fixes", "--jobs", "1", *options, str(folder)])
