"""The manifest of an exported folder: what it is, where it came from, and the hash of each file.

export.json           this manifest, written last
README.md             the model card
model.onnx            tokens → classes, features or the next token
tokenizer.json        a plain file of the `tokenizers` library
linear.onnx, terms.json   a linear classifier: features and terms → classes
feature_runs/0, 1, …  exported runs whose class scores are features of the linear classifier
config.json, model.safetensors …  the same in Hugging Face format

Knows neither torch nor onnx.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from greffe.config.bounds import CalibrationTemperature, Fraction
from greffe.config.recorded import Count, Moment
from greffe.config.spec import Spec
from greffe.errors import CorruptError
from greffe.storage import file_hash, read_model

EXPORT_FILE = "export.json"
MODEL_FILE = "model.onnx"
LINEAR_GRAPH_FILE = "linear.onnx"
TERMS_FILE = "terms.json"
TOKENIZER_FILE = "tokenizer.json"
FEATURE_RUNS = "feature_runs"

ExportFormat = Literal["onnx", "onnx-int8", "huggingface"]
Task = Literal["classification", "features", "next_token"]


def _check_inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError(f"{name!r} is not a file inside the folder")
    return name


InsideFolder = Annotated[str, AfterValidator(_check_inside)]


class TextInput(Spec):
    """How a text becomes a row of tokens."""

    context: int = Field(ge=3)
    """Most tokens of a row, with those around the text."""
    prefix: list[Count]
    """Ids before a text."""
    suffix: list[Count]
    """Ids after it."""
    empty: Count
    """The id that a text without any token is read as."""
    pad: Count
    """The id of padding."""


class LinearInput(Spec):
    """What the linear classifier reads of a text."""

    blocks: dict[str, Count]
    """Number of terms of each TF-IDF block."""
    base_columns: Count
    """Features of the base in model.onnx."""
    run_columns: list[Count]
    """Classes of each feature run."""


class Int8Check(Spec):
    """What quantization changed on labelled texts."""

    texts: Count
    fp32: Fraction
    """Accuracy in fp32."""
    int8: Fraction
    """Accuracy in int8."""


class ExportManifest(Spec):
    """The content of export.json."""

    format: Literal[1] = 1
    kind: ExportFormat
    task: Task
    labels: list[str] = Field(default_factory=list)
    run: str
    """Name of the exported run."""
    weights: str | None = None
    """Hash of its weights."""
    created: Moment
    greffe: str
    """Version that wrote the folder."""
    opset: Count | None = None
    """Of the ONNX operators."""
    text: TextInput | None = None
    """Of model.onnx; None: the folder has none."""
    linear: LinearInput | None = None
    """Of a linear classifier."""
    temperature: CalibrationTemperature | None = None
    """What logits are divided by before they become probabilities; None: nothing."""
    int8: Int8Check | None = None
    """None: not quantized, or not checked."""
    transformers_class: str | None = None
    """Class that opens the folder in transformers."""
    needs_remote_code: bool = False
    """Whether transformers must be allowed to run the modelling file in the folder."""
    files: dict[InsideFolder, str]
    """SHA-256 of every other file but the model card."""


def is_export(folder: Path) -> bool:
    """Return whether a folder is one that greffe export wrote for onnxruntime."""
    path = folder / EXPORT_FILE
    return path.is_file() and _read(path).kind != "huggingface"


def open_export(folder: Path) -> ExportManifest:
    """Return the manifest of an exported folder, once every file is what was written."""
    manifest = _read(folder / EXPORT_FILE)
    for name, digest in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise CorruptError(
                f"{path} is missing.",
                expected=f"the file that {EXPORT_FILE} lists",
                found="no such file",
                hint="copy the whole folder again, or repeat greffe export",
            )
        if (found := file_hash(path)) != digest:
            raise CorruptError(
                f"{path} was changed or is damaged.",
                expected=f"SHA-256 {digest[:12]}…, as in {EXPORT_FILE}",
                found=f"{found[:12]}…",
                hint="copy the folder again, or repeat greffe export",
            )
    return manifest


def _read(path: Path) -> ExportManifest:
    return read_model(
        ExportManifest, path, "the manifest of an exported folder", "repeat greffe export"
    )
