"""The device exists only if the setting asks for it, under any name, and never gets in the way of `import
torch`."""

import os
import subprocess
import sys

import pytest

WHICH = "import torch; print(torch.accelerator.current_accelerator())"


def last_line(result):
    return (result.stdout or result.stderr).strip().splitlines()[-1]


def test_without_the_setting_torch_is_untouched(run_python):
    program = "import sys, torch; print(torch.accelerator.current_accelerator(), hasattr(torch, 'neuron'),"
    program += " [m for m in sys.modules if m.startswith('backend_ref.') and m != 'backend_ref.autoload'])"
    result = run_python(program, TORCH_AGNOSTIC_BACKEND="")
    assert last_line(result) == "None False []"
    assert result.stderr == ""


@pytest.mark.parametrize("name", ["neuron", "tpu"])
def test_setting_names_the_device(run_python, name):
    program = "import torch; a = torch.accelerator.current_accelerator(); x = torch.ones(2, device=a);"
    program += f"print(x.device, torch.{name}.device_count(), torch.Tensor.{name}(torch.ones(1)).is_{name},"
    program += " torch.distributed.get_default_backend_for_device(a), 'torch._dynamo' in __import__('sys').modules)"
    assert last_line(run_python(program, TORCH_AGNOSTIC_BACKEND=name)) == f"{name}:0 2 True {name} False"


def test_autoload_can_be_switched_off(run_python):
    assert last_line(run_python(WHICH, TORCH_DEVICE_BACKEND_AUTOLOAD="0")) == "None"


def test_impossible_name_is_a_warning(run_python):
    result = run_python(WHICH, TORCH_AGNOSTIC_BACKEND="cuda")
    assert result.stdout.strip() == "None"
    assert "torch.cuda already exists" in result.stderr


@pytest.mark.parametrize("name", ["cuda", "not a name", "Neuron", ""])
def test_impossible_name_is_refused(name, monkeypatch):
    import torch

    from backend_ref.registration import check_name

    monkeypatch.setattr(torch._C, "_get_privateuse1_backend_name", lambda: "privateuseone")
    with pytest.raises(ValueError, match="name"):
        check_name(name)


def test_unbuilt_backend_is_one_clear_line(run_python, tmp_path):
    result = run_python(WHICH, NEURON_REF_CACHE_DIR=str(tmp_path))
    assert result.stdout.strip() == "None"
    assert "torch-agnostic backend build" in result.stderr
    assert list(tmp_path.iterdir()) == []  # nothing was compiled


def test_object_of_another_build_does_not_break_import(run_python, tmp_path, monkeypatch):
    from backend_ref import build

    monkeypatch.setenv("NEURON_REF_CACHE_DIR", str(tmp_path))
    import torch

    broken = build.target(torch.__version__)
    broken.parent.mkdir()
    broken.write_bytes(b"not a shared object")
    result = run_python(WHICH, NEURON_REF_CACHE_DIR=str(tmp_path))
    assert result.returncode == 0
    assert result.stdout.strip() == "None"
    assert "no device was registered" in result.stderr


def test_occupied_place_is_a_warning(run_python):
    program = "import torch; torch.utils.rename_privateuse1_backend('mychip');"
    program += "import os; from backend_ref.autoload import autoload;"
    program += "os.environ['TORCH_AGNOSTIC_BACKEND'] = 'neuron'; autoload(); print('alive')"
    result = run_python(program, TORCH_AGNOSTIC_BACKEND="")
    assert result.stdout.strip() == "alive"
    assert "mychip" in result.stderr


def backend_command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "backend_ref", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_build_uses_the_cache():
    from importlib.metadata import version

    from backend_ref import build

    result = backend_command("build")
    assert result.returncode == 0
    assert result.stdout.strip() == str(build.locate(version("torch")))
    assert "compiling" not in result.stderr


def test_build_without_a_compiler_says_so(tmp_path):
    result = backend_command("build", NEURON_REF_CACHE_DIR=str(tmp_path), PATH=str(tmp_path), CXX="")
    assert result.returncode == 2
    assert "no C++ compiler found" in result.stderr


def test_failing_compiler_shows_its_errors(tmp_path):
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\necho 'core.cpp:1: error: made up' >&2\nexit 1\n")
    compiler.chmod(0o755)
    result = backend_command("build", NEURON_REF_CACHE_DIR=str(tmp_path / "cache"), CXX=str(compiler))
    assert result.returncode == 2
    assert "core.cpp:1: error: made up" in result.stderr


def test_cache_depends_on_sources_torch_and_python(tmp_path, monkeypatch):
    from backend_ref import build

    monkeypatch.setattr(build, "SOURCES", tmp_path)
    (tmp_path / "core.cpp").write_text("int a;")
    before = build.target("2.13.0")
    assert before != build.target("2.13.1")
    (tmp_path / "core.cpp").write_text("int b;")
    assert before != build.target("2.13.0")
    monkeypatch.setattr(build.sysconfig, "get_config_var", lambda name: "cpython-399")
    assert "cpython-399" in str(build.target("2.13.0"))


def test_processes_build_one_after_the_other(tmp_path, monkeypatch):
    from backend_ref import build

    monkeypatch.setenv("NEURON_REF_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", sys.executable)
    built = []

    def compile_once(cxx, scratch, report, jobs):
        built.append(scratch)
        linked = scratch / "linked.so"
        linked.write_bytes(b"")
        return linked

    monkeypatch.setattr(build, "_compile", compile_once)
    assert build.build() == build.build()
    assert len(built) == 1


def test_doctor_is_content():
    result = backend_command("doctor")
    assert result.returncode == 0, result.stdout
    assert "BAD" not in result.stdout


def test_doctor_says_what_to_do(tmp_path):
    result = backend_command("doctor", NEURON_REF_CACHE_DIR=str(tmp_path))
    assert result.returncode == 1
    assert "do: torch-agnostic backend build" in result.stdout
