"""Stack: TF-IDF, a base's features and what teachers say in one linear model, as a run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from greffe.data.tables import label_order
from greffe.data.text import ReadOptions
from greffe.linear.classifier import fit_linear
from greffe.linear.runs import open_teacher, require_labels, write_linear_run
from greffe.output_folder import OutputFolder
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.stages.companions import open_companions
from greffe.stages.labelled import Examples, check_classes, data_hash, load_examples
from greffe.stages.teaching import learnt_earlier, say_what_teachers_know
from greffe.training.compute import set_up_compute


def stack(
    data: Examples,
    out: str | Path,
    *,
    parent: RunDirectory | None = None,
    teachers: Sequence[RunDirectory] = (),
    also: Sequence[Examples] = (),
    tfidf: bool = True,
    seed: int = 0,
    options: ReadOptions | None = None,
    overwrite: bool = False,
) -> RunDirectory:
    """Fit one linear model; its penalty is chosen by cross-validation inside the texts.

    `also` are labelled texts of others, learnt from beside one's own.
    """
    threads = set_up_compute()
    options = options or ReadOptions()
    for teacher in teachers:
        require_labels(teacher)
    examples = load_examples(data, options)
    labels = label_order(example.label for example in examples)
    check_classes(labels, examples)
    if parent is not None and parent.manifest().kind == "classifier":
        notice(
            f"{parent.name} has learnt labels already: if these texts were among its own, the "
            "cross-validated accuracy flatters"
        )
    beside = open_companions(also, labels, options, known=examples)
    earlier = {} if parent is None else learnt_earlier(parent)
    hashes = {"train": data_hash(examples), **beside.hashes, **earlier}
    # Opened before the folder is: a damaged teacher must not cost the run that is replaced.
    asked = [open_teacher(teacher) for teacher in teachers]
    say_what_teachers_know(teachers, [hashes["train"]])
    sources = [table for table in (data, *also) if isinstance(table, str | Path)]
    sources += [run.path for run in (parent, *teachers) if run is not None]
    with OutputFolder(out, overwrite=overwrite, sources=sources) as folder:
        began = time.perf_counter()
        classifier = fit_linear(
            examples,
            labels,
            tfidf=tfidf,
            base=parent,
            teachers=asked,
            companions=beside.companions,
            seed=seed,
        )
        settings = classifier.settings
        run = write_linear_run(
            folder.path,
            classifier,
            labels,
            parent=parent,
            teachers=teachers,
            threads=threads,
            data=hashes,
            result={
                "texts": settings.texts,
                "companions": settings.companions,
                "seconds": round(time.perf_counter() - began, 1),
                "c": settings.c,
                "base_weight": settings.base_weight,
                "features": len(classifier.weights),
                "tfidf_features": classifier.tfidf.columns if classifier.tfidf else 0,
                "accuracy": settings.accuracy,
                "log_loss": settings.log_loss,
            },
        )
    notice(
        f"stack: {settings.texts:,} texts"
        + (f" beside {settings.companions:,} of others" if settings.companions else "")
        + f", {len(classifier.weights):,} features, C = {settings.c:g}"
        + (
            f", cross-validated accuracy {settings.accuracy:.1%}"
            if settings.accuracy is not None
            else ", too few texts to cross-validate"
        )
    )
    run.say_where()
    return run
