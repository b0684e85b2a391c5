"""Classifying reviews from text with a base of MiniLM-L6's shape; see predict.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.cases import GREFFE, GREFFE_HALF, PIPELINE, PIPELINE_HALF
from benchmarks.cases.minilm import minilm_recipe
from benchmarks.cases.predict import greffe, pipeline
from benchmarks.settings import Settings
from benchmarks.timing import Contender

CONTENDERS: dict[str, Callable[[Settings], Contender]] = {
    GREFFE: partial(greffe, precision="fp32", base=minilm_recipe),
    GREFFE_HALF: partial(greffe, precision="bf16", base=minilm_recipe),
    PIPELINE: partial(pipeline, precision="fp32", base=minilm_recipe),
    PIPELINE_HALF: partial(pipeline, precision="bf16", base=minilm_recipe),
}
