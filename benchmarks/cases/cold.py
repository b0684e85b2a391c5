"""One text labelled by a new process: `greffe predict RUN TEXT`, from the shell to the answer."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.cases import GREFFE
from benchmarks.settings import Settings
from benchmarks.timing import Contender, timed_command

TEXT = "Un livre magnifique, que j'ai lu d'une traite."


def classifier(settings: Settings) -> Path:
    """Return a classifier of the shipped base's size."""
    import greffe
    from greffe.samples.reviews import reviews_folder

    out = settings.folder("cold") / "classifier"
    reviews = reviews_folder() / "train.tsv"
    greffe.finetune("greffe-fr", data=reviews, out=out, budget="1steps", overwrite=True)
    return out


def predict_command(model: Path) -> list[str]:
    """Return the command that labels a text."""
    return [str(Path(sys.executable).with_name("greffe")), "--quiet", "predict", str(model), TEXT]


def greffe(settings: Settings) -> Contender:
    """Build the contender; a first call warms up."""
    return timed_command(predict_command(classifier(settings)))


CONTENDERS = {GREFFE: greffe}
