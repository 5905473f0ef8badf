"""Work through files, in this process or in several. One file never ends the run for the others."""

from __future__ import annotations

import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from agnostic.config import ConfigError

Result = TypeVar("Result")
Work = Callable[[Path], Result]

MANY = 60
"""From how many files on a second process pays for its start."""
CHUNK = 400_000
"""How many bytes of files a process is sent at a time."""


_work: list[Work] = []
"""What a process of the pool does with each file; told once, since it holds the settings of all files."""


@dataclass(frozen=True)
class Failure:
    """An exception in the work on a file, as text that can be sent between processes."""

    summary: str
    traceback: str


def each(
    work: Work[Result], paths: Sequence[Path], failed: Callable[[Path, str], Result], jobs: int | None = None
) -> Iterator[Result]:
    """`work(path)` for each path, in order; `failed(path, why)` where that raised or killed its process.

    The traceback is printed if the environment has TORCH_AGNOSTIC_TRACEBACK.
    """
    jobs = jobs or os.cpu_count() or 1
    progress = Progress(len(paths))
    few = jobs == 1 or len(paths) < MANY
    for path, result in zip(paths, _here(work, paths) if few else _spread(work, paths, jobs), strict=True):
        if isinstance(result, Failure):
            if os.environ.get("TORCH_AGNOSTIC_TRACEBACK"):
                print(result.traceback, file=sys.stderr)
            yield failed(path, result.summary)
        else:
            yield result
        progress.step()


def _here(work: Work[Result], paths: Sequence[Path]) -> Iterator[Result | Failure]:
    _spare_the_collector()
    for path in paths:
        yield _guarded(work, path)


def _guarded(work: Work[Result], path: Path) -> Result | Failure:
    try:
        return work(path)
    except ConfigError:
        raise  # not the file's fault; it ends the run
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return Failure(f"{type(error).__name__} in {where}: {error}", traceback.format_exc())


def _several(paths: Sequence[Path]) -> list:
    return [_guarded(_work[0], path) for path in paths]


def _spread(work: Work[Result], paths: Sequence[Path], jobs: int) -> Iterator[Result | Failure]:
    """The results in the order of the paths; the biggest files are begun first."""
    sizes = {path: _size(path) for path in paths}
    chunks: list[list[Path]] = []
    full = CHUNK
    for path in sorted(paths, key=sizes.__getitem__, reverse=True):
        if full + sizes[path] > CHUNK:
            chunks.append([])
            full = 0
        chunks[-1].append(path)
        full += sizes[path]
    with ProcessPoolExecutor(jobs, initializer=_start, initargs=(work,)) as pool:
        futures: dict[Path, tuple[Future[list[Result | Failure]], list[Path]]] = {}
        for chunk in chunks:
            futures |= dict.fromkeys(chunk, (pool.submit(_several, chunk), chunk))
        for path in paths:
            future, chunk = futures[path]
            yield _result(work, path, future, chunk)


def _result(
    work: Work[Result], path: Path, future: Future[list[Result | Failure]], chunk: list[Path]
) -> Result | Failure:
    try:
        return future.result()[chunk.index(path)]
    except BrokenProcessPool:
        return _alone(work, path)


def _alone(work: Work[Result], path: Path) -> Result | Failure:
    """What a file gives in a process of its own, after one died of this file or of another."""
    try:
        with ProcessPoolExecutor(1) as pool:
            return pool.submit(_guarded, work, path).result()
    except BrokenProcessPool:
        return Failure("the parser crashed", "")


def _start(work: Work[Result]) -> None:
    _work[:] = [work]
    _spare_the_collector()


def _spare_the_collector() -> None:
    """Keep it from looking again and again at what is no garbage; trees have no cycles."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


class Progress:
    """A line on a terminal's stderr, from the second second on."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.shown = time.monotonic() + 1 if sys.stderr.isatty() else float("inf")

    def step(self) -> None:
        self.done += 1
        now = time.monotonic()
        if now >= self.shown:
            self.shown = now + 0.2
            end = "\r" if self.done < self.total else "\r\033[K"
            print(f"{self.done}/{self.total} files", end=end, file=sys.stderr, flush=True)
