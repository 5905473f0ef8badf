"""Work through files, in this process or in several."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MANY = 60
"""From how many files on a second process pays for its start."""
CHUNK = 24


def each(
    work: Callable[[Item], Result], paths: Sequence[Item], crashed: Callable[[Item], Result], jobs: int | None = None
) -> Iterator[Result]:
    """`work(path)` for each path, or whatever stands for one, in order. `crashed` stands in for one that kills its process."""
    jobs = jobs or os.cpu_count() or 1
    progress = Progress(len(paths))
    if jobs == 1 or len(paths) < MANY:
        for path in paths:
            yield work(path)
            progress.step()
        return
    position = 0
    try:
        with ProcessPoolExecutor(jobs) as pool:
            for result in pool.map(work, paths, chunksize=CHUNK):
                yield result
                position += 1
                progress.step()
    except BrokenProcessPool:
        for path in paths[position:]:
            try:
                with ProcessPoolExecutor(1) as pool:
                    yield pool.submit(work, path).result()
            except BrokenProcessPool:
                yield crashed(path)


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
