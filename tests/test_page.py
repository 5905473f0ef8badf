"""What a verification leaves behind: the page, the JSON file and the JUnit file."""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

import pytest
from recorded import inference, run

from agnostic.proof.chart import chart
from agnostic.proof.compare import compare
from agnostic.proof.page import page
from agnostic.proof.reports import read_runs, to_json, to_junit


def test_the_page_shows_both_curves_without_scripts() -> None:
    runs = [("cpu", run("cpu", [3.0, 2.0, 1.0])), ("neuron", run("neuron", [3.0, 2.0, 1.0]))]
    text = page("train.py", [compare(runs[0][1], runs[1][1])], runs, None)
    assert text.count("<svg") == 2
    assert text.count("<polyline") == 4
    assert "<script" not in text
    assert "http" not in text


@pytest.mark.parametrize("values", [[], [1.0], [math.nan], [0.0, 0.0], [1.0, math.nan, 2.0], [-1e-30, 1e30]])
@pytest.mark.parametrize("log", [False, True])
def test_a_chart_is_an_image_whatever_the_values(values: list[float], log: bool) -> None:
    image = ElementTree.fromstring(chart([("cpu", values), ("neuron", [])], "step", log, 1e-4 if log else None))
    assert image.tag == "svg"
    assert 3 <= len(image.findall("line")) <= 9


def test_a_gap_in_a_curve_stays_a_gap() -> None:
    image = ElementTree.fromstring(chart([("cpu", [1.0, 2.0, math.nan, 2.0, 1.0, math.inf, 3.0])], "step"))
    assert [len(line.get("points", "").split()) for line in image.findall("polyline")] == [2, 2]
    assert len(image.findall("circle")) == 1


def test_the_page_shows_how_far_runs_are_apart_if_they_are() -> None:
    runs = [("cpu", run("cpu", [3.0, 2.0])), ("neuron", run("neuron", [3.0, 2.00001]))]
    text = page("train.py", [compare(runs[0][1], runs[1][1])], runs, None)
    assert "Same within tolerance" in text
    assert "Relative difference of cpu and neuron; the dashed line is the tolerance, 0.0001." in text


def test_the_page_shows_the_values_read_where_nothing_is_trained() -> None:
    runs = [("cpu", inference("cpu", [0.1, 0.2], "cpu")), ("neuron", inference("neuron", [0.1, 0.2], "neuron:0"))]
    text = page("serve.py", [compare(runs[0][1], runs[1][1])], runs, None)
    assert "<h2>Value read</h2>" in text
    assert text.count("<polyline") == 2


def test_the_page_says_where_a_program_failed() -> None:
    failed = run("neuron", [], "failed")
    failed.output = "Traceback (most recent call last):\nValueError: 3 < 2\n"
    text = page(
        "train.py", [compare(run("cpu", [1.0]), failed)], [("cpu", run("cpu", [1.0])), ("neuron", failed)], None
    )
    assert "<strong>No comparison</strong>" in text
    assert "ValueError: 3 &lt; 2" in text


def test_the_report_can_be_read_again(tmp_path: Path) -> None:
    runs = [run("cpu", [1.0, 0.5]), run("neuron", [1.0, 0.5])]
    verdicts = [compare(*runs)]
    (tmp_path / "verify.json").write_text(to_json(["train.py"], verdicts, runs, None))
    again = read_runs(tmp_path / "verify.json")
    assert compare(again["cpu"], again["neuron"]) == verdicts[0]


def test_the_junit_file_names_the_failure() -> None:
    runs = [run("cpu", [1.0]), run("neuron", [2.0])]
    suite = ElementTree.fromstring(to_junit(["train.py"], [compare(*runs)], runs))
    assert suite.get("failures") == "1"
    assert "loss 0: 1 and 2" in suite.find("testcase/failure").get("message")  # type: ignore[union-attr,operator]
