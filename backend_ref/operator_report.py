"""The table that `torch-agnostic backend ops` prints. Nothing here imports torch."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

PROFILES = Path(__file__).resolve().parent / "profiles"


@dataclass(frozen=True)
class Profile:
    """What a chip's public documentation says it runs; `operators` are names without overload."""

    name: str
    source: str
    operators: frozenset[str]

    def documents(self, operator: str) -> bool:
        """Whether `operator` ("aten::add_.Tensor") or its functional or in-place form is documented."""
        base = operator.removeprefix("aten::").split(".")[0]
        return not {base, base.rstrip("_"), f"{base}_"}.isdisjoint(self.operators)


def profile_names() -> list[str]:
    """The targets there is a profile for."""
    return sorted(path.stem for path in PROFILES.glob("*.toml"))


def load_profile(name: str) -> Profile:
    """Read `profiles/<name>.toml`.

    Raises:
        ValueError: there is no such profile.
    """
    path = PROFILES / f"{name}.toml"
    if not path.exists():
        raise ValueError(f"no profile {name!r}; there are {', '.join(profile_names())}")
    data = tomllib.loads(path.read_text())
    return Profile(name, data["source"], frozenset(data["operators"].split()))


def report(counts_file: Path, target: str | None) -> str:
    """One line per operator, the most frequent first, and a summary.

    Raises:
        ValueError: there is no profile for `target`.
    """
    profile = load_profile(target) if target else None
    counts = json.loads(counts_file.read_text())
    lines = []
    missing = 0
    for name, calls in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        undocumented = profile is not None and not profile.documents(name)
        missing += undocumented
        lines.append(f"{calls:>10}  {name}{'  not documented' if undocumented else ''}")
    lines.append(f"{sum(counts.values()):>10}  calls of {len(counts)} operators")
    if profile is not None:
        lines.append(f"{missing:>10}  operators that {profile.name} does not document ({profile.source})")
    return "\n".join(lines)
