"""The proof: projects that are hard-coded to CUDA fail on another device, and their rewrite learns what
they learn.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from miniature import HERE, Project, fix, has_recorder, projects, rewrite

from agnostic.proof.agreement import agreement
from agnostic.proof.compare import compare
from agnostic.proof.program import Run, prepare

pytest.importorskip("torch", reason="the projects are PyTorch programs")
REACHABLE = {"neuron", "tpu"}
each = pytest.mark.parametrize("project", projects().values(), ids=lambda project: project.name)


@pytest.fixture(scope="session")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The projects after `fix --apply`."""
    return rewrite(tmp_path_factory.mktemp("rewritten"))


@pytest.fixture(scope="session")
def run(rewritten: Path) -> Callable[[Project, str, bool], Run]:
    """Run a project, the original or the rewrite, on a device; each is run once in a session."""
    if not has_recorder():
        pytest.skip("torch-agnostic is not installed (`pip install -e .[test]`)")
    prepare(REACHABLE)
    done: dict[tuple[str, str, bool], Run] = {}

    def run_once(project: Project, device: str, original: bool = False) -> Run:
        if missing := project.missing():
            pytest.skip(f"needs {missing}")
        key = (project.name, device, original)
        if key not in done:
            done[key] = project.run(HERE if original else rewritten, device)
        return done[key]

    return run_once


def test_there_are_enough_projects_of_the_right_size() -> None:
    assert len(projects()) >= 14
    assert all(50 <= project.lines <= 300 for project in projects().values())


@each
def test_a_second_fix_changes_nothing(project: Project, rewritten: Path) -> None:
    assert fix(rewritten / project.name).stdout == ""


@each
def test_the_rewrite_compiles(project: Project, rewritten: Path) -> None:
    for path in (rewritten / project.name).rglob("*.py"):
        compile(path.read_text(), str(path), "exec")


def test_one_rewrite_learns_the_same(run: Callable[..., Run]) -> None:
    learns_the_same(projects()["diffusion"], run, "neuron")


@pytest.mark.slow
@each
def test_verify_fails_with_the_original(project: Project, run: Callable[..., Run]) -> None:
    there = run(project, "neuron", original=True)
    verdict = compare(run(project, "cpu", original=True), there, project.rtol)
    assert not verdict.good
    if project.before == "raises":
        assert there.status == "failed"
        errors = re.findall(r"Error: .*", there.output)
        assert any(re.search("cuda|nccl", one, re.IGNORECASE) for one in errors), there.output
    else:
        assert verdict.outcome == "never used"
        assert "the program never used neuron: " in str(verdict)
        assert " asked for CUDA instead: torch.cuda." in str(verdict)


@pytest.mark.slow
@each
@pytest.mark.parametrize("device", sorted(REACHABLE))
def test_the_rewrite_learns_the_same_on(device: str, project: Project, run: Callable[..., Run]) -> None:
    learns_the_same(project, run, device)


def learns_the_same(project: Project, run: Callable[..., Run], device: str) -> None:
    verdict = compare(run(project, "cpu"), there := run(project, device), project.rtol)
    assert verdict.good, f"{verdict}\n{there.traceback if there.status != 'ended' else ''}"
    assert sum(verdict.counts)


@pytest.mark.slow
def test_the_tests_of_a_package_run_on_the_accelerator(rewritten: Path, run: Callable[..., Run]) -> None:
    """Tests that were skipped without CUDA are run; on the CPU they are skipped still."""
    package = replace(projects()["vision_package"], command=("-m", "pytest", "-q", "-rs", "tests"))
    results = {device: package.run(rewritten, device) for device in ("cpu", "neuron")}
    assert all(result.status == "ended" for result in results.values()), results["neuron"].traceback
    assert "skipped" in results["cpu"].output
    assert "needs two GPUs" not in results["neuron"].output


@pytest.mark.slow
@each
def test_the_rewrite_learns_what_the_original_learns(project: Project, run: Callable[..., Run]) -> None:
    verdict = compare(run(project, "stand-in", original=True), run(project, "cpu"), project.rtol)
    assert verdict.good, str(verdict)


@pytest.mark.slow
@each
def test_the_linter_reports_all_that_reaches_for_cuda(project: Project, run: Callable[..., Run]) -> None:
    agreed = agreement([run(project, "stand-in", original=True)])
    assert agreed.found
    assert agreed.recall == 1.0, str(agreed)


@pytest.mark.slow
@each
def test_the_rewrite_reaches_for_cuda_only_where_it_is_reported(project: Project, run: Callable[..., Run]) -> None:
    assert not agreement([run(project, "neuron")]).missed


@pytest.mark.slow
@each
def test_the_rewrite_learns_the_same_on_cuda_as_the_original(project: Project, run: Callable[..., Run]) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU and a CUDA build of torch")
    if torch.cuda.device_count() < project.processes:
        pytest.skip(f"needs {project.processes} GPUs")
    verdict = compare(run(project, "cuda", original=True), run(project, "cuda"), project.rtol)
    assert verdict.good, str(verdict)


def test_the_readme_has_a_row_for_each_project() -> None:
    readme = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
    for project in projects().values():
        assert f"\n| `{project.name}` | {project.lines} | " in readme, "run `python tests/proof_table.py --write`"
