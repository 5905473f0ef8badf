"""The outcomes of the sweep as a table: how many of each, and the reason for every model that took no part."""

import collections
import re

# Reason -> what it means for the architecture, the first that matches.
CLASSES = (
    ("needs a package that is not installed", r"requires the .* librar|No module named|requires .* backend"),
    ("more than 30 M parameters at the smallest", r"more than 30 M parameters"),
    ("its process ran out of time or memory on the CPU", r"TimeoutError|process died"),
    ("no output that has a gradient", r"no output that has a gradient"),
    ("takes no tensors, or tensors of unknown names", r"no argument that is known"),
    ("differs from itself on the CPU", r"differs from itself"),
    ("its default configuration is refused by the model", r"^not buildable"),
    ("no inputs found that fit its shapes", r"^no inputs"),
)


def counts(outcomes):
    """How many models had each outcome; all that took no part count as not buildable."""
    totals = collections.Counter(answer["outcome"].split(":")[0] for answer in outcomes.values())
    totals["not buildable"] += totals.pop("no inputs", 0)
    return totals


def reason_class(outcome):
    """The class of the reason why a model took no part."""
    return next(name for name, pattern in CLASSES if re.search(pattern, outcome))


def table(outcomes, versions):
    """The Markdown text."""
    totals = counts(outcomes)
    lines = [f"# Model sweep, {versions}", "", "| outcome | models |", "|---|---:|"]
    lines += [f"| {outcome} | {totals[outcome]} |" for outcome in ("equal", "close", "failed", "not buildable")]
    lines += [f"| all | {len(outcomes)} |", ""]
    modes = sum(answer.get("training") is False for answer in outcomes.values())
    lines += [f"{modes} of them ran in evaluation mode, because they ask for labels in training mode.", ""]
    for outcome in ("close", "failed"):
        if totals[outcome]:
            lines += [f"## {outcome}", ""]
            lines += [f"- {kind}: {a['outcome']}" for kind, a in outcomes.items() if a["outcome"].startswith(outcome)]
            lines.append("")
    grouped = collections.defaultdict(list)
    for kind, answer in outcomes.items():
        if answer["outcome"].startswith(("not buildable", "no inputs")):
            grouped[reason_class(answer["outcome"])].append((kind, answer["outcome"].split(": ", 1)[1]))
    lines += ["## not buildable", "", "| reason | models |", "|---|---:|"]
    lines += [f"| {name} | {len(grouped[name])} |" for name, _ in CLASSES if grouped[name]]
    for name, _ in CLASSES:
        if grouped[name]:
            lines += ["", f"### {name}", "", *(f"- {kind}: `{reason}`" for kind, reason in grouped[name])]
    return "\n".join(lines) + "\n"
