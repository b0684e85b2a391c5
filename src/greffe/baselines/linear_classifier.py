"""One multinomial logistic regression over TF-IDF, a base's features, and what teachers say.

May learn from other people's texts beside one's own (`companions`). Chooses its own settings inside
the training texts; saved as JSON and tensors, never pickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import torch

from greffe.baselines.auxiliary_fit import AuxiliaryData, fit_with_auxiliary, share_words
from greffe.baselines.feature_blocks import Blocks, Compact, standardised
from greffe.baselines.features import BaseReader, FeatureCache, Reader
from greffe.baselines.linear_settings import LINEAR_FILE, LinearSettings, read_settings, terms_hash
from greffe.baselines.regression import Regression, softmax
from greffe.baselines.run_features import ask
from greffe.baselines.selection import BASE_WEIGHTS, choose, fold_numbers
from greffe.baselines.tfidf import Tfidf
from greffe.data.tables import Example
from greffe.errors import CorruptError, RecipeError
from greffe.evaluation.metrics import label_indices
from greffe.model.weights import load_tensors, save_tensors
from greffe.run import RunDirectory
from greffe.seeding import rng
from greffe.storage import write_json

TENSORS_FILE = "linear.safetensors"
GRAM_TEXTS = 4_000
"""Up to so many texts, C is chosen and the solution found by their inner products."""


class LinearClassifier:
    """Probabilities from features times weights; `fit_linear` and `load` make one."""

    def __init__(
        self,
        settings: LinearSettings,
        *,
        tfidf: Tfidf | None,
        base: BaseReader | None,
        feature_runs: Sequence[Reader] = (),
        mean: np.ndarray,
        scale: np.ndarray,
        weights: np.ndarray,
        bias: np.ndarray,
    ) -> None:
        self.settings = settings
        self.tfidf = tfidf
        self.base = base
        self.feature_runs = feature_runs
        self.mean = mean  # [D]: base columns, then those of each teacher
        self.scale = scale  # [D]: what the centred features are multiplied with
        self.weights = weights  # [TF-IDF columns + D, classes]
        self.bias = bias  # [classes]

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        targets: np.ndarray,
        classes: int,
        *,
        use_tfidf: bool,
        base: BaseReader | None,
        feature_runs: Sequence[Reader] = (),
        auxiliary: AuxiliaryData | None = None,
        seed: int,
    ) -> Self:
        """Choose C, and the base's weight if it is not alone, then fit on all texts."""
        assert use_tfidf or base is not None or feature_runs
        tfidf, sparse = Tfidf.fit(texts) if use_tfidf else (None, None)
        theirs = None
        if auxiliary is not None:
            tfidf, sparse, theirs = share_words(auxiliary, texts, tfidf, sparse)
        mean, scale, dense = standardised([] if base is None else [base.features(texts)])
        said_mean, said_scale, scores = standardised(ask(feature_runs, texts))
        blocks = Blocks(sparse, dense, scores)
        is_weighed = base is not None and (tfidf is not None or bool(feature_runs))
        inside = _sampled(len(texts), seed)
        folds = fold_numbers([texts[place] for place in inside], targets[inside], seed)
        if auxiliary is not None:
            weight = 1.0
            if is_weighed:
                compact = Compact(blocks.of(inside))
                weight = choose(compact, BASE_WEIGHTS, targets[inside], classes, folds).base_weight
            fold_of = {texts[place]: fold for place, fold in zip(inside, folds, strict=True)}
            numbers = np.array([fold_of.get(text, -1) for text in texts])
            choice, solution = fit_with_auxiliary(
                auxiliary, theirs, blocks.rows(weight), targets, classes, numbers, weight
            )
            weights = solution.weights
        else:
            compact = Compact(blocks.of(inside))
            base_weights = BASE_WEIGHTS if is_weighed else (1.0,)
            choice = choose(compact, base_weights, targets[inside], classes, folds)
            is_compact = len(inside) == len(texts)
            rows = (compact if is_compact else blocks).rows(choice.base_weight)
            solution = Regression(rows, targets, classes).solve(choice.c)
            weights = solution.weights
            if is_compact:
                weights = compact.unfolded(rows, weights, choice.base_weight)
        return cls(
            LinearSettings(
                classes=classes,
                texts=len(texts),
                c=choice.c,
                base_weight=choice.base_weight if is_weighed else None,
                log_loss=choice.log_loss,
                accuracy=choice.accuracy,
                base_columns=len(mean),
                run_columns=[feature_run.columns for feature_run in feature_runs],
                auxiliary=0 if auxiliary is None else len(auxiliary.texts),
            ),
            tfidf=tfidf,
            base=base,
            feature_runs=feature_runs,
            mean=np.append(mean, said_mean),
            scale=np.append(scale * np.float32(choice.base_weight), said_scale),
            weights=weights.astype(np.float32),
            bias=solution.bias.astype(np.float32),
        )

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """[N, classes], float64."""
        scores = np.tile(self.bias, (len(texts), 1))
        columns = self.tfidf.columns if self.tfidf is not None else 0
        if self.tfidf is not None and texts:
            scores += self.tfidf.transform(texts) @ self.weights[:columns]
        readers = [*([] if self.base is None else [self.base]), *self.feature_runs]
        if readers and texts:
            vectors = np.hstack([reader.features(texts) for reader in readers])
            scores += (vectors - self.mean) * self.scale @ self.weights[columns:]
        return softmax(scores)

    # --- on disk --------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write linear.safetensors and linear.json; base and teachers are not part of it."""
        arrays = {
            "weights": self.weights,
            "bias": self.bias,
            "mean": self.mean,
            "scale": self.scale,
        }
        vocabularies = None
        if self.tfidf is not None:
            arrays |= {f"idf.{name}": self.tfidf.idf[name] for name in self.tfidf.idf}
            vocabularies = self.tfidf.vocabularies
        digest = save_tensors(
            folder / TENSORS_FILE,
            {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items()},
        )
        hashes = {"tensors": digest, "vocabularies": terms_hash(vocabularies)}
        settings = self.settings.model_copy(update={"vocabularies": vocabularies, "hashes": hashes})
        write_json(folder / LINEAR_FILE, settings.model_dump(mode="json"))

    @classmethod
    def load(
        cls, folder: Path, base: BaseReader | None = None, feature_runs: Sequence[Reader] = ()
    ) -> Self:
        """What `save` wrote; `base` and `teachers` read the texts if it was fitted with them."""
        settings = read_settings(folder)
        tensors = load_tensors(folder / TENSORS_FILE, settings.hashes.get("tensors"))
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        names = {"weights", "bias", "mean", "scale"}
        terms = settings.vocabularies
        if terms is not None:
            names |= {f"idf.{name}" for name in terms}
        read = settings.base_columns + sum(settings.run_columns)
        columns = read + sum(map(len, (terms or {}).values()))
        if set(arrays) != names or arrays["weights"].shape != (columns, settings.classes):
            raise CorruptError(
                f"{folder / TENSORS_FILE} does not belong to {LINEAR_FILE}.",
                expected=f"{', '.join(sorted(names))}; weights for {columns:,} features",
                found=", ".join(f"{name} {array.shape}" for name, array in arrays.items()),
            )
        if settings.base_columns != (base.columns if base is not None else 0):
            raise CorruptError(
                f"{folder / LINEAR_FILE} does not belong to the base beside it.",
                expected=f"{settings.base_columns} features of a base",
                found=str(base.columns) if base is not None else "no base",
            )
        if settings.run_columns != (found := [feature_run.columns for feature_run in feature_runs]):
            raise CorruptError(
                f"{folder / LINEAR_FILE} does not belong to the teachers beside it.",
                expected=f"teachers with {settings.run_columns} classes",
                found=f"{found}",
            )
        tfidf = None
        if terms is not None:
            tfidf = Tfidf(terms, {name: arrays[f"idf.{name}"] for name in terms})
        return cls(
            settings.model_copy(update={"vocabularies": None, "hashes": {}}),
            tfidf=tfidf,
            base=base,
            feature_runs=feature_runs,
            mean=arrays["mean"],
            scale=arrays["scale"],
            weights=arrays["weights"],
            bias=arrays["bias"],
        )


