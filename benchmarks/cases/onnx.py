"""Classifying reviews with an exported model, in onnxruntime and without torch; see predict.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.cases import (
    GREFFE_INT8,
    ONNX,
    ONNX_INT8,
    PIPELINE,
    PIPELINE_BATCHED,
)
from benchmarks.cases.finetune import RecipeOf
from benchmarks.cases.masked import small_recipe
from benchmarks.cases.predict import (
    BATCH,
    LABELS,
    WARMUP_TEXTS,
    greffe,
    part,
    pipeline,
    synthetic_texts,
)
from benchmarks.settings import Settings
from benchmarks.synthetic import text_tokenizer
from benchmarks.timing import Contender, Sample
from greffe.config.recipe import Recipe
from greffe.data.tokenizer import Tokenizer


def exported(settings: Settings, format_: str, base: RecipeOf = small_recipe) -> Contender:
    """Build the contender with an exported model of new weights."""
    import greffe

    recipe = base(settings.quick)
    watch = settings.stopwatch("fp32" if format_ == "onnx" else "bf16")
    texts, _ = synthetic_texts(settings, recipe, recipe.seed)
    tokenizer = text_tokenizer(texts, recipe.tokenizer.vocab)
    folder = settings.folder(f"{format_}-{recipe.model.layers}")
    run = write_run(folder / "run", recipe, tokenizer)
    model = greffe.load(greffe.export(run, folder / "exported", format=format_, overwrite=True))

    def label(some: list[str]) -> None:
        assert len(model.predict(some, long="cut")) == len(some)

    def run_part(number: int) -> Sample:
        some = part(texts, number)
        with watch:
            label(some)
        return watch.taken().speed(len(some))

    label(texts[:WARMUP_TEXTS])
    return run_part


def write_run(path: Path, recipe: Recipe, tokenizer: Tokenizer) -> Path:
    """Write a finished classifier with new weights."""
    from greffe.model.heads.classification_head import ClassificationHead
    from greffe.model.model import build_model
    from greffe.model.weights import base_hash, save_tensors
    from greffe.run import Manifest, RunDirectory, new_lineage

    head = ClassificationHead(classes=len(LABELS), pooler="mean")
    model = build_model(recipe.model, tokenizer.size, {"classification": head}, recipe.seed)
    path.mkdir(parents=True, exist_ok=True)
    run = RunDirectory(path)
    run.write_recipe(recipe.with_vocab(tokenizer.size))
    tokenizer.save(run.tokenizer_path)
    lineage = new_lineage(
        threads=1, initial_base=base_hash(model), tokenizer=tokenizer.fingerprint, data={}
    )
    run.write_manifest(
        Manifest(
            kind="classifier",
            status="finished",
            vocab=tokenizer.size,
            heads={"classification": head},
            directions=["bidirectional"],
            direction="bidirectional",
            labels=list(LABELS),
            lineage=lineage,
            weights=save_tensors(run.weights_path, model.state_dict()),
        )
    )
    return path


CONTENDERS: dict[str, Callable[[Settings], Contender]] = {
    ONNX: partial(exported, format_="onnx"),
    ONNX_INT8: partial(exported, format_="onnx-int8"),
    GREFFE_INT8: partial(greffe, precision="int8"),
    PIPELINE: partial(pipeline, precision="fp32"),
    PIPELINE_BATCHED: partial(pipeline, precision="fp32", batch_size=BATCH),
}
