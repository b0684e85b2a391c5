"""What every registered objective must do: a new one is tested without a change here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from greffe.config.components import HeadSpec, ObjectiveSpec
from greffe.config.sections import Classification
from greffe.data.batches import Batch
from greffe.data.shards import PackedRows
from greffe.data.tokenizer import Tokenizer
from greffe.model.heads.classification_head import ClassificationHead
from greffe.objectives.classification import ClassificationObjective
from greffe.objectives.masking import MaskingSpec
from greffe.objectives.objective import (
    LanguageObjective,
    LanguageSpec,
    Objective,
    language_spec,
)

Make = Callable[..., Any]


@pytest.fixture(params=LanguageSpec.kinds())
def spec(request: pytest.FixtureRequest) -> LanguageSpec:
    return LanguageSpec.of_kind(request.param)


@pytest.fixture
def objective(spec: LanguageSpec, tiny_tokenizer: Tokenizer) -> LanguageObjective:
    return language_spec(spec).build(tiny_tokenizer, tied=True)


@pytest.fixture
def prepare(objective: LanguageObjective, tiny_rows: PackedRows, make_rows: Make) -> Make:
    partners = roll(tiny_rows)

    def prepare_rows(which: range = range(16), **choices: Any) -> Batch:
        given = partners if objective.needs_partners else None
        return objective.prepare(make_rows(tiny_rows, which=which, partners=given, **choices))

    return prepare_rows


def roll(packed: PackedRows) -> PackedRows:
    """Return the same rows in another order."""
    return PackedRows(**{name: np.roll(rows, 3, axis=0) for name, rows in vars(packed).items()})


def tensors(batch: Batch) -> list[torch.Tensor]:
    own = [value for value in vars(batch).values() if isinstance(value, torch.Tensor)]
    return own + [tensor for part in batch.parts.values() for tensor in tensors(part)]


def test_the_registry_has_the_known_objectives() -> None:
    known = {"causal", "masked", "next_sentence", "hybrid"}
    assert known <= set(LanguageSpec.kinds())
    assert known | {"classification"} <= set(ObjectiveSpec.kinds())


def test_directions_and_heads_are_declared(spec: LanguageSpec) -> None:
    assert set(spec.directions) <= {"causal", "bidirectional"} and spec.directions
    assert set(spec.heads(tied=True)) <= set(HeadSpec.kinds())
    assert "causal" in spec.directions or "next_token" not in spec.heads(tied=True)


def test_each_term_has_a_weight_and_a_head(objective: LanguageObjective) -> None:
    assert set(objective.heads()) == set(objective.weights)
    assert all(kind == head.kind for kind, head in objective.heads().items())
    assert all(weight > 0 for weight in objective.weights.values())


def test_untied_heads_have_their_own_matrix(spec: LanguageSpec) -> None:
    heads = spec.heads(tied=False)
    assert not any(getattr(head, "tied", False) for head in heads.values())


def test_the_predicted_fraction_is_that_of_a_batch(
    objective: LanguageObjective, pack: Make, make_rows: Make
) -> None:
    packed = pack([range(300 + n, 346 + n) for n in range(16)], 48)
    partners = roll(packed) if objective.needs_partners else None
    batch = objective.prepare(make_rows(packed, partners=partners))
    predicted = sum(batch.counts[name] for name in batch.target_bytes)
    expected = objective.spec.predicted_fraction
    # Special tokens are not predicted, and counts are rounded.
    assert predicted / batch.tokens == pytest.approx(expected, rel=0.15)


def test_losses_are_finite_sums_of_what_the_batch_counts(
    objective: LanguageObjective, prepare: Make, make_model: Make
) -> None:
    model = make_model(objective.heads())
    batch = prepare()
    losses = objective.loss(model, batch)
    assert set(losses) == set(batch.counts) == set(objective.weights)
    for name, value in losses.items():
        assert value.shape == ()
        chance = float(np.log(objective.heads()[name].outputs(model.vocab)))
        # With initial weights the mean is that of guessing.
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
    first, again = prepare(), prepare()
    assert first.counts == again.counts
    assert all(map(torch.equal, tensors(first), tensors(again)))


@pytest.mark.parametrize(
    "spec", [kind() for kind in LanguageSpec.kinds().values() if issubclass(kind, MaskingSpec)]
)
def test_hidden_tokens_follow_from_the_streams(prepare: Make) -> None:
    first, other = ([part.tolist() for part in tensors(prepare(seed=seed))] for seed in (0, 9))
    assert first != other


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


def test_classification_is_an_objective_too(tiny_tokenizer: Tokenizer, make_model: Make) -> None:
    objective: Objective = ClassificationObjective(
        Classification(), [2, 2], causal=True, pad=tiny_tokenizer.pad
    )
    assert isinstance(objective, ClassificationObjective)
    model = make_model({"classification": ClassificationHead(classes=2)})
    batch = objective.prepare([np.array([0, 300, 2]), np.array([0, 2])], [0, 1])
    losses = objective.loss(model, batch)
    assert set(losses) == set(batch.counts) == set(objective.weights)
