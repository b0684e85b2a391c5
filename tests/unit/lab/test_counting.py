"""The lab's model counted by hand, and every wrong total with the sum that gives it."""

from __future__ import annotations

import pytest
from torch import nn

from greffe.config.recipe_files import load_recipe
from greffe.lab.counting import count_parameters
from greffe.lab.lab_document import Counting, Mistake

# By hand: one block is q, k, v and output with biases, two linear layers, two norms.
EMBEDDING = 50_001 * 200
BLOCK = 4 * (200 * 200 + 200) + 2 * (200 * 200 + 200) + 2 * 400
BASE = EMBEDDING + 4 * BLOCK
CLASSIFIER, LANGUAGE_MODEL = 402, 50_001 * 200 + 50_001

WRONG_BASES = {
    "no_biases": 10_963_400,
    "no_attention_output": 10_807_400,
    "no_norms": 10_965_000,
    "norms_without_shift": 10_966_600,
    "wide_feed_forward": 11_930_600,
    "default_feed_forward": 13_932_392,
    "one_layer": 10_242_200,
    "projections_a_head": 11_450_600,
    "learned_positions": 11_019_400,
    "round_vocabulary": 10_968_000,
    "toy_vocabulary": 988_000,
    "embedding_twice": 20_968_400,
    "tied_head": 10_968_200,
    "head_without_bias": 10_968_200,
}


@pytest.fixture(scope="module")
def counting() -> Counting:
    return count_parameters(load_recipe("lab"))


def by_kind(counting: Counting) -> dict[str, Mistake]:
    return {mistake.kind: mistake for mistake in counting.mistakes}


def test_the_true_totals_are_the_labs(counting: Counting) -> None:
    assert counting.targets.base == BASE == 10_968_200
    assert counting.targets.classifier == BASE + CLASSIFIER == 10_968_602
    assert counting.targets.language_model == BASE + LANGUAGE_MODEL == 21_018_401


def test_formula_and_count_agree_in_every_row(counting: Counting) -> None:
    assert [row.closed for row in counting.rows] == [row.counted for row in counting.rows]
    totals = {row.block: row.closed for row in counting.rows if row.is_total}
    assert totals == {
        "base": 10_968_200,
        "base+classification_head": 10_968_602,
        "base+next_token_head": 21_018_401,
    }


def test_pytorchs_own_layers_have_as_many() -> None:
    layer = nn.TransformerEncoderLayer(200, 2, 200)
    embedding = nn.Embedding(50_001, 200)
    encoder = sum(parameter.numel() for parameter in layer.parameters())
    assert encoder == BLOCK
    assert embedding.weight.numel() + 4 * encoder == BASE


def test_every_mistake_gives_its_wrong_base(counting: Counting) -> None:
    assert {kind: mistake.totals.base for kind, mistake in by_kind(counting).items()} == WRONG_BASES


def test_mistakes_about_heads(counting: Counting) -> None:
    found = by_kind(counting)
    assert found["tied_head"].totals.language_model == BASE + 50_001
    assert found["tied_head"].totals.classifier == BASE + 402
    assert found["head_without_bias"].totals.classifier == BASE + 400
    assert found["head_without_bias"].totals.language_model == BASE + 50_001 * 200
    assert found["toy_vocabulary"].totals.language_model == 988_000 + 100 * 201
    assert found["round_vocabulary"].totals.language_model == 10_968_000 + 50_000 * 201


def test_each_formula_says_what_the_mistake_changes(counting: Counting) -> None:
    targets = counting.targets
    for mistake in counting.mistakes:
        python = mistake.formula.replace("×", "*").replace("−", "-").replace(",", "")
        change = eval(python, {"__builtins__": {}})
        base = mistake.totals.base - targets.base
        assert change == (base or mistake.totals.language_model - targets.language_model)


def test_only_heads_leave_the_base_right(counting: Counting) -> None:
    right = {m.kind for m in counting.mistakes if m.totals.base == counting.targets.base}
    assert right == {"tied_head", "head_without_bias"}
