"""What predicts labels of texts: runs and exported models alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from greffe.config.options import LongTexts
from greffe.inference.prediction import Prediction, abstain_below
from greffe.machine import memory_errors


class Labeller(ABC):
    """Anything that labels texts."""

    @memory_errors()
    def predict(
        self,
        texts: Iterable[str],
        *,
        long: LongTexts = "windows",
        min_score: float = 0.0,
        calibrated: bool = False,
    ) -> list[Prediction]:
        """Return a label and probabilities for each text; a single text gives a list of one.

        A prediction with a score below `min_score` abstains; its label is still the most likely
        class. With `calibrated`, logits are divided by the run's temperature; an exported model
        must have been exported with it.
        """
        several = [texts] if isinstance(texts, str) else texts
        return list(
            self.stream_predictions(several, long=long, min_score=min_score, calibrated=calibrated)
        )

    def stream_predictions(
        self,
        texts: Iterable[str],
        *,
        long: LongTexts = "windows",
        min_score: float = 0.0,
        calibrated: bool = False,
    ) -> Iterator[Prediction]:
        """Yield predictions one by one, for more texts than fit into memory."""
        return abstain_below(min_score, self._label(texts, long, calibrated=calibrated))

    @abstractmethod
    def _label(
        self, texts: Iterable[str], long: LongTexts, *, calibrated: bool
    ) -> Iterator[Prediction]:
        """Yield predictions; errors are raised before the first one is requested."""
