"""Exported models as objects: they predict, evaluate, compute features; no torch is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

from greffe.config.option_groups import Without, flat_keywords
from greffe.config.options import LongTexts, Reading
from greffe.errors import RunError
from greffe.inference.prediction import Prediction, abstain_below
from greffe.interop.onnx.exported import ExportedFolder

if TYPE_CHECKING:
    from greffe.evaluation.metrics import Evaluation
    from greffe.pipelines.labelled import Examples


class ExportedModel(ExportedFolder):
    """A folder that `export` wrote as ONNX, used through onnxruntime."""

    def predict(
        self,
        texts: Iterable[str],
        *,
        long: LongTexts = "windows",
        min_score: float = 0.0,
        calibrated: bool = False,
    ) -> list[Prediction]:
        """Return a label and probabilities for each text; a single text gives a list of one.

        A prediction with a score below `min_score` abstains. `calibrated` says that the model must
        have been exported with calibrated probabilities.
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
        self._check_calibration(calibrated)
        return abstain_below(min_score, self.predictions(texts, long))

    @flat_keywords
    def evaluate(
        self,
        data: Examples,
        *,
        reading: Annotated[Reading, Without("documents")],
        long: LongTexts = "windows",
        calibrated: bool = False,
    ) -> Evaluation:
        """Return accuracy and other metrics on labelled texts that the run was not trained on."""
        # Late: a prediction does without.
        from greffe.evaluation.metrics import evaluate_predictions
        from greffe.pipelines.labelled import load_examples

        self._check_calibration(calibrated)
        examples = load_examples(data, reading)
        texts = (example.text for example in examples)
        return evaluate_predictions(self.labels, examples, self.predictions(texts, long))

    def _check_calibration(self, calibrated: bool) -> None:
        if calibrated and self.manifest.temperature is None:
            raise RunError(
                f"{self.path} was exported without calibrated probabilities.",
                expected="a folder that greffe export --calibrated wrote",
                hint="export the run again with --calibrated",
            )
