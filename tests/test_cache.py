"""What is remembered is what would be found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agnostic import cache
from agnostic.cache import FOLDER, check_cached
from agnostic.check import check_bytes
from agnostic.config import Settings

CALL = b"import torch\nx.cuda()  # \xc3\xa9\ntorch.cuda.synchronize()\ny = torch.cuda.Stream()\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(root=tmp_path, profile="generic")


def entries(settings: Settings) -> list[Path]:
    return [path for path in (settings.root / FOLDER).iterdir() if path.name != ".gitignore"]


def never(*_: object, **__: object) -> None:
    raise AssertionError("the file was looked at again")


def test_cached_findings_are_the_findings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    path = settings.root / "file.py"
    found = check_bytes(path, CALL, settings)
    assert found
    assert check_cached(path, CALL, settings) == found
    monkeypatch.setattr(cache, "check_bytes", never)
    assert check_cached(path, CALL, settings) == found


@pytest.mark.parametrize("change", ["bytes", "settings", "rules", "path"])
def test_a_change_is_looked_at(settings: Settings, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    path, data = settings.root / "file.py", CALL
    check_cached(path, data, settings)
    monkeypatch.setattr(cache, "check_bytes", lambda *_, **__: [])
    if change == "bytes":
        data += b"\n"
    elif change == "settings":
        settings = replace(settings, ignore=("AGN201",))
    elif change == "rules":
        monkeypatch.setattr(cache, "_rules", lambda: "other rules")
    else:
        path = settings.root / "other.py"
    assert check_cached(path, data, settings) == []


@pytest.mark.parametrize("rubbish", [b"", b"{", b"[]", b'{"key": 1}', b"\xff"])
def test_a_broken_entry_counts_as_none(settings: Settings, rubbish: bytes) -> None:
    path = settings.root / "file.py"
    found = check_cached(path, CALL, settings)
    (entry,) = entries(settings)
    entry.write_bytes(rubbish)
    assert check_cached(path, CALL, settings) == found


def test_the_folder_ignores_itself(settings: Settings) -> None:
    check_cached(settings.root / "file.py", CALL, settings)
    assert (settings.root / FOLDER / ".gitignore").read_text() == "*\n"


def test_no_folder_is_no_error(settings: Settings) -> None:
    (settings.root / FOLDER).write_bytes(b"a file is in the way")
    path = settings.root / "file.py"
    assert check_cached(path, CALL, settings) == check_bytes(path, CALL, settings)


def test_a_change_of_a_file_that_findings_depend_on_is_looked_at(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path)
    path = tmp_path / "train.py"
    path.write_text("import torch\nfrom data import loader\nfor batch in loader:\n    batch.cuda()\n")
    assert check_cached(path, path.read_bytes(), settings)[0].edits
    (tmp_path / "data.py").write_text("class Batch:\n    def cuda(self):\n        return self\n")
    assert not check_cached(path, path.read_bytes(), settings)[0].edits
