"""Classifying reviews with an exported model of MiniLM-L6's shape; see onnx.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.cases import ONNX, ONNX_INT8, PIPELINE
from benchmarks.cases.minilm import minilm_recipe
from benchmarks.cases.onnx import exported
from benchmarks.cases.predict import pipeline
from benchmarks.settings import Settings
from benchmarks.timing import Contender

CONTENDERS: dict[str, Callable[[Settings], Contender]] = {
    ONNX: partial(exported, format_="onnx", base=minilm_recipe),
    ONNX_INT8: partial(exported, format_="onnx-int8", base=minilm_recipe),
    PIPELINE: partial(pipeline, precision="fp32", base=minilm_recipe),
}
