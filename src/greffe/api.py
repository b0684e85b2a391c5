"""The public face in Python: the verbs as functions, and a run that predicts, generates and fills.

Knows the stages and nothing of the command line; the command line calls the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Unpack

from greffe.baselines.linear_classifier import LinearClassifier
from greffe.baselines.linear_runs import load_linear, predict_linear
from greffe.config.classification import LongTexts
from greffe.config.options import Reading
from greffe.config.recipe import Recipe
from greffe.config.sections import TokenizerSpec
from greffe.data.corpus import Corpus
from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError, RecipeError
from greffe.evaluation.evaluate import evaluate_classifier, evaluate_predictions
from greffe.evaluation.metrics import Evaluation
from greffe.inference.fill import Filling
from greffe.inference.fill import fill as fill_masks
from greffe.inference.generate import Choices, generate_text, stream_text
from greffe.inference.predict import Prediction
from greffe.inference.predict import predict as predict_labels
from greffe.model.model import Model
from greffe.pipelines import finetune as finetune_pipeline
from greffe.pipelines import prepare as prepare_pipeline
from greffe.pipelines import pretrain as pretrain_pipeline
from greffe.pipelines.finetune_recipe import FinetuneOptions
from greffe.pipelines.intermediate import finetune_intermediate
from greffe.pipelines.labelled import Examples, data_hash, load_examples
from greffe.pipelines.provenance import lineage_of, trained_on
from greffe.progress import notice
from greffe.run import RunDirectory, open_base
from greffe.training.checkpoint import load_model, load_tokenizer

Inputs = str | Path | Sequence[str | Path]


class Run(RunDirectory):
    """One run on disk with its model, loaded when it is first needed."""

    @cached_property
    def model(self) -> Model:
        """Base and heads with the run's weights."""
        self.require_base()
        return load_model(self)

    @cached_property
    def linear(self) -> LinearClassifier:
        """What a linear run predicts with."""
        return load_linear(self)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer the weights were made for."""
        self.require_base()
        return load_tokenizer(self)

    @property
    def labels(self) -> list[str]:
        """The classes, in the order of the head's outputs; none for a language model."""
        return self.manifest().labels

    def predict(self, texts: Iterable[str], *, long: LongTexts = "windows") -> list[Prediction]:
        """A label and probabilities for each text; a single text gives a list of one."""
        several = [texts] if isinstance(texts, str) else texts
        return list(self.stream_predictions(several, long=long))

    def stream_predictions(
        self, texts: Iterable[str], *, long: LongTexts = "windows"
    ) -> Iterator[Prediction]:
        """The same, one after the other, for more texts than fit into memory."""
        if self.manifest().kind == "linear":
            if long != "windows":
                raise InputError(
                    "A linear model reads all of a text: --long has no effect on it.",
                    hint="leave it out",
                )
            return predict_linear(self.linear, self.labels, texts)
        return predict_labels(
            self.model,
            self.tokenizer,
            self.labels,
            texts,
            causal=self._reads_causally(),
            long=long,
        )

    def evaluate(
        self,
        data: Examples,
        *,
        options: Reading | None = None,
        long: LongTexts = "windows",
    ) -> Evaluation:
        """Accuracy and more on labelled texts that the run never saw."""
        examples = load_examples(data, options or Reading())
        digest = data_hash(examples)
        if any(trained_on(run, [digest]) for run in lineage_of(self)):
            notice("these are the very texts that the run was trained on: expect flattery")
        if self.manifest().kind == "linear":
            texts = (example.text for example in examples)
            said = self.stream_predictions(texts, long=long)
            return evaluate_predictions(self.labels, examples, said)
        return evaluate_classifier(
            self.model,
            self.tokenizer,
            self.labels,
            examples,
            causal=self._reads_causally(),
            long=long,
        )

    def generate(self, prompt: str = "", **choices: Unpack[Choices]) -> str:
        """The prompt and its continuation."""
        return generate_text(self.model, self.tokenizer, prompt, **choices)

    def stream(self, prompt: str = "", **choices: Unpack[Choices]) -> Iterator[str]:
        """The same, piece by piece as it is written."""
        return stream_text(self.model, self.tokenizer, prompt, **choices)

    def fill(self, text: str, *, top: int = 5) -> list[list[Filling]]:
        """The most likely words for each `<mask>` in the text."""
        return fill_masks(self.model, self.tokenizer, text, top=top)

    def _reads_causally(self) -> bool:
        return self.manifest().direction == "causal"


def load(path: str | Path) -> Run:
    """The run in a folder, or a base that ships by its name, such as `greffe-fr`."""
    return Run.open(path)


