"""Teachers: what runs that label texts already say of a text, as features.

Knows no files and no labels of one's own: a teacher's classes need not be ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from greffe.baselines.features import Reader, read_in_blocks
from greffe.progress import Progress

LEAST_SHARE = 1e-6
"""What is less likely counts as this likely: no one text is surer than all others together."""


class FeatureRun:
    """Something that gives each text probabilities of its own classes, as a reader of texts."""

    def __init__(self, classes: int, judge: Callable[[Sequence[str]], np.ndarray]) -> None:
        self.columns = classes
        self.judge = judge

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """Log-probabilities, centred [N, classes], float32."""
        return centred_logs(self.judge(texts))


def centred_logs(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities [N, classes] → their logarithms minus the mean over classes, float32."""
    logs = np.log(np.maximum(probabilities, LEAST_SHARE))
    centred: np.ndarray = logs - logs.mean(axis=1, keepdims=True)
    return centred.astype(np.float32)


def ask(feature_runs: Sequence[Reader], texts: Sequence[str]) -> list[np.ndarray]:
    """What each teacher says of the texts [N, its columns], block by block and with progress."""
    if not feature_runs:
        return []
    what = "ask the teacher" if len(feature_runs) == 1 else "ask the teachers"
    with Progress(what, len(feature_runs) * len(texts), "texts") as progress:
        return [read_in_blocks(feature_run, texts, progress) for feature_run in feature_runs]
