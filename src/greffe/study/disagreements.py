"""The test texts on which a study's arms disagree most, with the words that mattered."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from greffe.inference.attribution import word_weights
from greffe.run import RunDirectory
from greffe.study.analysis import Analysis
from greffe.study.document import ArmPrediction, Disagreement, Marked
from greffe.study.plan import detailed_arms, planned_comparisons
from greffe.training.checkpoint import load_model, load_tokenizer

EACH_WAY = 4
LONGEST = 1200
"""Characters; longer texts are not shown."""


def find_disagreements(analysis: Analysis, kept: Mapping[str, RunDirectory]) -> list[Disagreement]:
    """Return the texts that pretraining helped most, then those that it hurt most.

    `kept` are the runs on disk, by arm; they give the weights of words.
    """
    question = planned_comparisons(analysis.arms)[0]
    probabilities = {arm: analysis.mean_probabilities(arm) for arm in detailed_arms(analysis.arms)}
    readers = {arm: _Reader(kept[arm]) for arm in question if arm in kept}
    labels = analysis.parts.labels
    found = []
    for index in _most_different(analysis, *(probabilities[arm] for arm in question)):
        example = analysis.parts.test[index]
        predictions = []
        for arm, values in probabilities.items():
            predicted = int(values[index].argmax())
            reader = readers.get(arm)
            predictions.append(
                ArmPrediction(
                    arm=arm,
                    label=labels[predicted],
                    probability=float(values[index, predicted]),
                    words=reader.marked(example.text, labels[predicted]) if reader else [],
                )
            )
        found.append(Disagreement(text=example.text, label=example.label, predictions=predictions))
    return found


def _most_different(analysis: Analysis, first: np.ndarray, second: np.ndarray) -> list[int]:
    """Return the texts whose true class gained most from `second` to `first`, then lost most."""
    indices = np.arange(len(analysis.targets))
    gain = (first - second)[indices, analysis.targets]
    short = [len(example.text) <= LONGEST for example in analysis.parts.test]
    usable = indices[analysis.is_clean & np.array(short)]
    order = usable[np.argsort(-gain[usable], kind="stable")]
    better = [index for index in order[:EACH_WAY] if gain[index] > 0]
    worse = [index for index in order[::-1][:EACH_WAY] if gain[index] < 0]
    return [*better, *worse]


class _Reader:
    """A kept run, loaded once for all texts."""

    def __init__(self, run: RunDirectory) -> None:
        self.model, self.tokenizer = load_model(run), load_tokenizer(run)
        self.manifest = run.manifest()

    def marked(self, text: str, label: str) -> list[Marked]:
        """Return the words of a text with their weights for a label."""
        weights = word_weights(
            self.model,
            self.tokenizer,
            self.manifest.labels,
            text,
            causal=self.manifest.direction == "causal",
            label=label,
        )
        return [Marked(text=piece, weight=round(weight, 4)) for piece, weight in weights]
