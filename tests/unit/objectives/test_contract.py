"""What every objective of the recipe's union must keep; a newcomer is tested on arrival."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from greffe.config.classification import Classification
from greffe.config.components import ObjectiveSpec
from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.errors import RecipeError
from greffe.model.heads.classification import ClassificationHead
from greffe.objectives.causal import CausalObjective
from greffe.objectives.classification import ClassificationObjective
from greffe.objectives.objective import LanguageObjective, Objective, build_language_objective

Make = Callable[..., Any]
KINDS: list[Any] = list(ObjectiveSpec.kinds().values())
LANGUAGE = [kind for kind in KINDS if kind is not Classification]


@pytest.fixture(params=LANGUAGE, ids=lambda kind: kind().kind)
def objective(request: pytest.FixtureRequest, tiny_tokenizer: Tokenizer) -> LanguageObjective:
    return build_language_objective(request.param(), tiny_tokenizer, tied=True)


@pytest.fixture
def prepare(objective: LanguageObjective, tiny_rows: PackedRows, make_rows: Make) -> Make:
    partners = PackedRows(
        **{name: np.roll(values, 3, axis=0) for name, values in vars(tiny_rows).items()}
    )

    def prepare_rows(which: range = range(16), **choices: Any) -> Batch:
        given = partners if objective.needs_partners else None
        return objective.prepare(make_rows(tiny_rows, which=which, partners=given, **choices))

    return prepare_rows


def tensors(batch: Batch) -> list[torch.Tensor]:
    own = [value for value in vars(batch).values() if isinstance(value, torch.Tensor)]
    return own + [tensor for part in batch.parts.values() for tensor in tensors(part)]


def test_the_union_is_what_these_tests_cover() -> None:
    assert Classification in KINDS and len(LANGUAGE) >= 4


def test_each_term_has_a_weight_and_a_head(objective: LanguageObjective) -> None:
    assert set(objective.heads()) == set(objective.weights)
    assert all(kind == head.kind for kind, head in objective.heads().items())
    assert all(weight > 0 for weight in objective.weights.values())


def test_untied_heads_are_asked_for(tiny_tokenizer: Tokenizer) -> None:
    for kind in LANGUAGE:
        heads = build_language_objective(kind(), tiny_tokenizer, tied=False).heads()
        assert not any(getattr(head, "tied", False) for head in heads.values())


def test_losses_are_finite_sums_of_what_the_batch_counts(
    objective: LanguageObjective, prepare: Make, make_model: Make
) -> None:
    model = make_model(objective.heads())
    batch = prepare()
    losses = objective.loss(model, batch)
    assert set(losses) == set(batch.counts) == set(objective.weights)
    chances = {"next_sentence": 2}
    for name, value in losses.items():
        assert value.shape == ()
        chance = float(np.log(chances.get(name, model.vocab)))
        # Fresh weights know nothing: the mean is that of guessing.
        assert float(value.detach()) / batch.counts[name] == pytest.approx(chance, rel=0.05)
    assert batch.tokens > 0


def test_gradients_reach_every_tensor(
    objective: LanguageObjective, prepare: Make, make_model: Make
) -> None:
    model = make_model(objective.heads())
    total = torch.stack(list(objective.loss(model, prepare()).values())).sum()
    total.backward()  # type: ignore[no-untyped-call]
    missing = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert missing == []


def test_preparing_is_a_pure_function(objective: LanguageObjective, prepare: Make) -> None:
    first, again, other = prepare(), prepare(), prepare(seed=9)
    assert first.counts == again.counts
    assert all(map(torch.equal, tensors(first), tensors(again)))
    if not isinstance(objective, CausalObjective):
        assert [t.tolist() for t in tensors(first)] != [t.tolist() for t in tensors(other)]


def test_preparing_leaves_the_rows_alone(prepare: Make, tiny_rows: PackedRows) -> None:
    before = {name: values.copy() for name, values in vars(tiny_rows).items()}
    prepare()
    assert all(np.array_equal(before[name], values) for name, values in vars(tiny_rows).items())


def test_parts_add_up_to_the_whole(
    objective: LanguageObjective, prepare: Make, make_model: Make
) -> None:
    """Accumulation and ranks: sums and counts of parts are those of all rows at once."""
    model = make_model(objective.heads())

    def measure(*parts: range) -> tuple[dict[str, float], dict[str, float]]:
        sums = dict.fromkeys(objective.weights, 0.0)
        counts = dict.fromkeys(objective.weights, 0.0)
        for part in parts:
            batch = prepare(part)
            for name, value in objective.loss(model, batch).items():
                sums[name] += float(value.detach())
                counts[name] += batch.counts[name]
        return sums, counts

    sums, counts = measure(range(16))
    for parts in ([range(5), range(5, 16)], [range(0, 16, 2), range(1, 16, 2)]):
        found_sums, found_counts = measure(*parts)
        assert found_counts == counts
        assert found_sums == pytest.approx(sums, rel=1e-5)


def test_classification_is_an_objective_but_not_for_pretraining(
    tiny_tokenizer: Tokenizer, make_model: Make
) -> None:
    with pytest.raises(RecipeError, match="cannot be pretrained") as caught:
        build_language_objective(Classification(), tiny_tokenizer, tied=True)
    assert "finetune" in str(caught.value)
    objective: Objective = ClassificationObjective(
        Classification(), [2, 2], causal=True, pad=tiny_tokenizer.pad
    )
    assert isinstance(objective, ClassificationObjective)
    model = make_model({"classification": ClassificationHead(classes=2)})
    batch = objective.prepare([np.array([0, 300, 2]), np.array([0, 2])], [0, 1])
    losses = objective.loss(model, batch)
    assert set(losses) == set(batch.counts) == set(objective.weights)
