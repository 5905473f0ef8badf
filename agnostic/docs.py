"""The tables of the README, made from the rules: `python -m agnostic.docs` writes them."""

from __future__ import annotations

import sys
from pathlib import Path

from agnostic.check import ENGINE_RULES
from agnostic.rule import folder, load

HUNDREDS = {
    "0": "Files and comments",
    "1": "Names of `torch.cuda`",
    "2": "Where tensors and modules go",
    "3": "Which device: decisions",
    "4": "AMP, random state, streams, profiler",
    "5": "Distributed",
    "6": "Build, environment, dependencies, dispatch keys",
    "7": "Tests and mocks",
    "8": "What a target cannot do",
    "9": "CUDA only, for a reason",
}


def rule_table() -> str:
    """One row for each rule, under the heading of its hundred."""
    rows = [(code, name, summary) for code, (name, summary) in ENGINE_RULES.items()]
    rows += [(rule.code, rule.name, rule.summary) for rule in load().rules.values()]
    lines = ["| code | name | what it is about |", "|---|---|---|"]
    hundred = ""
    for code, name, summary in sorted(rows):
        if code[3] != hundred:
            hundred = code[3]
            lines.append(f"| | **{HUNDREDS[hundred]}** | |")
        lines.append(f'| <a id="{code.lower()}-{name}"></a>`{code}` | `{name}` | {summary} |')
    return "\n".join(lines)


def profile_table() -> str:
    """One row for each profile, with what its file says of it in the first line."""
    lines = ["| profile | |", "|---|---|"]
    for path in sorted((folder("codemods") / "profiles").glob("*.toml")):
        about = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"| `{path.stem}` | {about} |")
    return "\n".join(lines)


def filled(readme: str) -> str:
    """A README with its generated parts made anew."""
    for name, table in (("rules", rule_table), ("profiles", profile_table)):
        before, start, rest = readme.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"\n<!-- end of {name} -->")
        readme = f"{before}{start}{table()}{end}{after}"
    return readme


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "README.md")
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
