"""A run → the files of an exported folder: graphs, tokenizer, terms, the parts of linear runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from greffe import __version__
from greffe.baselines.linear_classifier import LinearClassifier
from greffe.baselines.linear_runs import feature_runs_of, load_linear
from greffe.data.portable_tokenizer import portable_tokenizer
from greffe.data.tokenizer import Tokenizer
from greffe.errors import InputError, RunError
from greffe.interop.export_manifest import (
    EXPORT_FILE,
    FEATURE_RUNS,
    LINEAR_GRAPH_FILE,
    MODEL_FILE,
    TERMS_FILE,
    TOKENIZER_FILE,
    ExportFormat,
    ExportManifest,
    LinearInput,
    Task,
    TextInput,
)
from greffe.interop.huggingface.hub import is_hub_name
from greffe.interop.onnx.graph import OPSET
from greffe.interop.onnx.linear_graph import linear_graph
from greffe.interop.onnx.session import Session
from greffe.interop.onnx.task_graphs import (
    GraphOptions,
    classification_graph,
    features_graph,
    next_token_graph,
)
from greffe.model.model import Model
from greffe.run import RunDirectory, this_moment
from greffe.storage import file_hash, write_atomic, write_json
from greffe.training.checkpoint import (
    load_classification_tokenizer,
    load_model,
    load_tokenizer,
)

LARGEST_DIFFERENCE = 1e-4
"""Between outputs of the graph and those of torch, relative to their size if that is above 1."""
CHECKED_ROWS = 4
MOST_BYTES = 2_000_000_000
"""Of a graph: the format is a protocol buffer, which ends at 2 GiB."""


@dataclass(frozen=True)
class OnnxOptions:
    """How a run is written."""

    task: Task
    int8: bool = False
    temperature: float | None = None
    """Of a calibrated classifier."""
    opset: int = OPSET
    """Of the operators."""

    @property
    def kind(self) -> ExportFormat:
        """The name of the format."""
        return "onnx-int8" if self.int8 else "onnx"


def write_onnx(run: RunDirectory, folder: Path, options: OnnxOptions) -> ExportManifest:
    """Write the graphs of a run and what they read; return the manifest, which is not yet saved."""
    if run.manifest().kind == "linear":
        return _write_linear(run, folder, options)
    if options.task == "features":
        tokenizer = load_classification_tokenizer(run)
        causal = "bidirectional" not in run.manifest().directions
    else:
        tokenizer = load_tokenizer(run)
        causal = options.task == "next_token" or run.manifest().direction == "causal"
    model = load_model(run).eval()
    graph_options = _graph_options(run, options)
    text = _write_model(model, tokenizer, folder, options, graph_options, causal=causal)
    return _manifest(run, folder, options, [MODEL_FILE, TOKENIZER_FILE], text=text)


def _write_linear(run: RunDirectory, folder: Path, options: OnnxOptions) -> ExportManifest:
    classifier = load_linear(run)
    runs = feature_runs_of(run)
    if options.int8 and classifier.base is None and not runs:
        raise InputError(
            f"{run.name} is a linear model of terms, which is not quantized.",
            expected="a run with a base, or --format onnx",
            found="--format onnx-int8",
            hint="use --format onnx",
        )
    files, text = [LINEAR_GRAPH_FILE], None
    graph_options = _graph_options(run, options)
    if (base := classifier.base) is not None:
        inner = OnnxOptions("features", int8=options.int8, opset=options.opset)
        text = _write_model(
            *(base.model, base.tokenizer, folder, inner, graph_options), causal=base.causal
        )
        files += [MODEL_FILE, TOKENIZER_FILE]
    if classifier.tfidf is not None:
        write_json(folder / TERMS_FILE, classifier.tfidf.vocabularies)
        files.append(TERMS_FILE)
    for number, feature_run in enumerate(runs):
        files.append(_write_feature_run(feature_run, folder, number, options))
    temperature = options.temperature or 1.0
    write_atomic(
        folder / LINEAR_GRAPH_FILE,
        linear_graph(classifier, temperature=temperature, options=graph_options),
    )
    return _manifest(run, folder, options, files, text=text, linear=_linear_input(classifier))


def _write_feature_run(run: RunDirectory, folder: Path, number: int, options: OnnxOptions) -> str:
    """Write a run whose class scores are features; return the name of its manifest."""
    inside = folder / FEATURE_RUNS / str(number)
    inside.mkdir(parents=True)
    has_layers = run.manifest().weights is not None or bool(run.manifest().feature_runs)
    int8 = options.int8 and has_layers
    inner = OnnxOptions("classification", int8=int8, opset=options.opset)
    write_json(inside / EXPORT_FILE, write_onnx(run, inside, inner).model_dump(mode="json"))
    return f"{FEATURE_RUNS}/{number}/{EXPORT_FILE}"


def _linear_input(classifier: LinearClassifier) -> LinearInput:
    terms = {} if classifier.tfidf is None else classifier.tfidf.vocabularies
    return LinearInput(
        blocks={name: len(words) for name, words in terms.items()},
        base_columns=classifier.settings.base_columns,
        run_columns=classifier.settings.run_columns,
    )


def _write_model(
    model: Model,
    tokenizer: Tokenizer,
    folder: Path,
    options: OnnxOptions,
    graph_options: GraphOptions,
    *,
    causal: bool,
) -> TextInput:
    """Write a graph that reads tokens, and its tokenizer; the graph is compared with the model."""
    match options.task:
        case "classification":
            temperature = options.temperature or 1.0
            content = classification_graph(
                model, causal=causal, temperature=temperature, options=graph_options
            )
        case "features":
            content = features_graph(model, causal=causal, options=graph_options)
        case "next_token":
            content = next_token_graph(model, graph_options)
    write_atomic(folder / MODEL_FILE, content)
    if not options.int8:
        check_outputs(model, folder / MODEL_FILE, options.task, causal=causal)
    write_atomic(folder / TOKENIZER_FILE, portable_tokenizer(tokenizer).encode())
    return TextInput(
        context=model.spec.context,
        prefix=list(tokenizer.prefix),
        suffix=list(tokenizer.suffix),
        empty=tokenizer.sos,
        pad=tokenizer.pad,
    )


@torch.inference_mode()
def check_outputs(model: Model, graph: Path, task: Task, *, causal: bool) -> None:
    """Raise an error unless onnxruntime computes what torch does, on rows of random tokens."""
    draw = np.random.default_rng(0)
    lengths = draw.integers(1, model.spec.context + 1, CHECKED_ROWS)
    ids = draw.integers(0, model.vocab, (CHECKED_ROWS, int(lengths.max())))
    mask = np.arange(ids.shape[1]) < lengths[:, None]
    tokens, counts = torch.from_numpy(ids), torch.from_numpy(lengths)
    hidden = model.base(tokens, causal=causal, lengths=counts)
    match task:
        case "classification":
            name = "logits"
            expected = model.scores(hidden, "classification", counts, tokens)
        case "features":
            name, expected = "features", hidden[torch.arange(len(ids)), counts - 1]
        case "next_token":
            last = hidden[torch.arange(len(ids)), counts - 1]
            name, expected = "logits", model.scores(last, "next_token")
    inputs = {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
    found = Session(graph).run(name, inputs)[:, -expected.shape[1] :]
    exact = expected.numpy()
    difference = float(np.abs(found - exact).max() / max(1.0, np.abs(exact).max()))
    if not difference <= LARGEST_DIFFERENCE:
        raise RunError(
            "The exported graph does not compute what the run does.",
            expected=f"a difference of at most {LARGEST_DIFFERENCE:g}",
            found=f"{difference:.2g}",
            hint="please report this with the run's recipe.toml; another onnxruntime may help",
        )


def export_manifest(
    run: RunDirectory, folder: Path, *, task: Task, files: Sequence[str], **fields: Any
) -> ExportManifest:
    """Return the manifest of a folder with these files, written from a run."""
    return ExportManifest(
        task=task,
        labels=run.manifest().labels if task == "classification" else [],
        run=without_folders(run.name),
        weights=run.manifest().weights,
        created=this_moment(),
        greffe=__version__,
        files={name: file_hash(folder / name) for name in files},
        **fields,
    )


def _manifest(
    run: RunDirectory, folder: Path, options: OnnxOptions, files: list[str], **inputs: Any
) -> ExportManifest:
    return export_manifest(
        run,
        folder,
        task=options.task,
        files=files,
        kind=options.kind,
        opset=options.opset,
        temperature=options.temperature,
        **inputs,
    )


def without_folders(name: str) -> str:
    """Return the name of a run or source without the folders of this machine."""
    return name if is_hub_name(name) else Path(name).resolve().name


def _graph_options(run: RunDirectory, options: OnnxOptions) -> GraphOptions:
    metadata = {"greffe": __version__, "run": without_folders(run.name)}
    return GraphOptions(int8=options.int8, opset=options.opset, metadata=metadata)
