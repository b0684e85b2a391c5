"""Runs as objects: `load_run` opens one, `Run` predicts, evaluates, generates and fills.

Loads nothing that trains, studies or reports, so that one text is predicted quickly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Unpack

import numpy as np

from greffe.api.labeller import Labeller
from greffe.baselines.linear_classifier import LinearClassifier
from greffe.baselines.linear_runs import load_linear, predict_linear
from greffe.config.option_groups import Without, flat_keywords
from greffe.config.options import Computing, Labelling, LongTexts, Reading
from greffe.data.tables import text_blocks
from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError
from greffe.evaluation.calibration import Scaled, scale_probabilities, scaled_windows
from greffe.evaluation.evaluate import evaluate_classifier
from greffe.evaluation.metrics import Evaluation, evaluate_predictions
from greffe.inference.fill import Filling
from greffe.inference.fill import fill as fill_masks
from greffe.inference.forward import require_finite
from greffe.inference.generate import Choices, generate_text, stream_text
from greffe.inference.int8_check import LABELLED_TEXTS, check_labels, report_accuracy
from greffe.inference.placing import PlacedModel, generator_model
from greffe.inference.predict import predict as predict_labels
from greffe.inference.predict import require_classifier, window_logits
from greffe.inference.prediction import Prediction, split_windows
from greffe.machine import guard_memory, memory_errors
from greffe.model.model import Model
from greffe.pipelines.calibrate import calibrate_run
from greffe.pipelines.labelled import Examples, data_hash, load_examples
from greffe.pipelines.provenance import lineage_of, trained_on
from greffe.progress import notice
from greffe.run import RUN_FILE, Calibration, RunDirectory, run_path
from greffe.training.checkpoint import load_model, load_tokenizer

AnyRun = str | Path | RunDirectory
"""A run's folder, the name of a shipped base, or a run that is already open."""
TableReading = Annotated[Reading, Without("documents")]


