"""Exported models as objects: they predict, evaluate, compute features; no torch is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

from greffe.api.labeller import Labeller
from greffe.config.option_groups import Without, flat_keywords
from greffe.config.options import LongTexts, Reading
from greffe.errors import RunError
from greffe.inference.prediction import Prediction
from greffe.interop.onnx.exported import ExportedFolder

if TYPE_CHECKING:
    from greffe.evaluation.metrics import Evaluation
    from greffe.pipelines.labelled import Examples


class ExportedModel(Labeller, ExportedFolder):
    """A folder that `export` wrote as ONNX, used through onnxruntime."""

    def _label(
        self, texts: Iterable[str], long: LongTexts, *, calibrated: bool
    ) -> Iterator[Prediction]:
        self._check_calibration(calibrated)
        return self.predictions(texts, long)

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
