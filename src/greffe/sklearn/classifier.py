"""`GreffeClassifier`: greffe's fine-tuning as a scikit-learn estimator for texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, check_scalar

from greffe.config.options import DeviceName, Labelling, LongTexts, PrecisionName
from greffe.data.tables import Example, split_examples
from greffe.errors import InterruptedRunError
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.sklearn.inputs import (
    Array,
    check_labels,
    check_texts,
    classes_of,
    label_texts,
    label_type,
)

if TYPE_CHECKING:
    from numpy.random import RandomState

    from greffe.api.runs import Run
    from greffe.config.recipe import Recipe
    from greffe.pipelines.labelled import Examples
    from greffe.sklearn.carried_run import CarriedRun

LARGEST_SEED = 2**31 - 1


class GreffeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A text classifier that is fine-tuned on a base, or trained from scratch.

    X is one text per sample: a list, an array, a series or a single column of str. Labels are
    strings, integers or booleans, and predictions have the same type. The run is written to a
    temporary folder, and pickled with the estimator; `save` keeps it.

    Args:
        base: What to fine-tune: a run, its path, the name of a shipped base, or a source such as
            hf:owner/name. None trains fresh weights in the shape of `like` or of `recipe`.
        like: With base=None: the run, base or source that the architecture and the tokenizer are
            taken from.
        recipe: Recipe: tiny, small, lab, a family such as bert; for fine-tuning also intermediate,
            target; or a TOML file. None: the recipe of the base.
        auto: Use the best of several models instead, as `greffe fit` does: TF-IDF, the features of
            the base, fine-tuning, or an ensemble of them, chosen by cross-validation. The budget
            is then a time, by default 20m; base=None takes greffe-fr if it knows the language of
            the texts. `like` and `recipe` cannot be given, and `validation_fraction` has no
            effect.
        budget: How long to train: 20m, 2000steps, 3epochs. None: the budget of the recipe.
        validation_fraction: Fraction of the texts that is held out, by class, to choose the best
            epoch.
        soup: Number of fine-tunings whose weights are averaged. None: as in the recipe, or 1 with
            a budget.
        n_jobs: Fine-tunings of a soup side by side. None is 1, and -1 one per core.
        device: Where to compute: auto, cpu, cuda or mps. None: as in the recipe, or auto.
        precision: Precision of matrix products: auto, fp32 or bf16. None: as in the recipe, or
            auto.
        changes: Changes of the recipe, such as `["train.lr=3e-4"]`.
        aux_data: Auxiliary data, fine-tuned on first: paths of tables, or lists of pairs of a text
            and its label.
        unlabelled: With auto=True: files or folders of text without labels, which the base is
            pretrained on first.
        long: How texts longer than the context are predicted: in windows, or cut.
        random_state: Seed of the head, the held-out texts, the order of texts and dropout. The
            same integer gives the same classifier if precision is fp32 and budget is not a time.
        verbose: Print progress and notices on standard error.

    Attributes:
        classes_: The labels, sorted.
        run_: The greffe run that predicts.
    """

    classes_: Array
    run_: Run

    def __init__(
        self,
        base: str | Path | RunDirectory | None = "greffe-fr",
        *,
        like: str | Path | RunDirectory | None = None,
        recipe: str | Path | Recipe | None = None,
        auto: bool = False,
        budget: str | None = None,
        validation_fraction: float = 0.2,
        soup: int | None = None,
        n_jobs: int | None = None,
        device: DeviceName | None = None,
        precision: PrecisionName | None = None,
        changes: Sequence[str] = (),
        aux_data: Sequence[Examples] = (),
        unlabelled: Sequence[str | Path] = (),
        long: LongTexts = "windows",
        random_state: int | RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.base = base
        self.like = like
        self.recipe = recipe
        self.auto = auto
        self.budget = budget
        self.validation_fraction = validation_fraction
        self.soup = soup
        self.n_jobs = n_jobs
        self.device = device
        self.precision = precision
        self.changes = changes
        self.aux_data = aux_data
        self.unlabelled = unlabelled
        self.long = long
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        # A budget may be a time, and precision auto is what was measured to be faster.
        tags.non_deterministic = True
        return tags

    # --- fitting ---

    def fit(self, X: Any, y: Any) -> Self:
        """Fine-tune on the texts X with the labels y; with auto=True, find the best model."""
        self._check_long()
        self._check_auto()
        name = type(self).__name__
        texts, labels = check_texts(X, name), check_labels(y, name)
        check_consistent_length(texts, labels)
        classes, indices = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{name} needs samples of at least 2 classes in the data, "
                f"but the data contains only one class: {classes[0]!r}"
            )
        names = label_texts(classes)
        examples = [Example(text, names[index]) for text, index in zip(texts, indices, strict=True)]
        with self._notices():
            run = self._best(examples) if self.auto else self._finetuned(examples)
        run.write_manifest(run.manifest().model_copy(update={"label_type": label_type(classes)}))
        return self._use(run, classes)

    def _finetuned(self, examples: list[Example]) -> CarriedRun:
        """Return the run of a fine-tuning, in a temporary folder."""
        seed = self._seed()
        train, valid = self._held_out(examples, seed)
        jobs = effective_n_jobs(self.n_jobs)
        # Late: importing the estimator loads no torch.
        from greffe.api.training import finetune

        return _in_temporary_folder(
            lambda out: finetune(
                self.base,
                data=train,
                valid=valid,
                aux_data=self.aux_data,
                out=out,
                scratch=self.base is None,
                like=self.like,
                recipe=self.recipe,
                budget=self.budget,
                seed=seed,
                soup=self.soup,
                jobs=jobs,
                device=self.device,
                precision=self.precision,
                changes=self.changes,
            )
        )

    def _best(self, examples: list[Example]) -> CarriedRun:
        """Return the run of the best of several models, in a temporary folder."""
        seed = self._seed()
        jobs = effective_n_jobs(self.n_jobs)
        base = self.base.path if isinstance(self.base, RunDirectory) else self.base
        from greffe.api.fitting import fit

        return _in_temporary_folder(
            lambda out: fit(
                data=examples,
                aux_data=self.aux_data,
                out=out,
                unlabelled=self.unlabelled,
                base=base,
                budget=self.budget,
                seed=seed,
                soup=self.soup,
                jobs=jobs,
                device=self.device,
                precision=self.precision,
                changes=self.changes,
            )
        )

    def _seed(self) -> int:
        generator = check_random_state(self.random_state)
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(generator.randint(LARGEST_SEED))

    def _held_out(self, examples: list[Example], seed: int) -> tuple[list[Example], list[Example]]:
        """Return the texts to train on, and those to choose the best epoch on."""
        fraction = check_scalar(
            self.validation_fraction,
            "validation_fraction",
            Real,
            min_val=0,
            max_val=1,
            include_boundaries="neither",
        )
        train, valid = split_examples(examples, fraction, seed)
        if not valid:
            raise ValueError(
                f"{type(self).__name__} holds out a part of the texts, and needs at least two "
                f"different texts of some class; got {len(examples)} texts, no class with two."
            )
        return train, valid

    def _check_long(self) -> None:
        choices = get_args(LongTexts)
        if self.long not in choices:
            raise ValueError(
                f"The 'long' parameter of {type(self).__name__} must be a str among "
                f"{{{', '.join(map(repr, choices))}}}. Got {self.long!r} instead."
            )

    def _check_auto(self) -> None:
        for name in ("like", "recipe"):
            if self.auto and getattr(self, name) is not None:
                raise ValueError(
                    f"The {name!r} parameter of {type(self).__name__} has no effect with auto=True "
                    f"and must be None. Got {getattr(self, name)!r} instead."
                )

    def _notices(self) -> AbstractContextManager[None]:
        return nullcontext() if self.verbose else quiet()

    def _use(self, run: CarriedRun, classes: Array) -> Self:
        """Predict with a run from now on."""
        run.computing = Labelling(device=self.device or "auto", precision=self.precision or "auto")
        self.run_ = run
        self.classes_ = classes
        return self

    # --- predicting ---

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the texts, [texts, classes], in the order of `classes_`."""
        check_is_fitted(self)
        self._check_long()
        texts = check_texts(X, type(self).__name__)
        names = label_texts(self.classes_)
        with self._notices():
            predictions = self.run_.predict(texts, long=self.long)
        return np.array([[each.probabilities[name] for name in names] for each in predictions])

    def predict(self, X: Any) -> Array:
        """Return the most likely label of each text."""
        probabilities = self.predict_proba(X)
        labels: Array = self.classes_[probabilities.argmax(axis=1)]
        return labels

    # --- runs ---

    def save(self, path: str | Path, *, overwrite: bool = False) -> Run:
        """Write the fitted classifier to a folder, as a run that every command can use.

        A folder that holds something is refused; `overwrite` replaces a run.
        """
        check_is_fitted(self)
        from greffe.sklearn.carried_run import write_copy

        return write_copy(self.run_, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path, **parameters: Any) -> Self:
        """Return a fitted classifier that predicts with the run in a folder.

        Any run that labels texts can be loaded: fine-tuned, linear or an ensemble. `parameters`
        are those of the class, and precision may be int8. `fit` on the result trains from its
        `base`, not from this run.
        """
        from greffe.baselines.linear_runs import require_labels
        from greffe.sklearn.carried_run import CarriedRun

        run = CarriedRun.open(path)
        require_labels(run)
        manifest = run.manifest()
        return cls(**parameters)._use(run, classes_of(manifest.labels, manifest.label_type))


def _in_temporary_folder(train: Callable[[Path], object]) -> CarriedRun:
    """Return the run that a training writes, in a temporary folder."""
    from greffe.sklearn.carried_run import RUN_FOLDER, CarriedRun, TemporaryFolder

    folder = TemporaryFolder()
    try:
        train(folder.path / RUN_FOLDER)
    except InterruptedRunError:
        folder.remove()  # nothing could resume it
        # Not an Exception: a search over parameters would take it for a failed fit and go on.
        raise KeyboardInterrupt from None
    except BaseException:
        folder.remove()
        raise
    return CarriedRun.keep(folder)
