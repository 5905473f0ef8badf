"""The recipes of the patch set, and the series for a plain source folder."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from repositories import Repository

from agnostic.config import ConfigError
from agnostic.patch import recipe as recipes
from agnostic.rule import load
from codemods.knowledge.conventions import conventions, titles
from codemods.knowledge.profile import profiles
from patches import neuron, table

PATCHES = Path(__file__).parent.parent / "patches"
RECIPES = sorted(PATCHES.glob("*.toml"))
PROJECTS = {
    "pytorch", "torchtitan", "vllm", "transformers", "accelerate", "diffusers", "trl", "peft", "timm",
    "lightning", "torchvision", "torchaudio", "deepspeed", "sglang", "verl",
}  # fmt: skip
SOURCE = "import torch\n\n\ndef wait():\n    torch.cuda.empty_cache()\n"


def test_there_is_a_recipe_for_each_project() -> None:
    assert {path.stem for path in RECIPES} == PROJECTS


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_names_what_exists_and_says_why(path) -> None:
    recipe = recipes.read(path)
    assert recipe.pypi
    assert recipe.git.startswith("https://")
    assert recipe.packages
    assert recipe.version
    assert recipe.verify
    assert recipe.conventions in conventions()
    assert recipe.profile in {*profiles(), "auto"}
    assert {*recipe.order, *recipe.ignore} <= {*load().rules}
    assert bool(recipe.exclude or recipe.ignore) <= bool(recipe.on_purpose), "what is left on purpose has a reason"


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_proof_of_a_recipe_is_there(path) -> None:
    for test in recipes.read(path).proof:
        file, _, function = test.partition("::")
        assert f"def {function or 'test_'}" in (PATCHES.parent / file).read_text(encoding="utf-8")


def test_titles_name_rules_and_fit_a_subject() -> None:
    assert {*titles()} <= {rule.name for rule in load().rules.values()}
    assert max(map(len, titles().values())) <= 50


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("profil = 'x'", "did you mean `profile`"),
        ("order = 'AGN101'", "must be a list"),
        ("[[leave]]\nwhat = 'x'", "`what` and `why`"),
        ("=", "Invalid"),
    ],
)
def test_a_recipe_that_is_wrong_is_an_error(tmp_path, text, words) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        recipes.read(path)


@pytest.fixture
def source(tmp_path) -> Path:
    """An unpacked distribution with two packages, of which the recipe means one."""
    for name in ("pack/a.py", "pack/deep/b.py", "pack/kept/c.py", "other/d.py"):
        path = tmp_path / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SOURCE)
    info = tmp_path / "source/pack-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pack\nVersion: 1.2\n")
    (tmp_path / "pack.toml").write_text(
        "pypi = 'pack'\npackages = ['pack']\nexclude = ['pack/kept']\ntarget-torch = '2.10'\n"
        "[[leave]]\nwhat = 'pack/kept'\nwhy = 'it is about CUDA'\n"
    )
    return tmp_path / "source"


def patch(run, source: Path, out: Path):
    return run("patch", "--recipe", source.parent / "pack.toml", source, "-o", out, "--author", "A <a@b.c>")


def test_a_plain_folder_gives_a_series_for_what_the_recipe_means(source, run, tmp_path) -> None:
    patch(run, source, tmp_path / "out")
    text = "".join(path.read_text() for path in (tmp_path / "out").glob("*.patch"))
    assert "+++ b/pack/a.py" in text
    assert "+++ b/pack/deep/b.py" in text
    assert "pack/kept" not in text
    assert "other" not in text
    letter = (tmp_path / "out/cover-letter.md").read_text()
    assert "Base: version 1.2." in letter
    assert "- pack/kept: it is about CUDA" in letter


def test_drift_from_the_recorded_figures_is_told(source, run, tmp_path) -> None:
    recipe = recipes.read(tmp_path / "pack.toml")
    figures = {"pack": table.prove(recipe, source)}
    assert all(figures["pack"]["checks"].values())
    (tmp_path / "figures.json").write_text(json.dumps(figures))
    assert "As recorded." in patch(run, source, tmp_path / "out").stderr
    (source / "pack/new.py").write_text(SOURCE)
    (source / "pack-1.2.dist-info/METADATA").write_text("Version: 1.3\n")
    said = patch(run, source, tmp_path / "out").stderr
    assert "version: 1.2 -> 1.3" in said
    assert "files: 2 -> 3" in said
    assert "before: 2 -> 3" in said


def test_a_series_that_does_not_hold_is_told_apart(source, tmp_path, monkeypatch) -> None:
    recipe = recipes.read(tmp_path / "pack.toml")
    make = table.make_series

    def broken(*arguments):
        result = make(*arguments)
        name = next(name for name in result.files if name.endswith(".patch"))
        result.files[name] = result.files[name].replace(b"torch.cuda", b"torch.coda")
        return result

    monkeypatch.setattr(table, "make_series", broken)
    checks = table.prove(recipe, source)["checks"]
    assert checks == {"same bytes": True, "applies": False, "compiles": False, "equals fix": False}


def test_the_recipe_works_on_a_checkout_too(source, run, tmp_path) -> None:
    repository = Repository(source)
    repository.commit()
    patch(run, source, tmp_path / "out")
    letter = (tmp_path / "out/cover-letter.md").read_text()
    assert repository.git("rev-parse", "HEAD").strip() in letter
    subprocess.run(["git", "apply", "--check", *sorted((tmp_path / "out").glob("*.patch"))], cwd=source, check=True)


def test_a_project_by_links_has_the_changed_files_and_is_that_of_the_base(tmp_path) -> None:
    for name, text in {"a.py": "1", "deep/b.py": "2", "deep/c.py": "3"}.items():
        path = tmp_path / "pack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    neuron.copy(tmp_path / "pack", tmp_path / "copy", {"deep/b.py": b"new"}, tmp_path / "pack")
    assert (tmp_path / "copy/deep/b.py").read_text() == "new"
    assert (tmp_path / "copy/a.py").is_symlink()
    assert (tmp_path / "copy/deep/c.py").is_symlink()
    assert (tmp_path / "pack/deep/b.py").read_text() == "2"
    (tmp_path / "base/deep").mkdir(parents=True)
    (tmp_path / "base/deep/b.py").write_text("another version")
    with pytest.raises(ConfigError, match="not that of the base"):
        neuron.copy(tmp_path / "pack", tmp_path / "other", {"deep/b.py": b"new"}, tmp_path / "base")


@pytest.mark.parametrize(
    ("name", "found", "words"),
    [
        ("vllm", None, "no test"),
        ("pytorch", None, "not run"),
        ("pytorch", {"passed": 2, "failed": 0, "skipped": 0}, "yes: 2 passed"),
        ("pytorch", {"passed": 0, "failed": 0, "skipped": 2}, "NO: 0 failed, 0 passed, 2 skipped"),
        ("pytorch", {"passed": 1, "failed": 1, "skipped": 0}, "NO: 1 failed, 1 passed"),
    ],
)
def test_the_table_says_what_ran_on_neuron(name, found, words) -> None:
    one = table.on_neuron_in_words(name, {"neuron": found} if found else {})
    assert one == words


def test_the_status_is_current() -> None:
    figures = json.loads((PATCHES / "figures.json").read_text())
    assert (PATCHES / "STATUS.md").read_text() == table.status(figures)
    assert {*figures} <= PROJECTS
