"""Run every miniature project before and after its rewrite, and print the table of `## The proof` in the
README.

python tests/proof_table.py [--write] [PROJECT]...
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


def row(project: Project, rewritten: Path) -> tuple[str, Agreement]:
    """The line of a project, and how its touches and findings agree."""
    original = {name: project.run(HERE, name) for name in ("cpu", "neuron", "stand-in")}
    runs = {name: project.run(rewritten, name) for name in ("cpu", "neuron", "tpu")}
    agreed = agreement([original["stand-in"]])
    print(f"{project.name}:\n{agreed}", file=sys.stderr)
    cells = [f"`{project.name}`", str(project.lines), before(original["cpu"], original["neuron"])]
    cells += [same(runs["cpu"], runs[name], project) for name in ("neuron", "tpu")]
    cells.append(same(original["stand-in"], runs["cpu"], project))
    return "| " + " | ".join([*cells, *shares(agreed)]) + " |\n", agreed


def shares(agreed: Agreement) -> list[str]:
    """Recall and precision as percentages."""
    return ["-" if share is None else f"{share:.0%}" for share in (agreed.recall, agreed.precision)]


def table(names: list[str]) -> str:
    """The table as Markdown, with a last line for all projects together."""
    with tempfile.TemporaryDirectory() as folder:
        rewritten = rewrite(Path(folder))
        rows = []
        for name, project in projects().items():
            if not names or name in names:
                rows.append(row(project, rewritten))
                print(rows[-1][0], end="", flush=True)
    agreed = [one for _, one in rows]
    together = Agreement(
        tuple(touch for one in agreed for touch in one.found),
        tuple(finding for one in agreed for finding in one.unconfirmed),
        sum(one.confirmed for one in agreed),
    )
    lines = sum(project.lines for name, project in projects().items() if not names or name in names)
    last = "| " + " | ".join([f"{len(rows)} projects", str(lines), "", "", "", "", *shares(together)]) + " |\n"
    return HEADER + "".join(line for line, _ in rows) + last


def main() -> None:
    """Print the table; with --write, put it into the README."""
    arguments = [one for one in sys.argv[1:] if one != "--write"]
    text = table(arguments)
    if "--write" in sys.argv:
        readme = README.read_text(encoding="utf-8")
        assert MARKS.search(readme), "the README has no marks for the table"
        README.write_text(MARKS.sub(lambda _: text, readme), encoding="utf-8")
    else:
        print(f"\n{text}")


if __name__ == "__main__":
    main()
