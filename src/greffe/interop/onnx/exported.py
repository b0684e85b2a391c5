"""An exported folder in use: texts → probabilities, features or next tokens; knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer as Backend

from greffe.baselines.terms import TermCounter
from greffe.baselines.tfidf import BLOCKS
from greffe.config.options import LongTexts
from greffe.data.foreign_backend import guarded
from greffe.data.padding import group_by_length, pad_ids
from greffe.data.tables import text_blocks
from greffe.data.tokenizer import check_texts, not_text
from greffe.errors import CorruptError, InputError
from greffe.inference.prediction import (
    Prediction,
    centered_logs,
    mean_over_windows,
    mean_vectors,
    split_windows,
)
from greffe.interop.export_manifest import (
    EXPORT_FILE,
    FEATURE_RUNS,
    LINEAR_GRAPH_FILE,
    MODEL_FILE,
    TERMS_FILE,
    TOKENIZER_FILE,
    ExportManifest,
    LinearInput,
    Task,
    TextInput,
    open_export,
)
from greffe.interop.onnx.session import Session, in_parallel
from greffe.storage import read_file, read_json

BATCH_TOKENS = 1024
"""Larger batches leave the processor's cache."""
LINEAR_TEXTS = 64
"""Texts that the linear classifier reads at once: it holds the weights of all of their terms."""
PURPOSES: dict[Task, str] = {
    "classification": "predict labels",
    "features": "compute features",
    "next_token": "continue a text",
}


