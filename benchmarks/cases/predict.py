"""Classifying reviews from text, including tokenization.

greffe's prediction, the `transformers` pipeline (as in its documentation, and with batches of 32)
and TF-IDF with logistic regression. greffe and the pipeline have models of the same shape and the
same tokenizer file, and truncate texts at the context.

A round classifies half of the 2,000 texts. TF-IDF is so fast that it repeats its half until the
time can be measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.arithmetic import classification, recorded_shapes
from benchmarks.cases import (
    GREFFE,
    GREFFE_HALF,
    GREFFE_INT8,
    PIPELINE,
    PIPELINE_BATCHED,
    PIPELINE_BATCHED_HALF,
    PIPELINE_HALF,
    TFIDF,
)
from benchmarks.cases.finetune import RecipeOf
from benchmarks.cases.masked import small_recipe
from benchmarks.greffe_loop import start_greffe
from benchmarks.settings import Precision, Settings
from benchmarks.synthetic import review_texts, text_tokenizer
from benchmarks.timing import Contender, Sample
from greffe.config.options import InferencePrecision, Labelling
from greffe.config.recipe import Recipe
from greffe.config.sections import ModelSpec
from greffe.data.tokenizer import Tokenizer
from greffe.inference.placing import PlacedModel
from greffe.inference.predict import predict
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import build_model

TEXTS = 2000
QUICK_TEXTS = 120
PARTS = 2
WORDS = 12_000  # in the synthetic dictionary
QUICK_WORDS = 500
WARMUP_TEXTS = 16
BATCH = 32
LEAST_SECONDS = 1.5
LABELS = ("negative", "positive")


def synthetic_texts(settings: Settings, recipe: Recipe, seed: int) -> tuple[list[str], list[str]]:
    """Return texts and their labels."""
    count = QUICK_TEXTS if settings.quick else TEXTS
    words = QUICK_WORDS if settings.quick else WORDS
    return review_texts(seed, count, words, recipe.model.context)


def part(texts: list[str], number: int) -> list[str]:
    """Return the texts of a round."""
    return texts[number % PARTS :: PARTS]


def greffe(
    settings: Settings, precision: InferencePrecision, base: RecipeOf = small_recipe
) -> Contender:
    """Build the contender with greffe's prediction and a new model."""
    start_greffe(settings.threads)
    recipe = base(settings.quick)
    spec = recipe.model
    watch = settings.stopwatch("fp32" if precision == "fp32" else "bf16")
    texts, _ = synthetic_texts(settings, recipe, recipe.seed)
    tokenizer = text_tokenizer(texts, recipe.tokenizer.vocab)
    head = ClassificationHead(classes=len(LABELS), pooler="mean")
    model = build_model(spec, tokenizer.size, {"classification": head}, recipe.seed).eval()
    placed = PlacedModel(model, Labelling(device="cpu", precision=precision), "benchmark")
    ready = placed.model_for([])

    def label(some: list[str]) -> None:
        found = list(predict(ready, tokenizer, LABELS, some, causal=False, long="cut"))
        assert len(found) == len(some)

    def run(number: int) -> Sample:
        some = part(texts, number)
        with recorded_shapes(ready.base) as shapes, watch:
            label(some)
        return watch.taken().speed(len(some), classification(spec, shapes, training=False))

    label(texts[:WARMUP_TEXTS])
    return run


def pipeline(
    settings: Settings, precision: Precision, base: RecipeOf = small_recipe, **choices: int
) -> Contender:
    """Build the contender with the pipeline, called with a list of texts."""
    recipe = base(settings.quick)
    watch = settings.stopwatch(precision)
    texts, _ = synthetic_texts(settings, recipe, recipe.seed)
    tokenizer = text_tokenizer(texts, recipe.tokenizer.vocab)
    path = settings.folder("pipeline") / "tokenizer.json"
    tokenizer.save(path)
    ready = text_pipeline(recipe.model, tokenizer, path, precision)
    ready(texts[:WARMUP_TEXTS], truncation=True, **choices)

    def run(number: int) -> Sample:
        some = part(texts, number)
        with recorded_shapes(ready.model.get_input_embeddings()) as shapes, watch:
            found = ready(some, truncation=True, **choices)
        assert len(found) == len(some)
        return watch.taken().speed(len(some), classification(recipe.model, shapes, training=False))

    return run


def tfidf(settings: Settings) -> Contender:
    """Build the contender with TF-IDF of words and bigrams, fitted on other texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    recipe = small_recipe(settings.quick)
    watch = settings.stopwatch()
    texts, _ = synthetic_texts(settings, recipe, recipe.seed)
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(max_iter=1000)
    )
    model.fit(*synthetic_texts(settings, recipe, recipe.seed + 1))
    model.predict(texts[:WARMUP_TEXTS])

    def run(number: int) -> Sample:
        some = part(texts, number)
        done = 0
        with watch:
            until = time.perf_counter() + LEAST_SECONDS
            while time.perf_counter() < until:
                model.predict(some)
                done += len(some)
        return watch.taken().speed(done)

    return run


def text_pipeline(spec: ModelSpec, tokenizer: Tokenizer, path: Path, precision: Precision) -> Any:
    """Return `pipeline("text-classification")` of a new BERT with input `<sos> … <eos>`."""
    import torch
    from tokenizers import Tokenizer as Backend
    from tokenizers.processors import TemplateProcessing
    from transformers import BertForSequenceClassification, PreTrainedTokenizerFast
    from transformers import pipeline as build_pipeline

    from benchmarks.trainer import be_quiet, bert_config

    be_quiet()
    backend = Backend.from_file(str(path))
    backend.post_processor = TemplateProcessing(
        single="<sos> $A <eos>",
        special_tokens=[("<sos>", tokenizer.sos), ("<eos>", tokenizer.eos)],
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=spec.context,
        bos_token="<sos>",
        eos_token="<eos>",
        pad_token="<pad>",
        unk_token="<oov>",
        mask_token="<mask>",
    )
    config = bert_config(spec, tokenizer.size, num_labels=2, pad_token_id=tokenizer.pad)
    model = BertForSequenceClassification(config).eval()
    if precision == "bf16":
        model = model.to(torch.bfloat16)
    return build_pipeline("text-classification", model=model, tokenizer=fast, device="cpu")


CONTENDERS: dict[str, Callable[[Settings], Contender]] = {
    GREFFE: partial(greffe, precision="fp32"),
    GREFFE_HALF: partial(greffe, precision="bf16"),
    GREFFE_INT8: partial(greffe, precision="int8"),
    PIPELINE: partial(pipeline, precision="fp32"),
    PIPELINE_HALF: partial(pipeline, precision="bf16"),
    PIPELINE_BATCHED: partial(pipeline, precision="fp32", batch_size=BATCH),
    PIPELINE_BATCHED_HALF: partial(pipeline, precision="bf16", batch_size=BATCH),
    TFIDF: tfidf,
}
