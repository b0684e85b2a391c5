from __future__ import annotations

import itertools
import json
from typing import get_args

import pytest

from greffe.config.components import PositionSpec
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import ModelSpec, Pooler
from greffe.model.heads.classification_head import ClassificationHead
from greffe.model.model import build_model
from greffe.model.parameters import account, default_heads

POSITIONS = [kind() for kind in PositionSpec.kinds().values()]
SHAPES = [(6, 3, 1, 5, 9), (8, 2, 3, 8, 16), (4, 1, 0, 1, 8), (24, 4, 2, 7, 11)]


def test_the_lab_to_the_parameter():
    spec = load_recipe("lab").model
    result = account(spec, 50_001, default_heads(spec)).to_json()
    assert result["base"] == {"closed": 10_968_200, "counted": 10_968_200}
    assert result["heads"]["classification"]["closed"] == 402
    assert result["heads"]["classification"]["total"] == 10_968_602
    assert result["heads"]["next_token"]["closed"] == 10_050_201
    assert result["heads"]["next_token"]["total"] == 21_018_401
    blocks = {row["block"]: row["closed"] for row in result["blocks"]}
    assert blocks["embedding"] == 10_000_200
    assert blocks["attention_qkv"] + blocks["attention_output"] == 160_800
    assert blocks["feed_forward"] == 80_400
    assert blocks["norms"] == 800
    assert blocks["one_layer"] == 242_000
    assert blocks["all_layers"] == 968_000


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: position.kind)
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("tied", [True, False])
def test_formulas_equal_the_count_of_the_built_model(position, norm, tied):
    for width, heads, layers, inner, context in SHAPES:
        spec = ModelSpec(
            width=width,
            heads=heads,
            layers=layers,
            feed_forward=inner,
            context=context,
            position=position,
            norm=norm,
            tied=tied,
        )
        for vocab, pooler in itertools.product((1, 13), get_args(Pooler)):
            head_specs = default_heads(spec)
            head_specs["classification"] = ClassificationHead(classes=5, pooler=pooler)
            result = account(spec, vocab, head_specs)
            assert all(row.closed == row.counted for row in result.rows)
        model = build_model(spec, 13, head_specs, seed=0)
        real = sum(parameter.numel() for parameter in model.parameters())
        assert real == result.base.closed + sum(row.closed for row in result.heads.values())


def test_a_head_that_reads_the_embedding_has_its_columns_too():
    spec = ModelSpec(width=8, embedding_width=6, heads=2)
    head = ClassificationHead(classes=3, pooler="mean+embedding")
    row = account(spec, 100, {"classification": head}).heads["classification"]
    assert (row.formula, row.closed, row.counted) == ("3 × 14 + 3", 45, 45)


def test_formulas_evaluate_to_their_numbers():
    spec = ModelSpec(width=8, heads=2, layers=3, feed_forward=20, tied=False)
    heads = default_heads(spec) | {"classification": ClassificationHead(classes=3)}
    for row in account(spec, 1234, heads).rows:
        written = row.formula.replace("×", "*").replace(",", "")
        assert eval(written) == row.closed, row


def test_json_is_plain():
    spec = ModelSpec()
    result = account(spec, 300, default_heads(spec)).to_json()
    assert json.loads(json.dumps(result)) == result
    assert list(result["heads"]) == list(default_heads(spec))


def test_a_model_too_large_for_memory_can_be_counted():
    spec = ModelSpec(width=12_288, heads=96, layers=96, feed_forward=49_152)
    result = account(spec, 50_257, {})
    assert result.base.closed == result.base.counted > 170 * 10**9
