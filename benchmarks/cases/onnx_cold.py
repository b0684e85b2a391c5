"""One text labelled by a new process with an exported model, in int8; see cold.py."""

from __future__ import annotations

from benchmarks.cases import GREFFE
from benchmarks.cases.cold import classifier, predict_command
from benchmarks.settings import Settings
from benchmarks.timing import Contender, timed_command


def exported(settings: Settings) -> Contender:
    """Build the contender; a first call warms up."""
    import greffe

    out = settings.folder("onnx-cold") / "exported"
    greffe.export(classifier(settings), out, format="onnx-int8", overwrite=True)
    return timed_command(predict_command(out))


CONTENDERS = {GREFFE: exported}
