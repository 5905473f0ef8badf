"""Compile the C++ core into a per-user cache, and find it there again.

The shared object is bound to one torch version and one Python ABI, and of course to its sources, so these
three name its folder. Nothing here runs during `import torch` except `locate()`, which only looks.
"""

import concurrent.futures
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

SOURCES = Path(__file__).resolve().parent / "csrc"
MODULE = "neuron_core"
SUPPORTED_TORCH = "2.13"


class BuildError(RuntimeError):
    """The core could not be compiled; the message says why and what to do."""


def cache_root() -> Path:
    """`NEURON_REF_CACHE_DIR`, else `torch-agnostic` in the user's cache folder."""
    chosen = os.environ.get("NEURON_REF_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torch-agnostic"


def source_hash() -> str:
    """A digest of every C++ file, name and content."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("*.[ch]*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def target(torch_version: str) -> Path:
    """Where the core for this torch, this Python and these sources is, or will be."""
    abi = sysconfig.get_config_var("SOABI")
    return cache_root() / f"torch-{torch_version}-{abi}-{source_hash()}" / f"{MODULE}.so"


def locate(torch_version: str) -> Path | None:
    """The compiled core, or None if it has not been built."""
    path = target(torch_version)
    return path if path.exists() else None


def load(path: Path) -> ModuleType:
    """Import the compiled core from `path`.

    Raises:
        ImportError: the file does not fit this torch or this Python.
    """
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(MODULE, path, loader=ExtensionFileLoader(MODULE, str(path)))
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not an extension module")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiler() -> str:
    """The C++ compiler: `CXX`, else g++ or clang++ on the path.

    Raises:
        BuildError: there is none.
    """
    for name in filter(None, (os.environ.get("CXX"), "g++", "clang++", "c++")):
        found = shutil.which(name)
        if found:
            return found
    raise BuildError(
        "no C++ compiler found: the reference backend is compiled on first use and needs one with C++20. "
        "Install g++ (Debian/Ubuntu: `apt-get install g++`) or name one with CXX=..."
    )


def build(report: Callable[[str], None] | None = None, jobs: int | None = None) -> Path:
    """Compile the core unless the cache has it, and return its path.

    Files are compiled in parallel (`jobs`, default: one per CPU). Processes that want the same build wait for
    the first one. `report` is called with one line of progress after each file.

    Raises:
        BuildError: no compiler, an unsupported torch, or a compiler error (its output is in the message).
    """
    import torch

    if not torch.__version__.startswith(SUPPORTED_TORCH + "."):
        raise BuildError(
            f"the reference backend is written for torch {SUPPORTED_TORCH}, this is {torch.__version__}; "
            f"`pip install 'torch~={SUPPORTED_TORCH}.0'`"
        )
    path = target(torch.__version__)
    if path.exists():
        return path
    cxx = compiler()
    with _lock(path.parent.with_suffix(".lock")):
        if not path.exists():  # else another process built it while this one waited
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
                linked = _compile(cxx, Path(scratch), report or (lambda line: None), jobs or os.cpu_count() or 1)
                os.replace(linked, path)
    return path


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile(cxx: str, scratch: Path, report: Callable[[str], None], jobs: int) -> Path:
    from torch.utils.cpp_extension import include_paths, library_paths

    includes = [f"-isystem{path}" for path in (*include_paths(), sysconfig.get_path("include"))]
    flags = [
        "-std=c++20",
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        f"-DTORCH_EXTENSION_NAME={MODULE}",
        *includes,
    ]
    # The slowest files first, so that the last ones do not keep one CPU busy while the others wait.
    sources = sorted(SOURCES.glob("*.cpp"), key=lambda path: -path.stat().st_size)
    objects = [scratch / f"{source.stem}.o" for source in sources]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = [
            pool.submit(_run, [cxx, *flags, "-c", str(source), "-o", str(made)])
            for source, made in zip(sources, objects, strict=True)
        ]
        try:
            for done, future in enumerate(concurrent.futures.as_completed(running), 1):
                future.result()
                report(f"compiling the reference backend: {done} of {len(running)} files")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    linked = scratch / f"{MODULE}.so"
    libraries = [flag for path in library_paths() for flag in (f"-L{path}", f"-Wl,-rpath,{path}")]
    torch_libraries = ["-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
    _run([cxx, "-shared", "-s", *map(str, objects), *libraries, *torch_libraries, "-o", str(linked)])
    return linked


def _run(command: list[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        errors = [line for line in result.stderr.splitlines() if "error" in line] or result.stderr.splitlines()
        raise BuildError("\n".join([f"{Path(command[0]).name} failed:", *errors[:20]]))


def print_progress(line: str) -> None:
    """Show one line of progress on stderr; on a terminal it replaces the one before."""
    end = "" if sys.stderr.isatty() else "\n"
    print(f"\r{line}" if not end else line, end=end, file=sys.stderr, flush=True)
