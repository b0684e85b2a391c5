"""`load`: a run or an exported model by its folder. An exported one is opened without torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from greffe.config.option_groups import flat_keywords
from greffe.config.options import Labelling
from greffe.errors import InputError
from greffe.interop.export_manifest import is_export

if TYPE_CHECKING:
    from greffe.api.exported import ExportedModel
    from greffe.api.runs import Run


@flat_keywords
def load(path: str | Path, *, computing: Labelling) -> Run | ExportedModel:
    """Open a run, a shipped base by its name, such as `greffe-fr`, a source or an exported model.

    A source is a base in another format, such as hf:owner/name, which is imported first. A folder
    that `export` wrote as ONNX is an ExportedModel, which computes without torch.
    """
    if not is_export(Path(path)):
        # Late: torch takes longer to import than an exported model to answer.
        from greffe.api.runs import load_run

        return load_run(path, computing=computing)
    from greffe.api.exported import ExportedModel

    if computing.precision != "auto" or computing.device not in ("auto", "cpu"):
        raise InputError(
            f"{path} is an exported model: it computes on the CPU, as it was exported.",
            expected="no other device, and no precision",
            found=f"device {computing.device}, precision {computing.precision}",
            hint="export the run again with --format onnx or onnx-int8",
        )
    return ExportedModel(path)
