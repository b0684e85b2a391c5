"""The model card of an exported folder: what it is, and how to use it with and without greffe."""

from __future__ import annotations

from greffe.display import markdown_text
from greffe.interop.export_manifest import (
    LINEAR_GRAPH_FILE,
    MODEL_FILE,
    ExportManifest,
    TextInput,
)
from greffe.interop.onnx.write import without_folders
from greffe.output_folder import CARD_MARK
from greffe.pipelines.model_card import summary, table
from greffe.run import RunDirectory

IN_GREFFE = {
    "classification": """```console
$ greffe predict DIR "A text to label."
```

```python
import greffe

model = greffe.load("DIR")
model.predict(["A text to label."])
```""",
    "features": """```python
import greffe

model = greffe.load("DIR")
model.features(["A text."])  # one vector per text
```""",
    "next_token": """```python
import greffe

model = greffe.load("DIR")
model.next_tokens("The beginning of a text")  # pieces and their probabilities
```""",
}
ALONE = """```python
import numpy as np
import onnxruntime
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("DIR/tokenizer.json")
tokenizer.enable_truncation({context})
tokenizer.enable_padding(pad_id={pad})
session = onnxruntime.InferenceSession("DIR/{file}")
rows = tokenizer.encode_batch(["A text."])
(result,) = session.run(
    ["{output}"],
    {{
        "input_ids": np.array([row.ids for row in rows]),
        "attention_mask": np.array([row.attention_mask for row in rows]),
    }},
)
```"""
TELEMETRY = (
    "Newer packages of onnxruntime report their use to their makers unless the variable "
    "`ORT_DISABLE_TELEMETRY` is 1 before they are imported."
)
LINEAR = (
    f"The graph in `{LINEAR_GRAPH_FILE}` reads counts of terms and features, which greffe computes "
    "with onnxruntime and without torch."
)


def export_card(run: RunDirectory, manifest: ExportManifest) -> str:
    """Return the card of a folder with ONNX graphs, as Markdown."""
    precision = "int8" if manifest.kind == "onnx-int8" else "fp32"
    sections = [
        CARD_MARK,
        f"# {markdown_text(manifest.run)} as ONNX",
        f"{summary(run, without_folders)} Written from a run of greffe, in {precision}.",
        "## Usage",
        "`DIR` is the path of this folder.",
        IN_GREFFE[manifest.task],
        "Without greffe:",
        _alone(manifest),
        TELEMETRY,
        *(["## Quantization", _quantization(manifest)] if precision == "int8" else []),
        "## Origin",
        table(("", ""), _origin(manifest)),
    ]
    return "\n\n".join(sections) + "\n"


def _alone(manifest: ExportManifest) -> str:
    if manifest.linear is not None:
        return LINEAR
    assert isinstance(manifest.text, TextInput)
    return ALONE.format(
        context=manifest.text.context,
        pad=manifest.text.pad,
        file=MODEL_FILE,
        output="features" if manifest.task == "features" else "probabilities",
    )


def _quantization(manifest: ExportManifest) -> str:
    what = "Weights are signed bytes, activations are quantized in each call."
    if manifest.int8 is None:
        return f"{what} The accuracy was not compared with that of fp32."
    check = manifest.int8
    return (
        f"{what} Accuracy on {check.texts:,} labelled texts: {check.int8:.2%}, "
        f"in fp32 {check.fp32:.2%}."
    )


def _origin(manifest: ExportManifest) -> list[tuple[str, str]]:
    rows = [
        ("run", markdown_text(manifest.run)),
        ("weights", manifest.weights),
        ("classes", ", ".join(map(markdown_text, manifest.labels))),
        ("temperature", f"{manifest.temperature:.3g}" if manifest.temperature else None),
        ("opset", str(manifest.opset)),
        ("created", manifest.created),
        ("greffe", manifest.greffe),
    ]
    return [(name, value) for name, value in rows if value]
