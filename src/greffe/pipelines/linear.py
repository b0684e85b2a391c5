"""greffe linear: fit TF-IDF, a base's features and class scores of feature runs, as one run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from greffe.baselines.features import BaseReader, FeatureCache
from greffe.baselines.latent import LatentSemantics, require_enough, sample_texts
from greffe.baselines.linear_classifier import LinearClassifier, check_features, fit_linear
from greffe.baselines.linear_runs import open_feature_run, require_labels, write_linear_run
from greffe.config.options import Computing, Output, Reading, Tables
from greffe.data.tables import label_order
from greffe.data.text import find_sources, read_documents
from greffe.output_folder import OutputFolder
from greffe.pipelines.auxiliary import open_auxiliary
from greffe.pipelines.labelled import check_classes, data_hash, load_examples, table_paths
from greffe.pipelines.model_card import write_model_card
from greffe.pipelines.provenance import earlier_data, warn_if_trained_on
from greffe.progress import notice
from greffe.run import RunDirectory
from greffe.training.compute import set_up_compute
from greffe.training.device import choose_device


def linear(
    tables: Tables,
    output: Output,
    *,
    parent: RunDirectory | None = None,
    feature_runs: Sequence[RunDirectory] = (),
    tfidf: bool = True,
    unlabelled: Sequence[str | Path] = (),
    latent: LatentSemantics | None = None,
    seed: int = 0,
    computing: Computing = Computing(),
    reading: Reading = Reading(),
) -> RunDirectory:
    """Fit one linear model; its penalty is chosen by cross-validation inside the training texts.

    `latent` is an analysis of texts without labels that is known already, instead of `unlabelled`.
    """
    threads = set_up_compute()
    choose_device(computing.device)
    runs = [run.path for run in (parent, *feature_runs) if run is not None]
    sources = [*table_paths(tables), *runs, *unlabelled]
    with OutputFolder(
        output.out, overwrite=output.overwrite, resumes="never", sources=sources
    ) as folder:
        for feature_run in feature_runs:
            require_labels(feature_run)
        examples = load_examples(tables.data, reading)
        labels = label_order(example.label for example in examples)
        check_classes(labels, examples)
        _warn_if_labelled(parent)
        auxiliary = open_auxiliary(tables.aux_data, labels, reading, known=examples)
        check_features(
            [example.text for example in examples],
            tfidf=tfidf,
            has_others=bool(runs or unlabelled or latent),
            auxiliary=auxiliary.auxiliary,
        )
        hashes = {"train": data_hash(examples), **auxiliary.hashes, **earlier_data(parent)}
        base = None if parent is None else FeatureCache(BaseReader.of(parent, computing))
        readers = [open_feature_run(feature_run, computing) for feature_run in feature_runs]
        warn_if_trained_on(feature_runs, [hashes["train"]])
        if unlabelled:
            latent = analyse_sources(unlabelled, reading, seed)
        folder.begin()
        began = time.perf_counter()
        classifier = fit_linear(
            examples,
            labels,
            tfidf=tfidf,
            base=base,
            feature_runs=readers,
            auxiliary=auxiliary.auxiliary,
            latent=latent,
            seed=seed,
        )
        run = write_linear_run(
            folder.path,
            classifier,
            labels,
            parent=parent,
            feature_runs=feature_runs,
            threads=threads,
            data=hashes,
            result=_result(classifier, time.perf_counter() - began),
        )
        write_model_card(run)
    _summarize(classifier)
    notice(f"run written to {run.path}")
    return run


def analyse_sources(sources: Sequence[str | Path], reading: Reading, seed: int) -> LatentSemantics:
    """Return the latent semantic analysis of texts without labels."""
    options = Reading(documents=reading.documents, encoding=reading.encoding)
    documents = (
        text for source in find_sources(sources) for text in read_documents(source, options)
    )
    texts = sample_texts(documents, seed)
    require_enough(texts)
    began = time.perf_counter()
    latent = LatentSemantics.fit(texts, seed)
    notice(
        f"latent semantic analysis: {len(texts):,} texts without labels, {latent.columns} "
        f"dimensions, {time.perf_counter() - began:.0f} s"
    )
    return latent


def _warn_if_labelled(parent: RunDirectory | None) -> None:
    if parent is not None and parent.manifest().kind == "classifier":
        notice(
            f"{parent.name} was trained on labels: if these texts were among them, the "
            "cross-validated accuracy is optimistic"
        )


def _result(classifier: LinearClassifier, seconds: float) -> dict[str, object]:
    settings = classifier.settings
    return {
        "texts": settings.texts,
        "auxiliary": settings.auxiliary,
        "latent": settings.latent,
        "seconds": round(seconds, 1),
        "c": settings.c,
        "base_weight": settings.base_weight,
        "features": len(classifier.weights),
        "tfidf_features": classifier.tfidf.columns if classifier.tfidf else 0,
        "accuracy": settings.accuracy,
        "log_loss": settings.log_loss,
    }


def _summarize(classifier: LinearClassifier) -> None:
    settings = classifier.settings
    auxiliary = f" and {settings.auxiliary:,} auxiliary texts" if settings.auxiliary else ""
    accuracy = (
        "too few texts to cross-validate"
        if settings.accuracy is None
        else f"cross-validated accuracy {settings.accuracy:.1%}"
    )
    notice(
        f"linear: {settings.texts:,} texts{auxiliary}, {len(classifier.weights):,} features, "
        f"C = {settings.c:g}, {accuracy}"
    )
