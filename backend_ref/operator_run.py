"""Run a program on the backend and write how often each operator was called: `operator_run counts.json script
...`."""

import atexit
import json
import runpy
import sys
from pathlib import Path


def main() -> None:
    """Run `sys.argv[2]` as `__main__`, counting; the counts are written even if it fails."""
    counts_file, script = Path(sys.argv[1]), sys.argv[2]
    import torch  # noqa: F401  # registers the device

    from .operators import call_counts, count_calls

    atexit.register(lambda: counts_file.write_text(json.dumps(call_counts())))
    sys.argv = sys.argv[2:]
    sys.path.insert(0, str(Path(script).resolve().parent))
    count_calls()
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