def fit_linear(
    examples: Sequence[Example],
    labels: list[str],
    *,
    tfidf: bool,
    base: RunDirectory | BaseReader | None,
    feature_runs: Sequence[Reader] = (),
    auxiliary: AuxiliaryData | None = None,
    seed: int,
) -> LinearClassifier:
    """A linear classifier on labelled texts; a `FeatureCache` as base reads each text once."""
    if not tfidf and base is None and not feature_runs:
        raise RecipeError(
            "There are no features to learn from.",
            expected="TF-IDF, the features of a base, what a teacher says, or all of them",
            hint="leave out --no-tfidf, or name a base with --from RUN or a --features-from RUN",
        )
    return LinearClassifier.fit(
        [example.text for example in examples],
        label_indices(labels, [example.label for example in examples]),
        len(labels),
        use_tfidf=tfidf,
        base=FeatureCache(base) if isinstance(base, RunDirectory) else base,
        feature_runs=feature_runs,
        auxiliary=auxiliary,
        seed=seed,
    )


def majority(targets: np.ndarray, classes: int) -> np.ndarray:
    """Each class's share of the training texts [classes]: what one knows without reading."""
    counts = np.bincount(targets, minlength=classes)
    probabilities: np.ndarray = counts / counts.sum()
    return probabilities


def _sampled(count: int, seed: int) -> np.ndarray:
    """All texts, or a sample: C is the width of a prior and does not grow with the texts."""
    if count <= GRAM_TEXTS:
        return np.arange(count)
    return np.sort(rng(seed, "choosing").choice(count, GRAM_TEXTS, replace=False))
