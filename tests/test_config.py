"""Where settings come from, and what is said about bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from agnostic import config
from agnostic.config import ConfigError, Settings
from agnostic.options import files, settings_for

GIVEN = {"select": None, "ignore": None}


def configure(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(f"[tool.torch-agnostic]\n{text}\n")
    (folder / "file.py").write_text("")
    return folder


def listed(*paths: Path, **given: object) -> dict[str, Settings]:
    return {file.name: settings for file, settings in files(paths, **GIVEN, **given)}


def test_every_key_is_read(tmp_path: Path) -> None:
    text = """
        select = ["AGN1"]
        ignore = ["AGN101"]
        exclude = ["a"]
        extend-exclude = ["b"]
        per-file-ignores = {"tests/*" = ["AGN2"]}
        target-torch = "2.9"
        target = "neuron"
        profile = "generic"
        assume-accelerator = true
        comments = true
        baseline = "baseline.json"
        ignore-comments = ["allow-cuda"]
    """
    settings = config.load(configure(tmp_path, text))
    assert settings == Settings(
        select=("AGN1",),
        ignore=("AGN101",),
        exclude=("a",),
        extend_exclude=("b",),
        per_file_ignores={"tests/*": ("AGN2",)},
        target_torch="2.9",
        target="neuron",
        profile="generic",
        assume_accelerator=True,
        comments=True,
        baseline="baseline.json",
        ignore_comments=("allow-cuda",),
        root=tmp_path,
    )


BAD = {
    "a misspelt key": ('ignroe = ["AGN1"]', "unknown key `ignroe` in [tool.torch-agnostic]; did you mean"),
    "an unknown key": ("zzz = 1", "unknown key `zzz` in [tool.torch-agnostic]; known keys: assume-"),
    "a string for a list": ('select = "AGN1"', "`select` must be a list of strings"),
    "a number in a list": ("select = [1]", "`select` must be a list of strings"),
    "a string for a truth value": ('assume-accelerator = "yes"', "must be true or false"),
    "a list for a table": ("per-file-ignores = []", "must be a table of lists of strings"),
    "a string in a table": ('per-file-ignores = {"*" = "A"}', "must be a table of lists of strings"),
    "no version": ('target-torch = "new"', "target-torch: `new` is no version; write it as `2.10`"),
    "no TOML": ("= 1", "pyproject.toml: Invalid statement"),
    "an unknown rule": ('select = ["AGN999"]', "there is no rule `AGN999`"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), BAD.values(), ids=BAD)
def test_bad_configuration_is_said_clearly(tmp_path: Path, text: str, wanted: str) -> None:
    configure(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        settings_for(tmp_path, None, None)
    assert wanted in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_line_wins(tmp_path: Path) -> None:
    configure(tmp_path, 'select = ["AGN1"]\ntarget-torch = "2.7"')
    settings = settings_for(tmp_path, "agn2, AGN301", None, target_torch="2.9")
    assert settings.select == ("AGN2", "AGN301")
    assert settings.torch == (2, 9)


def test_the_nearest_configuration_counts_for_each_file(tmp_path: Path) -> None:
    configure(tmp_path, 'ignore = ["AGN1"]')
    configure(tmp_path / "inner", 'ignore = ["AGN2"]')
    (tmp_path / "inner" / "file.py").rename(tmp_path / "inner" / "inner.py")
    (tmp_path / "inner" / "deep").mkdir()
    (tmp_path / "inner" / "deep" / "deep.py").write_text("")
    found = listed(tmp_path)
    assert found["file.py"].ignore == ("AGN1",)
    assert found["inner.py"].ignore == found["deep.py"].ignore == ("AGN2",)


def test_a_given_configuration_counts_for_all_files(tmp_path: Path) -> None:
    configure(tmp_path, 'ignore = ["AGN1"]')
    other = tmp_path / "other.toml"
    other.write_text('ignore = ["AGN3"]')
    assert listed(tmp_path, config=other)["file.py"].ignore == ("AGN3",)


@pytest.mark.parametrize(
    ("pattern", "path", "excluded"),
    [
        ("vendor", "vendor/a.py", True),
        ("vendor", "src/vendor/deep/a.py", True),
        ("vendor/", "vendor/a.py", True),
        ("vendor", "vendored/a.py", False),
        ("*_pb2.py", "src/x_pb2.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/a.py", "src/very/deep/a.py", True),
        ("./src", "src/a.py", True),
        ("src/a?.py", "src/ab.py", True),
        ("[ab].py", "b.py", True),
    ],
)
def test_patterns_are_relative_to_the_root(tmp_path: Path, pattern: str, path: str, excluded: bool) -> None:
    assert Settings(root=tmp_path, extend_exclude=(pattern,)).excludes(tmp_path / path) is excluded


def test_a_named_file_is_looked_at_unless_excludes_are_forced(tmp_path: Path) -> None:
    configure(tmp_path, 'extend-exclude = ["file.py"]')
    path = tmp_path / "file.py"
    assert listed(tmp_path) == {}
    assert list(listed(path)) == ["file.py"]
    assert listed(path, force_exclude=True) == {}


@pytest.mark.parametrize(
    ("select", "ignore", "code", "wanted"),
    [
        ((), (), "AGN101", True),
        (("AGN1",), (), "AGN101", True),
        (("AGN1",), (), "AGN201", False),
        ((), ("AGN1",), "AGN101", False),
        (("AGN101",), ("AGN1",), "AGN101", True),
        (("AGN1",), ("AGN101",), "AGN101", False),
        (("ALL",), ("AGN1",), "AGN201", True),
    ],
)
def test_the_longest_prefix_decides(select: tuple[str, ...], ignore: tuple[str, ...], code: str, wanted: bool) -> None:
    assert Settings(select=select, ignore=ignore).selects(code) is wanted


def test_per_file_ignores(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, per_file_ignores={"tests/*": ("AGN2",)})
    assert settings.ignored_in("AGN201", tmp_path / "tests" / "a.py")
    assert not settings.ignored_in("AGN201", tmp_path / "src" / "a.py")
    assert not settings.ignored_in("AGN101", tmp_path / "tests" / "a.py")


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("requirements.txt", "numpy\ntorch>=2.8.1\n", (2, 8)),
        ("pyproject.toml", '[project]\ndependencies = ["torch ~= 2.9"]\n', (2, 9)),
        ("setup.py", 'setup(install_requires=["torch==2.7.0"])\n', (2, 7)),
        ("requirements.txt", "torchvision>=0.20\n", (2, 10)),
    ],
)
def test_the_oldest_torch_is_read_from_the_requirements(
    tmp_path: Path, name: str, text: str, wanted: tuple[int, int]
) -> None:
    (tmp_path / name).write_text(text)
    assert Settings(root=tmp_path).torch == wanted
