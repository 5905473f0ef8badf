"""How two recorded runs compare, and what is said of it."""

from __future__ import annotations

import math

import pytest
from recorded import run

from agnostic.proof.compare import compare, precision


@pytest.mark.parametrize(
    ("left", "right", "rtol", "outcome", "text"),
    [
        ([2.0, 1.0], [2.0, 1.0], None, "same", "bit for bit (2 losses, 2 optimizer steps"),
        ([2.0, 1.0], [2.0, 1.00001], None, "within tolerance", "bit for bit up to loss 1: 1 and 1.00001"),
        ([2.0, 1.0], [2.0, 1.00001], 0, "different", "different, from loss 1: 1 and 1.00001 on"),
        ([2.0, 1.0], [2.0, 1.1], None, "different", "from loss 1"),
        ([2.0, 1.0], [2.0], None, "different", "loss 1: 1 and nothing"),
        ([2.0, math.nan], [2.0, math.nan], None, "same", ""),
        ([2.0, 1.0], [2.0, math.nan], 10.0, "different", "loss 1: 1 and nan"),
    ],
)
def test_verdicts(left: list[float], right: list[float], rtol: float | None, outcome: str, text: str) -> None:
    verdict = compare(run("cpu", left), run("neuron", right), rtol)
    assert verdict.outcome == outcome
    assert text in str(verdict)


def test_nothing_recorded_on_either_side_is_no_comparison() -> None:
    verdict = compare(run("cpu", []), run("cpu", []))
    assert verdict.outcome == "no comparison"
    assert "no loss was back-propagated and no value was read" in str(verdict)


def test_both_sides_that_failed_are_named() -> None:
    verdict = compare(run("cpu", [], "failed"), run("neuron", [], "failed"))
    assert "on cpu the program failed and on neuron the program failed" in str(verdict)


def test_the_tolerance_follows_the_precision() -> None:
    left, right = run("cpu", [1.0, 1.0]), run("neuron", [1.0, 1.01], dtype="bfloat16")
    assert precision(left, right) == "bfloat16"
    assert compare(left, right).outcome == "within tolerance"


def test_values_that_are_read_count_where_nothing_is_trained() -> None:
    left, right = (run("cpu", [1.0], reads=[0.9]), run("neuron", [1.0], reads=[0.5]))
    assert "value read 0 (a.py:3): 0.9 and 0.5" in str(compare(left, right))


def test_a_loss_scale_counts_between_runs_on_one_kind_of_device_only() -> None:
    scaled, plain = run("neuron", [1.0], scale=65536.0), run("neuron", [1.0])
    assert "loss scale 0" in str(compare(scaled, plain))
    assert compare(run("cpu", [1.0]), scaled).outcome == "same"


@pytest.mark.parametrize(("status", "text"), [("failed", "failed"), ("hung", "in time"), ("asked", "asked for input")])
def test_a_program_that_did_not_end_is_no_comparison(status: str, text: str) -> None:
    verdict = compare(run("cpu", [1.0]), run("neuron", [1.0], status))
    assert not verdict.good
    assert f"on neuron the program {text}" in str(verdict) or text in str(verdict)
