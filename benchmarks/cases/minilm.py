"""Fine-tuning a base of MiniLM-L6's shape on 1,600 synthetic reviews, batches of 16.

Weights are new, as in the other cases: they change nothing in the time. Both sides have a BERT of 6
layers of width 384 with 30,522 tokens, without dropout; see finetune.py for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.cases import GREFFE, GREFFE_HALF, TRAINER, TRAINER_HALF
from benchmarks.cases.finetune import greffe, trainer
from benchmarks.settings import Settings
from benchmarks.timing import Contender
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe

SHAPE = (
    *("tokenizer.vocab=30522", "model.width=384", "model.layers=6", "model.heads=12"),
    *("model.feed_forward=1536", "model.context=256", "model.dropout=0.0"),
)
QUICK_SHAPE = (
    *("tokenizer.vocab=1000", "model.width=32", "model.layers=2", "model.heads=4"),
    *("model.feed_forward=64", "model.context=32", "model.dropout=0.0"),
)


def minilm_recipe(quick: bool) -> Recipe:
    """Return the recipe of a BERT of this shape, fine-tuned as an imported one is by default."""
    return load_recipe("bert").with_changes(
        [*(QUICK_SHAPE if quick else SHAPE), "finetune.batch=16", "finetune.accumulation=4"]
    )


CONTENDERS: dict[str, Callable[[Settings], Contender]] = {
    GREFFE: partial(greffe, precision="fp32", base=minilm_recipe),
    GREFFE_HALF: partial(greffe, precision="bf16", base=minilm_recipe),
    TRAINER: partial(trainer, sampling="random", precision="fp32", base=minilm_recipe),
    TRAINER_HALF: partial(trainer, sampling="random", precision="bf16", base=minilm_recipe),
}
