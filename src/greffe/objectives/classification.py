"""Classification: a label for each text, with class weights and label smoothing.

Its spec is a section of every recipe and therefore lives in config.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from greffe.config.sections import Classification
from greffe.data.batches import Batch, pad_rows
from greffe.model.model import Model
from greffe.objectives.objective import Objective, read


class ClassificationObjective(Objective):
    """Cross-entropy over classes; a mean is divided by the weights of its targets."""

    def __init__(
        self, spec: Classification, class_counts: Sequence[int], *, causal: bool, pad: int
    ) -> None:
        self.spec = spec
        self.causal = causal
        self.pad = pad
        self.class_counts = list(class_counts)
        counts = torch.tensor(class_counts, dtype=torch.float32)
        is_balanced = spec.class_weights == "balanced"
        self.class_weights = (
            counts.sum() / (len(counts) * counts) if is_balanced else torch.ones_like(counts)
        )
        self._placed_weights = self.class_weights

    @property
    def weights(self) -> Mapping[str, float]:
        return {"classification": 1.0}

    def prepare(self, rows: Sequence[npt.NDArray[np.integer]], labels: Sequence[int]) -> Batch:
        """Return a batch of texts, as ids with <sos> … <eos>, and their class numbers."""
        ids, lengths = pad_rows(rows, self.pad)
        targets = torch.tensor(labels, dtype=torch.int64)
        return Batch(
            ids=ids,
            counts={"classification": float(self.class_weights[targets].sum())},
            lengths=lengths,
            targets=targets,
            tokens=sum(len(row) for row in rows),
        )

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        assert batch.targets is not None
        hidden = read(model, batch, causal=self.causal)
        scores = model.scores(hidden, "classification", batch.lengths, batch.ids)
        if self._placed_weights.device != scores.device:  # copied once, not in every step
            self._placed_weights = self.class_weights.to(scores.device)
        return {
            "classification": F.cross_entropy(
                scores,
                batch.targets,
                weight=self._placed_weights,
                label_smoothing=self.spec.label_smoothing,
                reduction="sum",
            )
        }

    def loss_of_frequencies(self, targets: Sequence[int] | npt.NDArray[np.int64]) -> float:
        """Return the mean loss of these targets under the best answer that is always the same.

        Without weights and smoothing, that answer is the class frequencies.
        """
        weights, smoothing = self.class_weights.double(), self.spec.label_smoothing
        counts = torch.tensor(self.class_counts, dtype=torch.float64)
        spread = counts.sum() / len(counts)
        scores = (weights * ((1.0 - smoothing) * counts + smoothing * spread)).log()
        labels = torch.as_tensor(targets, dtype=torch.int64)
        total = F.cross_entropy(
            scores.expand(len(labels), -1),
            labels,
            weight=weights,
            label_smoothing=smoothing,
            reduction="sum",
        )
        return float(total / weights[labels].sum())