class Run(Labeller, RunDirectory):
    """One run on disk with its model, which is loaded when it is first needed."""

    computing: Labelling = Labelling()
    """Where the model computes, and how."""
    _is_checked = False

    @cached_property
    @memory_errors()
    def model(self) -> Model:
        """Base and heads with the run's weights."""
        self.require_base()
        return load_model(self)

    @cached_property
    @memory_errors()
    def linear(self) -> LinearClassifier:
        """The classifier of a linear run or an ensemble."""
        if self.computing.precision == "int8":
            raise InputError(
                f"{self.name} is a linear model or an ensemble, which does not compute in int8.",
                expected="a fine-tuned run",
                hint="leave out --precision",
            )
        return load_linear(self, Computing(**vars(self.computing)))

    @cached_property
    def _placed(self) -> PlacedModel:
        """The model in the precision for much text or for little."""
        return PlacedModel(self.model, self.computing, "prediction")

    @cached_property
    def _generator(self) -> Model:
        """The model for one row at a time."""
        return generator_model(self.model, self.computing, "generation")

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the weights were trained with."""
        self.require_base()
        return load_tokenizer(self)

    @property
    def labels(self) -> list[str]:
        """The classes, in the order of the head's outputs; empty for a language model."""
        return self.manifest().labels

    @property
    def context(self) -> int | None:
        """Most tokens of a window; None for a linear classifier, which reads whole texts."""
        return None if self.manifest().kind == "linear" else self.model.spec.context

    def _label(
        self, texts: Iterable[str], long: LongTexts, *, calibrated: bool
    ) -> Iterator[Prediction]:
        return self._predictions(texts, long, self._scale(calibrated))

    def _scale(self, calibrated: bool) -> float:
        """Return the temperature to divide logits by."""
        return self.require_calibration().temperature if calibrated else 1.0

    def _predictions(
        self, texts: Iterable[str], long: LongTexts, temperature: float
    ) -> Iterator[Prediction]:
        if self.manifest().kind == "linear":
            if long != "windows":
                raise InputError(
                    "A linear model reads the whole text: --long has no effect on it.",
                    hint="leave it out",
                )
            return guard_memory(
                predict_linear(self.linear, self.labels, texts, temperature=temperature)
            )
        require_classifier(self.model, self.labels)
        return guard_memory(self._labelled(self._placed, texts, long, temperature))

    def _labelled(
        self, placed: PlacedModel, texts: Iterable[str], long: LongTexts, temperature: float
    ) -> Iterator[Prediction]:
        blocks = text_blocks(texts)
        first = next(blocks, [])
        model = placed.model_for(first)
        causal = self._reads_causally()
        if self.computing.precision == "int8" and not self._is_checked:
            self._is_checked = True
            check_labels(
                *(placed.plain, model, self.tokenizer, self.labels, first), causal=causal, long=long
            )
        several = chain(first, chain.from_iterable(blocks))
        yield from predict_labels(
            *(model, self.tokenizer, self.labels, several),
            causal=causal,
            long=long,
            temperature=temperature,
        )

    @memory_errors()
    @flat_keywords
    def evaluate(
        self,
        data: Examples,
        *,
        reading: TableReading,
        long: LongTexts = "windows",
        calibrated: bool = False,
    ) -> Evaluation:
        """Return accuracy and other metrics on labelled texts that the run was not trained on."""
        temperature = self._scale(calibrated)
        examples = load_examples(data, reading)
        digest = data_hash(examples)
        if any(trained_on(run, [digest]) for run in lineage_of(self)):
            notice("the run was trained on these texts: scores will be optimistic")
        if self.manifest().kind == "linear":
            texts = (example.text for example in examples)
            predictions = self._predictions(texts, long, temperature)
            return evaluate_predictions(self.labels, examples, predictions)
        placed = self._placed
        evaluated = partial(
            evaluate_classifier,
            tokenizer=self.tokenizer,
            labels=self.labels,
            causal=self._reads_causally(),
            long=long,
            temperature=temperature,
        )
        found = evaluated(placed.model_for([each.text for each in examples]), examples=examples)
        if self.computing.precision == "int8":
            some = examples[:LABELLED_TEXTS]
            is_all = len(some) == len(examples)
            int8 = found if is_all else evaluated(placed.model_for([]), examples=some)
            fp32 = evaluated(placed.plain, examples=some)
            report_accuracy(int8.accuracy, fp32.accuracy, len(some))
        return found

    @memory_errors()
    @flat_keywords
    def calibrate(self, data: Examples, *, reading: TableReading) -> Calibration:
        """Fit a temperature to labelled texts, and record it for `calibrated` probabilities.

        The texts should be none that the run was trained on.
        """
        return calibrate_run(self, load_examples(data, reading), self._scaled)

    def _scaled(self, texts: Sequence[str]) -> Scaled:
        """Return how the probabilities of texts depend on the temperature."""
        if self.manifest().kind == "linear":
            found = self._predictions(texts, "windows", 1.0)
            rows = np.array([[*prediction.probabilities.values()] for prediction in found])
            return partial(scale_probabilities, rows)
        model = self._placed.model_for(texts)
        require_classifier(model, self.labels)
        documents = self.tokenizer.encode_all(texts)
        windows = [split_windows(ids, model.spec.context - 2, "windows") for ids in documents]
        logits = window_logits(model, self.tokenizer, windows, causal=self._reads_causally())
        require_finite(logits)
        return scaled_windows(logits.double().numpy(), windows)

    @memory_errors()
    def generate(self, prompt: str = "", **choices: Unpack[Choices]) -> str:
        """Return the prompt and its continuation."""
        return generate_text(self._generator, self.tokenizer, prompt, **choices)

    def stream(self, prompt: str = "", **choices: Unpack[Choices]) -> Iterator[str]:
        """Yield the prompt and its continuation piece by piece."""
        return guard_memory(stream_text(self._generator, self.tokenizer, prompt, **choices))

    @memory_errors()
    def fill(self, text: str, *, top: int = 5) -> list[list[Filling]]:
        """Return the most likely words for each `<mask>` in the text."""
        return fill_masks(self._generator, self.tokenizer, text, top=top)

    def _reads_causally(self) -> bool:
        return self.manifest().direction == "causal"


@flat_keywords
def load_run(path: str | Path, *, computing: Labelling) -> Run:
    """Open the run in a folder, a shipped base by its name, such as `greffe-fr`, or a source.

    A source is a base in another format, such as hf:owner/name, which is imported first.
    """
    run = Run.open(path if (run_path(path) / RUN_FILE).exists() else _imported_path(path))
    run.computing = computing
    return run


def _imported_path(source: str | Path) -> Path:
    # Late: a run that greffe wrote is opened without what reads other formats.
    from greffe.pipelines.sources import open_source

    return open_source(source).path
