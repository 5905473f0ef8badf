"""The processes and the table of the model sweep."""

import sys
from pathlib import Path

from sweep_table import counts, reason_class, table
from sweep_workers import outcomes

HERE = Path(__file__).resolve().parent
PROGRAM = f"""
import os, sys
sys.path.insert(0, {str(HERE)!r})
from sweep_workers import ON_DEVICE, worker

def check(item):
    print("what a model prints")
    if item.startswith("device"):
        print(ON_DEVICE, flush=True)
    if item.endswith("crash"):
        os.abort()
    if item == "raises":
        raise ValueError("no")
    return {{"outcome": "equal"}}

worker(check)
"""


def test_a_crash_costs_one_item_and_is_a_failure_only_on_the_device():
    items = ["fine", "crash", "after", "device crash", "raises", "last"]
    found = {item: answer["outcome"] for item, answer in outcomes([sys.executable, "-c", PROGRAM], items, 1).items()}
    assert list(found) == items
    assert found["fine"] == found["after"] == found["last"] == "equal"
    assert found["crash"].startswith("not buildable: the process died")
    assert found["device crash"].startswith("failed: the process died")
    assert found["raises"] == "failed: ValueError: no"


ANSWERS = {
    "one": {"outcome": "equal", "training": True},
    "two": {"outcome": "failed: output 0 differs by 1.0e+00", "training": True},
    "three": {"outcome": "not buildable: ImportError: Three requires the timm library but it was not found"},
    "four": {"outcome": "no inputs: ValueError: too many values to unpack"},
}


def test_what_takes_no_part_is_counted_once_and_grouped_by_reason():
    assert dict(counts(ANSWERS)) == {"equal": 1, "failed": 1, "not buildable": 2}
    text = table(ANSWERS, "transformers 0")
    assert "| needs a package that is not installed | 1 |" in text
    assert "- four: `ValueError: too many values to unpack`" in text
    assert "- two: failed: output 0 differs by 1.0e+00" in text


def test_every_reason_has_a_class():
    assert reason_class("not buildable: KeyError: 'x'") == "its default configuration is refused by the model"
    assert reason_class("no inputs: TimeoutError: no inputs found in 30 s").startswith("its process ran out of time")