def prepare(
    inputs: Inputs,
    out: str | Path,
    *,
    vocab: int = 16_000,
    tokenizer_kind: str = "bpe",
    tokenizer: str | Path | Tokenizer | None = None,
    dictionary: str | Path | None = None,
    lowercase: bool = False,
    valid: float = 0.01,
    options: Reading | None = None,
    workers: int = 0,
    seed: int = 0,
    overwrite: bool = False,
    resume: bool = False,
) -> Corpus:
    """Text → shards: tokenised on all cores, duplicates dropped, a part held out."""
    return prepare_pipeline.prepare(
        inputs,
        out,
        recipe_tokenizer=tokenizer_spec(tokenizer_kind, vocab),
        tokenizer=tokenizer,
        dictionary=dictionary,
        lowercase=lowercase,
        valid=valid,
        options=options,
        workers=workers,
        seed=seed,
        overwrite=overwrite,
        resume=resume,
    )


def pretrain(
    corpus: Inputs,
    out: str | Path,
    *,
    from_: str | Path | RunDirectory | None = None,
    recipe: str | Path | Recipe | None = None,
    objective: str | None = None,
    budget: str | None = None,
    seed: int | None = None,
    changes: Sequence[str] = (),
    vocab: int | None = None,
    tokenizer: str | Path | Tokenizer | None = None,
    dictionary: str | Path | None = None,
    lowercase: bool = False,
    options: Reading | None = None,
    valid: float = 0.01,
    replant: bool = False,
    show_tensors: bool = False,
    overwrite: bool = False,
    resume: bool = False,
) -> Run:
    """Grow a base on a prepared corpus or on raw text; `from_` goes on from another run.

    With `replant` the other run's weights are taken over into the text's own vocabulary.
    """
    return Run.open(
        pretrain_pipeline.pretrain(
            corpus,
            out,
            parent=_opened(from_),
            recipe=recipe,
            objective=objective,
            budget=budget,
            seed=seed,
            changes=changes,
            vocab=vocab,
            tokenizer=tokenizer,
            dictionary=Path(dictionary) if dictionary else None,
            lowercase=lowercase,
            options=options,
            valid=valid,
            vocabulary_transfer=replant,
            show_tensors=show_tensors,
            overwrite=overwrite,
            resume=resume,
        ).path
    )


def finetune(
    base: str | Path | RunDirectory | None = None,
    *,
    data: Examples,
    out: str | Path,
    valid: Examples | None = None,
    aux_data: Sequence[Examples] = (),
    scratch: bool = False,
    like: str | Path | RunDirectory | None = None,
    recipe: str | Path | Recipe | None = None,
    budget: str | None = None,
    seed: int | None = None,
    soup: int | None = None,
    changes: Sequence[str] = (),
    options: Reading | None = None,
    new_head: bool = False,
    show_tensors: bool = False,
    overwrite: bool = False,
    resume: bool = False,
) -> Run:
    """Graft a classifier onto a base; `scratch=True`: fresh weights in the shape of `like`.

    `also`: tables of other texts with the same labels, which the base is taught before these.
    """
    if scratch and base is not None:
        raise RecipeError(
            "From a run and from scratch at once cannot be.",
            expected="--from RUN, or --scratch --like RUN",
            hint="for the same architecture with fresh weights: --scratch --like RUN",
        )
    if base is not None and like is not None:
        raise RecipeError(
            "--like has no effect with --from: the architecture is the parent's own.",
            hint="for fresh weights: --scratch --like RUN",
        )
    if not scratch and base is None:
        raise RecipeError(
            "There is no base to fine-tune.",
            expected="--from RUN, or --scratch with --like RUN or --recipe NAME",
        )
    choices: FinetuneOptions = {
        "recipe": recipe,
        "budget": budget,
        "seed": seed,
        "soup": soup,
        "changes": changes,
        "options": options,
        "show_tensors": show_tensors,
    }
    parent, shape = _opened(base), _opened(like)
    if aux_data:
        intermediate = finetune_intermediate(
            aux_data,
            data,
            out,
            parent=parent,
            like=shape,
            valid=valid,
            new_head=new_head,
            overwrite=overwrite,
            resume=resume,
            **choices,
        )
        # What follows goes on in the folder that the teaching has taken.
        parent, shape, data, valid = intermediate.run, None, intermediate.train, intermediate.valid
        new_head, overwrite, resume = False, False, True
    run = finetune_pipeline.finetune(
        data,
        out,
        parent=parent,
        like=shape,
        valid=valid,
        new_head=new_head,
        overwrite=overwrite,
        resume=resume,
        **choices,
    )
    return Run.open(run.path)


def tokenizer_spec(kind: str, vocab: int) -> TokenizerSpec:
    """A checked tokenizer section."""
    return Recipe().with_changes([f"tokenizer.kind={kind}", f"tokenizer.vocab={vocab}"]).tokenizer


def _opened(run: str | Path | RunDirectory | None) -> RunDirectory | None:
    return None if run is None else open_base(run)
