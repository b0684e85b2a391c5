"""The verb export: a run in the format of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from greffe.cli import flags
from greffe.config.bounds import Opset
from greffe.config.option_groups import Without
from greffe.config.options import Output, Reading

Format = Literal["onnx", "onnx-int8", "huggingface"]
Task = Literal["classification", "features", "next-token"]


@flags.expand_groups
def export(
    run: flags.RunPath,
    output: Annotated[Output, Without("resume")],
    reading: Annotated[Reading, Without("documents")],
    format_: Annotated[
        Format, typer.Option("--format", help="What will open it: onnxruntime, or transformers.")
    ] = "onnx",
    task: Annotated[
        Task | None,
        typer.Option("--task", help="What an ONNX graph computes; default: what the run is for."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Labelled texts on which int8 is compared with fp32."),
    ] = None,
    calibrated: flags.Calibrated = False,
    opset: Annotated[
        int, flags.number(Opset, help="Version of the ONNX operators, 20 or newer.")
    ] = 20,
    push: Annotated[
        str | None,
        typer.Option("--push", help="Upload the folder to the Hugging Face Hub, as owner/name."),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="With --push: a new repository is private.")
    ] = False,
) -> None:
    """Write a run as ONNX or in Hugging Face format.

    Other programs open the folder without greffe. greffe predict and greffe evaluate open one with
    ONNX graphs too, without torch.
    """
    from greffe.api.exporting import export as export_run

    export_run(
        run,
        output=output,
        reading=reading,
        format=format_,
        task=None if task is None else task.replace("-", "_"),
        data=data,
        calibrated=calibrated,
        opset=opset,
        push=push,
        private=private,
    )
