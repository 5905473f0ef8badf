"""A project's own words are imported where they are used, if the top of the file would make the project circular."""

from __future__ import annotations

from pathlib import Path

import pytest

from agnostic.config import Settings
from agnostic.fix import fix_bytes

USE = 'import torch\n\n\ndef make():\n    """Make it."""\n    return torch.ones(2, device="cuda")\n'
TOP = "from vllm.platforms import current_platform\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package like vLLM, whose platforms import `vllm.envs`, which imports `vllm.words` in turn."""
    for name, text in {
        "__init__.py": "from vllm.free import make\n",
        "platforms/__init__.py": "from vllm import envs\nfrom .interface import Platform\ncurrent_platform = Platform",
        "platforms/interface.py": "import torch\nclass Platform:\n    device_type = 'cpu'\n",
        "envs.py": "import typing\nif typing.TYPE_CHECKING:\n    from vllm.typed import x\nimport vllm.words",
    }.items():
        path = tmp_path / "vllm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "vllm"


def fixed(project: Path, name: str, text: str) -> str:
    path = project / name
    path.write_text(text)
    settings = Settings(root=project.parent, profile="vllm", target_torch="2.10")
    return fix_bytes(path, text.encode(), settings).after.decode()


@pytest.mark.parametrize("name", ["free.py", "typed.py", "models.py"])
def test_a_file_that_the_words_do_not_need_imports_them_at_the_top(project, name) -> None:
    assert TOP in fixed(project, name, USE)


@pytest.mark.parametrize("name", ["words.py", "envs.py"])
def test_a_file_that_the_words_need_imports_them_in_the_function(project, name) -> None:
    text = "import vllm.words\n" * (name == "envs.py") + USE
    after = fixed(project, name, text)
    assert after.count(TOP) == 1
    assert f'"""Make it."""\n    {TOP}    return torch.ones(2, device=current_platform.device_type)' in after


def test_outside_of_functions_such_a_file_stays(project) -> None:
    text = 'import torch\n\nX = torch.ones(2, device="cuda")\n'
    assert fixed(project, "words.py", text) == text


def test_what_a_file_imports_in_functions_stays_there_and_is_not_imported_twice(project) -> None:
    text = (
        "import torch\n\n\ndef make(flag):\n    if flag:\n        from vllm.platforms import current_platform\n"
        '        return torch.ones(2, device="cuda")\n\n\n' + USE.removeprefix("import torch\n\n\n")
    )
    after = fixed(project, "free.py", text)
    assert after.count("        from vllm.platforms import current_platform\n") == 1
    assert after.count("import current_platform") == 2
    assert after.count("device=current_platform.device_type") == 2
    assert not after.startswith("from vllm")


def test_an_import_in_another_branch_does_not_count(project) -> None:
    text = (
        "import torch\n\n\ndef make(flag):\n    if flag:\n        from vllm.platforms import current_platform\n"
        '    return torch.ones(2, device="cuda")\n'
    )
    assert "def make(flag):\n    from vllm.platforms import current_platform\n    if flag:" in fixed(
        project, "free.py", text
    )


def test_a_word_that_is_another_one_in_a_file_is_not_used(project) -> None:
    text = 'import torch\nfrom vllm.context import current_platform\n\nX = torch.ones(2, device="cuda")\n'
    assert fixed(project, "free.py", text) == text
    known = text.replace("vllm.context", "vllm.platforms.interface")
    assert "device=current_platform.device_type" in fixed(project, "free.py", known)
