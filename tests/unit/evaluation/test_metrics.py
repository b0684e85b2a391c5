from __future__ import annotations

import json
import math

import numpy as np
import pytest

from greffe.errors import DataError
from greffe.evaluation.metrics import (
    ClassScore,
    calibration_error,
    evaluate_probabilities,
    label_indices,
)

LABELS = ["bad", "good", "so-so"]
TARGETS = ["bad", "bad", "good", "good", "good", "so-so"]
# Predicted: bad, good, good, good, bad, good.
PROBABILITIES = np.array(
    [
        [0.8, 0.1, 0.1],
        [0.3, 0.6, 0.1],
        [0.2, 0.7, 0.1],
        [0.05, 0.9, 0.05],
        [0.5, 0.4, 0.1],
        [0.1, 0.5, 0.4],
    ]
)


def test_worked_example() -> None:
    result = evaluate_probabilities(LABELS, TARGETS, PROBABILITIES)
    assert result.examples == 6
    assert result.accuracy == pytest.approx(3 / 6)
    assert result.confusion == [[1, 1, 0], [1, 2, 0], [0, 1, 0]]
    assert result.per_class == [
        ClassScore("bad", pytest.approx(1 / 2), pytest.approx(1 / 2), pytest.approx(1 / 2), 2),
        ClassScore("good", pytest.approx(2 / 4), pytest.approx(2 / 3), pytest.approx(4 / 7), 3),
        ClassScore("so-so", 0.0, 0.0, 0.0, 1),
    ]
    assert result.macro_f1 == pytest.approx((1 / 2 + 4 / 7 + 0) / 3)
    losses = [-math.log(probability) for probability in (0.8, 0.3, 0.7, 0.9, 0.4, 0.4)]
    assert result.log_loss == pytest.approx(sum(losses) / 6)
    # Bins of 1/15: 0.5 and 0.5 share one (both wrong), the others are alone.
    gaps = [0.8 - 1, 0.6 - 0, 0.7 - 1, 0.9 - 1, (0.5 - 0) + (0.5 - 0)]
    assert result.calibration_error == pytest.approx(sum(map(abs, gaps)) / 6)


def test_labels_keep_their_order_even_if_not_alphabetical() -> None:
    labels = ["10", "9", "a"]
    result = evaluate_probabilities(
        labels, ["a", "9", "10"], np.array([[0.1, 0.2, 0.7], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    )
    assert result.accuracy == 1
    assert result.labels == labels
    assert result.log_loss == pytest.approx(-np.log([0.7, 0.5, 0.6]).mean())


def test_gaps_inside_a_bin_cancel_before_the_absolute_value() -> None:
    true = np.array([0, 1])
    probabilities = np.array([[0.99, 0.01], [0.99, 0.01]])
    # One hit, one miss in the bin (14/15, 1]: confidence 0.99 against accuracy 0.5.
    assert calibration_error(true, probabilities) == pytest.approx(0.49)


def test_bins_are_closed_above() -> None:
    # 0.5 ends the bin (0, 0.5]; 0.6 begins the next: with opposite gaps they do not cancel.
    true = np.array([0, 1])
    probabilities = np.array([[0.5, 0.5], [0.6, 0.4]])
    assert calibration_error(true, probabilities, bins=2) == pytest.approx((0.5 + 0.6) / 2)
    assert calibration_error(true, probabilities, bins=1) == pytest.approx(abs(-0.5 + 0.6) / 2)


def test_macro_f1_leaves_out_a_class_that_never_occurs() -> None:
    probabilities = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    assert evaluate_probabilities(LABELS, ["bad", "good"], probabilities).macro_f1 == 1


def test_a_single_class_in_the_examples_works() -> None:
    result = evaluate_probabilities(
        ["no", "yes"], ["yes", "yes"], np.array([[0.1, 0.9], [0.7, 0.3]])
    )
    assert result.accuracy == 0.5
    assert result.confusion == [[0, 0], [1, 1]]


def test_single_precision_and_certainty_give_no_warning_and_a_finite_loss() -> None:
    rows = np.array([[1.0, 0.0], [0.1, 0.9], [1 / 3, 2 / 3]], dtype=np.float32)
    result = evaluate_probabilities(["no", "yes"], ["yes", "yes", "no"], rows)
    assert math.isfinite(result.log_loss)


def test_unknown_label_is_named_beside_the_known_ones() -> None:
    with pytest.raises(DataError) as caught:
        label_indices(LABELS, ["good", "awful", "awful"])
    assert caught.value.found == "'awful'"
    assert caught.value.expected == "one of 'bad', 'good', 'so-so'"


def test_many_unknown_labels_are_shortened() -> None:
    with pytest.raises(DataError, match=r"\(40 in total\)"):
        label_indices(LABELS, [f"label {number}" for number in range(40)])


def test_no_examples_is_an_error() -> None:
    with pytest.raises(DataError, match="no examples"):
        evaluate_probabilities(LABELS, [], np.zeros((0, 3)))


def test_json_holds_plain_values() -> None:
    tree = json.loads(json.dumps(evaluate_probabilities(LABELS, TARGETS, PROBABILITIES).to_json()))
    assert tree["confusion"][1] == [1, 2, 0]
    assert tree["per_class"][1]["label"] == "good"
    assert tree["labels"] == LABELS


def test_summary_has_the_main_figures() -> None:
    summary = evaluate_probabilities(LABELS, TARGETS, PROBABILITIES).summary()
    assert "accuracy 50.00%" in summary
    assert "macro F1 0.3571" in summary
    assert summary.endswith("6 examples")
