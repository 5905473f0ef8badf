"""A repository under attack, for a test, and the program whose run betrays it."""

from __future__ import annotations

import contextlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

from repositories import Repository

SOURCE = "import torch\n\n\ndef run():\n    torch.cuda.synchronize()\n    return torch.ones(2, device='cuda')\n"


@dataclass
class Victim:
    """A repository under attack, and the program whose run betrays it."""

    repository: Repository
    canary: Path
    program: Path

    def config(self, *settings: str) -> None:
        """Set `key=value`, {program} standing for the program."""
        for setting in settings:
            key, _, value = setting.partition("=")
            self.repository.git("config", "--add", key, value.format(program=self.program))

    def commit(self, name: str, text: str) -> None:
        self.repository.write(name, text)
        with self.asleep():
            self.repository.commit("More")

    @contextlib.contextmanager
    def asleep(self):
        """The program does nothing meanwhile."""
        self.program.write_text("#!/bin/sh\ncat\n")
        yield
        self.arm()

    def arm(self) -> None:
        self.program.write_text(f"#!/bin/sh\ntouch '{self.canary}'\nexit 1\n")
        self.program.chmod(0o755)

    def plant_tree(self, *entries: tuple[str, str, bytes]) -> None:
        """Commit a tree that git would refuse to write: (mode, name, content); names may hold anything."""
        lines = []
        for mode, name, content in entries:
            identity = self._object("blob", content)
            for part in reversed(name.split("/")):
                if part != name.split("/")[-1]:
                    identity, mode = self._object("tree", lines.pop()), "40000"
                lines.append(f"{mode} {part}".encode() + b"\0" + bytes.fromhex(identity))
        lines.sort(key=lambda line: line.partition(b" ")[2])
        tree = self._object("tree", b"".join(lines))
        commit = self.repository.git("commit-tree", tree, "-m", "planted").strip()
        self.repository.git("update-ref", "refs/heads/main", commit)

    def _object(self, kind: str, data: bytes) -> str:
        command = ["git", "hash-object", "-w", "--literally", "-t", kind, "--stdin"]
        done = subprocess.run(command, cwd=self.repository.folder, input=data, capture_output=True, check=True)
        return done.stdout.decode().strip()


def outside(victim: Victim, output: Path) -> dict[str, bytes]:
    """Everything around the repository, and all of it but what git itself may refresh."""
    root = victim.repository.folder.parent
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in root.rglob("*")
        if not path.is_relative_to(output) and not path.is_symlink()
    }
