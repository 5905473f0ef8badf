"""Run the tests of this folder on the reference backend, without letting it into the rest of the test
session.

A device can only be registered for a whole process. So, in a normal session, the files of this folder are not
imported: each becomes one test, and all are run by one child pytest with `TORCH_AGNOSTIC_BACKEND=neuron`,
whose report is shown where something failed. To run or debug a single test, set the variable yourself:

    TORCH_AGNOSTIC_BACKEND=neuron pytest tests/backend/test_memory.py -k out_of_memory

The backend is compiled first if it has not been.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.metadata import version
from pathlib import Path

import pytest

SETTING = "TORCH_AGNOSTIC_BACKEND"
HERE = Path(__file__).resolve().parent
NAME = os.environ.get(SETTING, "")


def build_backend():
    """Compile the backend unless that has been done; a failure is shown and ends the session."""
    from backend_ref import build

    if build.locate(version("torch")) is None:
        environment = {key: value for key, value in os.environ.items() if key != SETTING}
        subprocess.run([sys.executable, "-m", "backend_ref", "build"], env=environment, check=True)


class ChildRun:
    """One child pytest for all selected files of this folder; the outcome of each is read from its report."""

    def __init__(self, config, files):
        self.config, self.files, self.outcomes = config, files, None

    def outcome(self, file):
        """(failed test names, their output) of `file`."""
        if self.outcomes is None:
            self.outcomes = self.run()
        return self.outcomes.get(file.stem, ([], ""))

    def run(self):
        build_backend()
        report = self.config.cache.mkdir("backend") / "report.xml"
        options = ["-m", self.config.option.markexpr, "-k", self.config.option.keyword]
        result = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *options, *map(str, self.files)],
            env={**os.environ, SETTING: "neuron"},
            capture_output=True,
            text=True,
        )
        if result.returncode not in (0, 1, 5):  # all passed, some failed, none selected
            raise RuntimeError(result.stdout[-4000:] + result.stderr[-4000:])
        outcomes = {}
        for case in ElementTree.parse(report).iter("testcase"):
            for problem in (*case.iter("failure"), *case.iter("error")):
                names, output = outcomes.setdefault(case.get("classname", "").split(".")[2], ([], ""))
                names.append(case.get("name"))
                outcomes[case.get("classname").split(".")[2]] = names, output + "\n" + (problem.text or "")
        return outcomes


class ChildFile(pytest.Module):
    """A test file that is run by the child instead of being imported here."""

    def _getobj(self):
        return None

    def collect(self):
        yield ChildItem.from_parent(self, name="on_neuron")


class ChildItem(pytest.Item):
    """The outcome of one file in the child."""

    def runtest(self):
        session = self.session
        if not hasattr(session, "backend_run"):
            files = [item.path for item in session.items if isinstance(item, ChildItem)]
            session.backend_run = ChildRun(self.config, files)
        names, output = session.backend_run.outcome(self.path)
        if names:
            pytest.fail(f"failed on neuron: {', '.join(names)}\n{output}", pytrace=False)

    def reportinfo(self):
        return self.path, None, f"{self.path.stem} on neuron"


if NAME:
    build_backend()
    import torch

    torch.set_num_threads(1)  # sums are then added up in the same order on every machine
else:

    def pytest_pycollect_makemodule(module_path, parent):
        return ChildFile.from_parent(parent, path=module_path)


@pytest.fixture
def device():
    """The device under test."""
    return torch.device(NAME)


@pytest.fixture
def run_python():
    """Run a program in a new Python: run_python(source, VARIABLE="value", ...) -> CompletedProcess."""

    def run(source, *arguments, **environment):
        path = os.pathsep.join(filter(None, [str(HERE), str(HERE.parents[1]), os.environ.get("PYTHONPATH")]))
        return subprocess.run(
            [sys.executable, "-c", source, *arguments],
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=900,
        )

    return run
