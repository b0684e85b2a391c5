"""`export`: a run in the format of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from greffe.api.runs import AnyRun
from greffe.config.option_groups import Without, flat_keywords
from greffe.config.options import Output, Reading
from greffe.interop.export_manifest import ExportFormat, Task
from greffe.interop.huggingface.upload import check_upload, push_to_hub
from greffe.interop.onnx.graph import OPSET
from greffe.machine import memory_errors
from greffe.pipelines.export import export_run
from greffe.pipelines.labelled import Examples, load_examples
from greffe.pipelines.sources import open_source
from greffe.progress import notice


@memory_errors()
@flat_keywords
def export(
    run: AnyRun,
    output: Annotated[Output, Without("resume")],
    *,
    format: ExportFormat = "onnx",
    task: Task | None = None,
    data: Examples | None = None,
    calibrated: bool = False,
    opset: int = OPSET,
    reading: Annotated[Reading, Without("documents")],
    push: str | None = None,
    private: bool = False,
) -> Path:
    """Write a finished run, or a source such as hf:owner/name, for other programs.

    The folder is returned.

    `onnx` and `onnx-int8` are for onnxruntime, and for greffe without torch; `huggingface` is for
    transformers. A classifier is exported for classification, a language model for features or,
    with `task`, for the next token. `data` are labelled texts on which int8 is compared with fp32.
    With `push`, the folder is uploaded to the Hugging Face Hub as owner/name.
    """
    if push is not None:
        check_upload(push)
    folder = export_run(
        open_source(run),
        output,
        format=format,
        task=task,
        examples=() if data is None else load_examples(data, reading),
        calibrated=calibrated,
        opset=opset,
    )
    if push is not None:
        notice(f"uploaded to {push_to_hub(folder, push, private=private)}")
    return folder