class ExportedFolder:
    """A folder that greffe export wrote for onnxruntime."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder)
        self.manifest: ExportManifest = open_export(self.path)
        if self.manifest.task == "classification" and len(self.manifest.labels) < 2:
            raise self._damaged("two labels or more", f"{len(self.manifest.labels)}")
        if self.manifest.text is None and (
            self.manifest.linear is None or self.manifest.linear.base_columns
        ):
            raise self._damaged("how the model reads text", "nothing")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @property
    def labels(self) -> list[str]:
        """The classes, in the order of the outputs; empty if the model predicts none."""
        return self.manifest.labels

    @property
    def context(self) -> int | None:
        """Most tokens of a window; None for a linear classifier, which reads whole texts."""
        if self.manifest.linear is not None or self.manifest.text is None:
            return None
        return self.manifest.text.context

    # --- what it does ---

    def predictions(self, texts: Iterable[str], long: LongTexts) -> Iterator[Prediction]:
        """Yield predictions one by one; texts are read in blocks, never all at once."""
        self._require("classification")
        if self._linear is not None and long != "windows":
            raise InputError(
                "A linear model reads the whole text: --long has no effect on it.",
                hint="leave it out",
            )
        return self._predictions(texts, long)

    def features(self, texts: Sequence[str]) -> np.ndarray:
        """Return one vector per text [N, columns], float32; long texts are read in windows."""
        self._require("features")
        return self._base_features(texts)

    def next_tokens(self, text: str, *, top: int = 10) -> list[tuple[str, float]]:
        """Return the most likely pieces after a text, as in the vocabulary, and their chances."""
        self._require("next_token")
        reader = self._reader
        ids = reader.begin(text)
        mask = np.ones((1, len(ids)), np.int64)
        inputs = {"input_ids": ids[None], "attention_mask": mask}
        (chances,) = reader.session.run("probabilities", inputs)
        best = np.argsort(-chances, kind="stable")[:top]
        return [(reader.piece(int(id)), float(chances[id])) for id in best]

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """Return class probabilities [N, classes], float64, in the order of the labels."""
        self._require("classification")
        if self._linear is not None:
            return self._linear.probabilities(texts)
        return self._mean_probabilities(self._reader.run("logits", texts, "windows"))

    # --- its parts ---

    @cached_property
    def _reader(self) -> TextReader:
        assert self.manifest.text is not None
        return TextReader(self.path, self.manifest.text)

    @cached_property
    def _linear(self) -> LinearModel | None:
        linear = self.manifest.linear
        return None if linear is None else LinearModel(self, linear)

    def _base_features(self, texts: Sequence[str]) -> np.ndarray:
        read = self._reader.run("features", texts, "windows")
        return mean_vectors(read.values, read.windows)

    def _mean_probabilities(self, read: Read) -> np.ndarray:
        if not read.tokens:
            return np.empty((0, len(self.labels)))
        logits = self._check_classes(read.values).astype(np.float64)
        logits /= self.manifest.temperature or 1.0
        return mean_over_windows(softmax(logits), read.windows)

    def _predictions(self, texts: Iterable[str], long: LongTexts) -> Iterator[Prediction]:
        for block in text_blocks(texts):
            check_texts(block)
            if self._linear is not None:
                for row in self._linear.probabilities(block):
                    yield Prediction.of(self.labels, row)
                continue
            read = self._reader.run("logits", block, long)
            rows = self._mean_probabilities(read)
            for row, windows, tokens in zip(rows, read.windows, read.tokens, strict=True):
                cut = tokens - sum(map(len, windows))
                yield Prediction.of(self.labels, row, windows=len(windows), cut=cut)

    def _damaged(self, expected: str, found: str) -> CorruptError:
        return CorruptError(
            f"{self.path / EXPORT_FILE} does not belong to its folder.",
            expected=expected,
            found=found,
            hint="copy the folder again, or repeat greffe export",
        )

    def _check_classes(self, logits: np.ndarray) -> np.ndarray:
        """Return the logits if there is one for each label, and all are finite."""
        if logits.shape[1] != len(self.labels):
            raise self._damaged(f"{logits.shape[1]} labels", f"{len(self.labels)}")
        if not np.isfinite(logits).all():  # they would be shown as results
            raise CorruptError(
                "The outputs of the model are not finite.",
                expected="weights that a training ended with",
                found="weights that are too large to compute with",
                hint="train the model again with a lower learning rate, and export it again",
            )
        return logits

    def _require(self, task: Task) -> None:
        if self.manifest.task != task:
            raise InputError(
                f"{self.path} cannot {PURPOSES[task]}.",
                expected=f"a folder exported for {task.replace('_', ' ')}",
                found=f"one exported for {self.manifest.task.replace('_', ' ')}",
                hint=f"greffe export RUN --task {task.replace('_', '-')}",
            )


@dataclass(frozen=True)
class Read:
    """What a graph returned for some texts."""

    values: np.ndarray
    """[windows of all texts, columns]"""
    windows: list[list[np.ndarray]]
    """Ids of the windows of each text."""
    tokens: list[int]
    """Tokens of each text, also of what was cut."""


class TextReader:
    """A graph that reads tokens, and its tokenizer."""

    def __init__(self, folder: Path, spec: TextInput) -> None:
        self.spec = spec
        self.session = Session(folder / MODEL_FILE)
        path = folder / TOKENIZER_FILE
        content = read_file(path, "a tokenizer")
        self._backend = guarded(f"{path} cannot be read.", Backend.from_str, content.decode())
        # Text that spells a special token is text. This setting is not part of the file.
        self._backend.encode_special_tokens = True

    def run(self, output: str, texts: Sequence[str], long: LongTexts) -> Read:
        """Return one output of the graph for each window of the texts."""
        longest = self.spec.context - 2  # as in greffe, also where fewer ids are around a text
        try:
            encoded = self._backend.encode_batch_fast(list(texts), add_special_tokens=False)
        except (TypeError, UnicodeEncodeError):
            raise not_text(*texts) from None
        ids = [np.array(each.ids, np.int64) for each in encoded]
        windows = [split_windows(each, longest, long) for each in ids]
        rows = [self._row(window) for parts in windows for window in parts]
        batches = group_by_length(rows, BATCH_TOKENS)

        def work(batch: list[int]) -> np.ndarray:
            padded, lengths = pad_ids([rows[index] for index in batch], self.spec.pad)
            mask = np.arange(padded.shape[1]) < lengths[:, None]
            inputs = {"input_ids": padded, "attention_mask": mask.astype(np.int64)}
            return self.session.run(output, inputs)

        if not rows:
            return Read(np.empty((0, 1), np.float32), windows, [])
        found = in_parallel(work, batches)
        result = np.empty((len(rows), found[0].shape[1]), np.float32)
        for batch, part in zip(batches, found, strict=True):
            result[batch] = part
        return Read(result, windows, [len(each) for each in ids])

    def begin(self, text: str) -> np.ndarray:
        """Return the ids of a text that is continued; of a long one the last ones that fit."""
        ids = self._backend.encode(text, add_special_tokens=False).ids
        room = self.spec.context - len(self.spec.prefix)
        row = [*self.spec.prefix, *ids[max(0, len(ids) - room) :]]
        return np.array(row or [self.spec.empty], np.int64)

    def piece(self, id: int) -> str:
        """Return the piece with this id as in the vocabulary."""
        return self._backend.id_to_token(id) or ""

    def _row(self, ids: np.ndarray) -> np.ndarray:
        row = [*self.spec.prefix, *ids.tolist(), *self.spec.suffix]
        return np.array(row or [self.spec.empty], np.int64)


class LinearModel:
    """A linear classifier over counted terms, a base's features and the scores of other models."""

    def __init__(self, owner: ExportedFolder, linear: LinearInput) -> None:
        self._owner = owner
        self._session = Session(owner.path / LINEAR_GRAPH_FILE)
        self._counters = _open_terms(owner.path, linear)
        self._has_base = linear.base_columns > 0
        self._feature_runs = [
            ExportedFolder(owner.path / FEATURE_RUNS / str(number))
            for number in range(len(linear.run_columns))
        ]

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """Return class probabilities [N, classes], float64."""
        blocks = [texts[i : i + LINEAR_TEXTS] for i in range(0, len(texts), LINEAR_TEXTS)]
        features = self._features(texts)
        inputs: list[dict[str, Any]] = []
        for number, block in enumerate(blocks):
            row: dict[str, Any] = {}
            for name, counter in self._counters.items():
                row[f"terms_{name}"], row[f"counts_{name}"] = counter.count(block)
            if features is not None:
                start = number * LINEAR_TEXTS
                row["features"] = features[start : start + len(block)]
            inputs.append(row)
        found = [self._session.run("logits", row) for row in inputs]
        if not found:
            return np.empty((0, len(self._owner.labels)))
        logits = self._owner._check_classes(np.concatenate(found)).astype(np.float64)
        return softmax(logits / (self._owner.manifest.temperature or 1.0))

    def _features(self, texts: Sequence[str]) -> np.ndarray | None:
        parts = [self._owner._base_features(texts)] if self._has_base else []
        for run in self._feature_runs:
            parts.append(centered_logs(run.probabilities(texts)))
        return np.hstack(parts) if parts else None


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return probabilities [N, classes] of logits."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    result: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return result


def _open_terms(folder: Path, linear: LinearInput) -> dict[str, TermCounter]:
    """Return what counts the terms of each TF-IDF block."""
    if not linear.blocks:
        return {}
    path = folder / TERMS_FILE
    terms = read_json(path, "the terms of a linear classifier")
    sizes = (
        {name: len(words) for name, words in terms.items() if _are_terms(words)}
        if isinstance(terms, dict)
        else {}
    )
    if sizes != linear.blocks or not sizes.keys() <= BLOCKS.keys():
        raise CorruptError(
            f"{path} does not belong to the graph.",
            expected=f"terms of {', '.join(linear.blocks)}",
            found=", ".join(sizes) or "none",
        )
    return {name: TermCounter(name, words) for name, words in terms.items()}


def _are_terms(words: Any) -> bool:
    return isinstance(words, list) and all(isinstance(word, str) for word in words)
