"""Classification: class weights, label smoothing, and means over accumulated batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from greffe.config.sections import Classification
from greffe.model.heads.classification_head import ClassificationHead
from greffe.objectives.classification import ClassificationObjective

Make = Callable[..., Any]
COUNTS = [30, 5, 15]


def rows(count: int = 12) -> tuple[list[np.ndarray[Any, Any]], list[int]]:
    source = np.random.default_rng(0)
    texts = [source.integers(300, 480, size=source.integers(3, 20)) for _ in range(count)]
    return texts, source.integers(0, 3, size=count).tolist()


def make(**choices: Any) -> ClassificationObjective:
    return ClassificationObjective(Classification(**choices), COUNTS, causal=False, pad=1)


@pytest.mark.parametrize("class_weights", ["none", "balanced"])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("parts", [1, 3])
def test_sum_over_count_is_torchs_weighted_mean(
    make_model: Make, class_weights: str, label_smoothing: float, parts: int
) -> None:
    objective = make(class_weights=class_weights, label_smoothing=label_smoothing)
    model = make_model({"classification": ClassificationHead(classes=3)})
    texts, labels = rows()
    total = count = 0.0
    for part in np.array_split(np.arange(len(texts)), parts):
        batch = objective.prepare([texts[i] for i in part], [labels[i] for i in part])
        total += float(objective.loss(model, batch)["classification"].detach())
        count += batch.counts["classification"]

    whole = objective.prepare(texts, labels)
    scores = model(whole.ids, "classification", causal=False, lengths=whole.lengths)
    weight = torch.tensor([sum(COUNTS) / (3 * n) for n in COUNTS])
    expected = F.cross_entropy(
        scores,
        torch.tensor(labels),
        weight=weight if class_weights == "balanced" else None,
        label_smoothing=label_smoothing,
        reduction="mean",
    )
    assert total / count == pytest.approx(float(expected.detach()), rel=1e-5)


def test_balanced_classes_have_equal_total_weights() -> None:
    weights = make(class_weights="balanced").class_weights
    totals = weights * torch.tensor(COUNTS)
    assert torch.allclose(totals, totals[0].expand(3))
    assert float(totals.sum()) == pytest.approx(sum(COUNTS))
    assert make().class_weights.tolist() == [1, 1, 1]


def test_padding_and_order_of_rows_change_nothing(make_model: Make) -> None:
    objective = make()
    model = make_model({"classification": ClassificationHead(classes=3)})
    texts, labels = rows()
    together = objective.loss(model, objective.prepare(texts, labels))["classification"]
    alone = sum(
        objective.loss(model, objective.prepare([text], [label]))["classification"]
        for text, label in zip(texts, labels, strict=True)
    )
    assert torch.allclose(together, torch.as_tensor(alone), rtol=1e-5)


def test_batch_fields() -> None:
    batch = make().prepare([np.array([0, 300, 2]), np.array([0, 300, 301, 302, 2])], [2, 0])
    assert batch.ids.tolist() == [[0, 300, 2, 1, 1], [0, 300, 301, 302, 2]]
    assert batch.lengths is not None and batch.lengths.tolist() == [3, 5]
    assert batch.tokens == 8
    assert batch.counts == {"classification": 2.0}
    equal = make().prepare([np.array([0, 300, 2])] * 2, [1, 1])
    assert equal.lengths is None


def test_the_objective_sets_the_direction(make_model: Make) -> None:
    model = make_model({"classification": ClassificationHead(classes=3, pooler="first")})
    texts, labels = rows()
    both = make()
    batch = both.prepare(texts, labels)
    causal = ClassificationObjective(Classification(), COUNTS, causal=True, pad=1)
    changed = [np.concatenate([text[:1], text[1:] + 1]) for text in texts]
    other = both.prepare(changed, labels)

    def loss(objective: ClassificationObjective, which: Any) -> float:
        return float(objective.loss(model, which)["classification"].detach())

    # Read left to right, the first token knows nothing of the others.
    assert loss(causal, batch) == pytest.approx(loss(causal, other), rel=1e-6)
    assert loss(both, batch) != pytest.approx(loss(both, other), rel=1e-6)


def test_the_loss_of_the_frequencies_is_their_entropy() -> None:
    targets = np.repeat(np.arange(3), COUNTS)
    parts = np.array(COUNTS) / sum(COUNTS)
    entropy = -float((parts * np.log(parts)).sum())
    assert make().loss_of_frequencies(targets) == pytest.approx(entropy)
    # With equal weights for all classes, the best constant answer is uniform.
    balanced = make(class_weights="balanced")
    assert balanced.loss_of_frequencies(targets) == pytest.approx(np.log(3))
    assert make().loss_of_frequencies([1, 1]) == pytest.approx(-np.log(parts[1]))


@pytest.mark.parametrize("class_weights", ["none", "balanced"])
@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
def test_no_other_constant_answer_has_a_lower_loss(
    class_weights: str, label_smoothing: float
) -> None:
    objective = make(class_weights=class_weights, label_smoothing=label_smoothing)
    targets = torch.from_numpy(np.repeat(np.arange(3), COUNTS))
    found = objective.loss_of_frequencies(targets.numpy())
    scores = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    weights = objective.class_weights.double()
    optimizer = torch.optim.LBFGS([scores], max_iter=100, tolerance_grad=1e-12)

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        total = F.cross_entropy(
            scores.expand(len(targets), -1),
            targets,
            weight=weights,
            label_smoothing=label_smoothing,
        )
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[arg-type]
    assert found == pytest.approx(float(loss().detach()), abs=1e-6)
