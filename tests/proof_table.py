"""Run the miniature projects before and after their rewrite, and print the table of `## The proof` in the
README.

python tests/proof_table.py [--write] [PROJECT]...

Only the named projects are run, if any are; the lines of the others stay as they are in the README.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from miniature import HERE, Project, projects, rewrite

from agnostic.proof.agreement import Agreement, agreement
from agnostic.proof.compare import compare
from agnostic.proof.program import Run

README = HERE.parents[1] / "README.md"
MARKS = re.compile(
    r"(?<=<!-- proof: python tests/proof_table.py --write -->\n).*?(?=<!-- end of the proof -->)", re.DOTALL
)
COLUMNS = (
    "project",
    "lines",
    "`verify` of the original",
    "rewrite: cpu and `neuron`",
    "rewrite: cpu and `tpu`",
    "original and rewrite",
    "recall",
    "precision",
)
HEADER = "| " + " | ".join(COLUMNS) + " |\n|---|---:|---|---|---|---|---:|---:|\n"


def before(on_cpu: Run, there: Run) -> str:
    """Why `verify` fails with the original on a device that is not CUDA."""
    verdict = compare(on_cpu, there)
    if verdict.outcome == "never used":
        line = re.search(r"([\w.]+:\d+) asked for CUDA instead", verdict.reason)
        return f"never used `{there.device}`" + (f": `{line[1]}`" if line else "")
    errors = re.findall(r"(\w+Error): ", there.traceback)
    return f"raises {errors[-1]}" if there.status == "failed" and errors else f"**{verdict.outcome}**"


def same(left: Run, right: Run, project: Project) -> str:
    """The verdict in two or three words."""
    verdict = compare(left, right, project.rtol)
    if verdict.outcome == "same":
        return "same, bit for bit"
    if verdict.outcome == "within tolerance":
        if not verdict.largest:
            return "same losses, bit for bit"
        return f"same within {verdict.largest:.0e}"
    print(f"{project.name}: {verdict}\n{right.traceback if right.status != 'ended' else ''}", file=sys.stderr)
    return f"**{verdict.outcome}**"


def row(project: Project, rewritten: Path) -> str:
    """The line of a project."""
    original = {name: project.run(HERE, name) for name in ("cpu", "neuron", "stand-in")}
    runs = {name: project.run(rewritten, name) for name in ("cpu", "neuron", "tpu")}
    agreed = agreement([original["stand-in"]])
    print(f"{project.name}:\n{agreed}", file=sys.stderr)
    cells = [f"`{project.name}`", str(project.lines), before(original["cpu"], original["neuron"])]
    cells += [same(runs["cpu"], runs[name], project) for name in ("neuron", "tpu")]
    cells.append(same(original["stand-in"], runs["cpu"], project))
    return "| " + " | ".join([*cells, *shares(agreed)]) + " |\n"


def shares(agreed: Agreement) -> tuple[str, str]:
    """What recall and precision are made of."""
    lines = {(touch.file, touch.line): bool(codes) for touch, codes in agreed.found}
    findings = agreed.confirmed + len(agreed.unconfirmed)
    return f"{sum(lines.values())} of {len(lines)}", f"{agreed.confirmed} of {findings}"


def total(rows: list[str]) -> str:
    """The last line, for all projects together."""
    sums = []
    for column in (-3, -2):
        parts = [re.match(r" (\d+) of (\d+) ", line.split("|")[column]) for line in rows]
        some, all_ = (sum(int(part[group]) for part in parts if part) for group in (1, 2))
        sums.append(f"{some} of {all_} ({some / all_:.0%})")
    lines = sum(int(line.split("|")[2]) for line in rows)
    return "| " + " | ".join([f"{len(rows)} projects", str(lines), "", "", "", "", *sums]) + " |\n"


def table(names: list[str], readme: str) -> str:
    """The table as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        rewritten = rewrite(Path(folder))
        rows = []
        for name, project in projects().items():
            kept = re.search(rf"^\| `{name}` \|.*\n", readme, re.MULTILINE)
            measured = not kept or not names or name in names
            rows.append(row(project, rewritten) if measured else kept[0])
            print(rows[-1] if measured else "", end="", flush=True)
    return HEADER + "".join(rows) + total(rows)


def main() -> None:
    """Print the table; with --write, put it into the README."""
    arguments = [one for one in sys.argv[1:] if one != "--write"]
    text = table(arguments, README.read_text(encoding="utf-8"))
    if "--write" in sys.argv:
        readme = README.read_text(encoding="utf-8")  # again: the runs take a while
        assert MARKS.search(readme), "the README has no marks for the table"
        README.write_text(MARKS.sub(lambda _: text, readme), encoding="utf-8")
    else:
        print(f"\n{text}")


if __name__ == "__main__":
    main()
