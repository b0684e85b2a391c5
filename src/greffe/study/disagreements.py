"""The test texts on which a study's arms disagree most, with the words that mattered."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from greffe.inference.attribution import word_weights
from greffe.run import RunDirectory
from greffe.study.analysis import Analysis
from greffe.study.cells import is_begun
from greffe.study.document import Disagreement, Marked, Reading
from greffe.study.folder import StudyDirectory
from greffe.study.plan import PRETRAINED, READ_CLOSELY, SCRATCH, Cell
from greffe.training.checkpoint import load_model, load_tokenizer

EACH_WAY = 4
LONGEST = 1200
"""Characters: a report is no place for a whole chapter."""


def find_disagreements(
    analysis: Analysis, study: StudyDirectory, kept: Mapping[str, Cell | None]
) -> list[Disagreement]:
    """Texts that pretraining turned to the better, then to the worse; the clearest cases first."""
    probabilities = {
        arm: np.mean([result.probabilities for result in analysis.full[arm].results], axis=0)
        for arm in READ_CLOSELY
        if arm in analysis.full
    }
    places = np.arange(len(analysis.targets))
    gain = (probabilities[PRETRAINED] - probabilities[SCRATCH])[places, analysis.targets]
    short = [len(example.text) <= LONGEST for example in analysis.parts.test]
    usable = places[analysis.is_clean & np.array(short)]
    order = usable[np.argsort(-gain[usable], kind="stable")]
    better = [place for place in order[:EACH_WAY] if gain[place] > 0]
    worse = [place for place in order[::-1][:EACH_WAY] if gain[place] < 0]
    readers = {
        arm: _Reader(RunDirectory(study.run_path(cell.name)))
        for arm, cell in kept.items()
        if arm in (PRETRAINED, SCRATCH) and cell and is_begun(study.run_path(cell.name))
    }
    labels = analysis.parts.labels
    found = []
    for place in (*better, *worse):
        example = analysis.parts.test[place]
        readings = []
        for arm, share in probabilities.items():
            predicted = int(share[place].argmax())
            reader = readers.get(arm)
            readings.append(
                Reading(
                    arm=arm,
                    label=labels[predicted],
                    probability=float(share[place, predicted]),
                    words=reader.marked(example.text, labels[predicted]) if reader else [],
                )
            )
        found.append(Disagreement(text=example.text, targets=example.label, readings=readings))
    return found


class _Reader:
    """A kept run, loaded once for all texts."""

    def __init__(self, run: RunDirectory) -> None:
        self.model, self.tokenizer, self.manifest = (
            load_model(run),
            load_tokenizer(run),
            run.manifest(),
        )

    def marked(self, text: str, label: str) -> list[Marked]:
        """The words of a text with what they said for a label."""
        weights = word_weights(
            self.model,
            self.tokenizer,
            self.manifest.labels,
            text,
            causal=self.manifest.direction == "causal",
            label=label,
        )
        return [Marked(text=piece, weight=round(weight, 4)) for piece, weight in weights]
