"""A head that begins as a linear probe: its predictions, and every way to begin again with it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from greffe.baselines import cross_validation
from greffe.baselines.linear_classifier import fit_vectors
from greffe.config.option_groups import flat_keywords
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.data.tables import Example
from greffe.inference.predict import classify_logits
from greffe.model.model import Model, build_model
from greffe.model.weights import head_hash
from greffe.pipelines import finetune as finetune_module
from greffe.pipelines import probe, restarts
from greffe.pipelines.finetune_recipe import choose_tokenizer, classification_of
from greffe.pipelines.labelled import LabelledParts, encode_rows
from greffe.pipelines.members import Classifying, Design
from greffe.pipelines.probe import probe_head
from greffe.progress import quiet
from greffe.run import RunDirectory
from greffe.training.checkpoint import load_model
from greffe.training.distributed import World

finetune = flat_keywords(finetune_module.finetune)

WORDS = [("superbe", "b"), ("pénible", "a"), ("drôle", "b"), ("fade", "a"), ("long", "c")]
TEXTS = [
    (f"un roman {word} et {number} suites {other} encore", label)
    for number, (word, label) in enumerate(WORDS * 6)
    for other in ("belles", "lentes")
]
BINARY = [(text, label) for text, label in TEXTS if label != "c"]
PROBE = "classification.start=probe"
SMALL = load_recipe("tiny").with_changes(
    [
        *("tokenizer.vocab=400", "model.width=16", "model.heads=2", "model.feed_forward=16"),
        *("finetune.batch=8", "finetune.threads=1", "classification.pooler=mean+embedding"),
        *("finetune.checkpoint_every=2steps", "finetune.evaluate_every=2steps", PROBE),
    ]
)


def trained(out: Path, **options: Any) -> RunDirectory:
    choices: dict[str, Any] = {"valid": TEXTS[:8], "recipe": SMALL, "budget": "6steps", **options}
    return finetune(choices.pop("data", TEXTS), out, **choices)


def shared_of(data: list[tuple[str, str]], *changes: str) -> tuple[Classifying, Model]:
    """What a fine-tuning of these texts from scratch begins with."""
    recipe: Recipe = SMALL.with_changes(list(changes))
    recipe = recipe.model_copy(update={"objective": recipe.classification})
    examples = [Example(text, label) for text, label in data]
    parts = LabelledParts(examples, examples[:4], sorted({label for _, label in data}))
    tokenizer = choose_tokenizer(None, recipe, examples)
    recipe = recipe.with_vocab(tokenizer.size)
    long = classification_of(recipe).long
    rows = encode_rows(parts, tokenizer, recipe.model.context, long)
    design = Design.of(recipe, parts.labels, ["bidirectional"])
    model = build_model(recipe.model, tokenizer.size, design.heads, seed=0)
    return Classifying(recipe, design, tokenizer, parts, rows), model


def probabilities(shared: Classifying, model: Model) -> np.ndarray:
    rows, pad = shared.rows.ids, shared.tokenizer.pad
    return classify_logits(model, rows, pad, shared.design.causal).softmax(-1).numpy()


def features(shared: Classifying, model: Model) -> np.ndarray:
    """Mean of the hidden states and mean of the embedding, text by text."""
    found = []
    with torch.no_grad():
        for row in shared.rows.ids:
            ids = torch.from_numpy(row)[None]
            hidden = model.eval().base(ids, causal=shared.design.causal)[0]
            found.append(torch.cat((hidden.mean(0), model.base.embedding(ids)[0].mean(0))))
    return torch.stack(found).numpy()


@pytest.mark.parametrize("data", [TEXTS, BINARY], ids=["three classes", "two"])
@pytest.mark.parametrize("long", ["cut", "windows"])
def test_it_predicts_what_the_logistic_regression_does(
    data: list[tuple[str, str]], long: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greffe.baselines.linear_classifier.choose", with_penalty(5.0))
    shared, model = shared_of(data, f"classification.long={long}", "model.context=8")
    probe_head(shared, model, World())
    vectors = StandardScaler().fit_transform(features(shared, model).astype(np.float64))
    vectors /= np.sqrt(vectors.shape[1])
    fitted = LogisticRegression(C=5.0, tol=1e-6, max_iter=10_000)
    expected = fitted.fit(vectors, shared.rows.targets).predict_proba(vectors)
    assert np.abs(probabilities(shared, model) - expected).max() < 1e-3
    assert (len(shared.rows.ids) > len(data)) == (long == "windows")


def with_penalty(c: float) -> Callable[..., cross_validation.Choice]:
    return lambda *_, **__: cross_validation.Choice(c, 1.0)


def test_the_penalty_is_cross_validated_and_its_accuracy_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shared, model = shared_of(TEXTS)
    probe_head(shared, model, World())
    told = capsys.readouterr().err
    assert f"head: a linear probe of {len(TEXTS)} rows, cross-validated accuracy " in told
    found = probabilities(shared, model).argmax(-1)
    assert (found == shared.rows.targets).mean() > 0.9


def test_many_rows_are_sampled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(probe, "MOST_ROWS", 40)
    probe_head(*shared_of(TEXTS), World())
    assert "a linear probe of 40 rows" in capsys.readouterr().err


def test_balanced_classes_are_equally_likely() -> None:
    rare = [(text, label) for text, label in TEXTS if label != "c"] + TEXTS[-2:]
    plain, balanced = shared_of(rare), shared_of(rare, "classification.class_weights=balanced")
    for shared, model in (plain, balanced):
        probe_head(shared, model, World())
    means = [probabilities(*pair).mean(0) for pair in (plain, balanced)]
    assert means[1][2] > 1.2 * means[0][2]


def test_features_that_hardly_vary_have_no_weight() -> None:
    targets = np.arange(40) % 2
    rounding = np.where(targets == 1, 1 + 1e-7, 1.0)
    vectors = np.stack((rounding, targets + np.linspace(0, 1, 40)), axis=1)
    texts = [f"text {number}" for number in range(40)]
    _, solution = fit_vectors(vectors, texts, targets, classes=2, seed=0)
    assert (solution.weights[0] == 0).all() and (solution.weights[1] != 0).all()


def test_the_head_before_the_first_step_is_the_probe(tmp_path: Path) -> None:
    choices = {"changes": ["train.lr=1e-30", "train.weight_decay=0"]}
    run = trained(tmp_path / "run", **choices)
    small = trained(tmp_path / "small", changes=[*choices["changes"], "classification.start=small"])
    shared, model = shared_of(TEXTS)
    model = load_model(run)
    assert head_hash(model) == run.manifest().lineage.initial_head
    assert run.manifest().lineage.initial_base == small.manifest().lineage.initial_base
    with quiet():
        probe_head(shared, model, World())
    assert head_hash(model) == run.manifest().lineage.initial_head
    assert head_hash(model) != small.manifest().lineage.initial_head
    assert not run.checkpoints_path.exists()


@pytest.mark.parametrize(
    "changes", [[], ["train.freeze=base"], ["train.lora.rank=2"], ["train.gradual_unfreezing=true"]]
)
def test_a_resumed_training_is_the_same_and_probes_once(
    changes: list[str],
    tmp_path: Path,
    fresh_run: Callable[..., RunDirectory],
    interrupted: Callable[[], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choices: dict[str, Any] = {
        "parent": fresh_run("parent"),
        "recipe": None,
        "changes": [*changes, "train.batch=8", PROBE, "classification.pooler=mean+embedding"],
    }
    with quiet():
        whole = trained(tmp_path / "whole", **choices)
        with interrupted():
            trained(tmp_path / "parts", **choices)
        monkeypatch.setattr(finetune_module, "probe_head", None)  # a second one is an error
        parts = trained(tmp_path / "parts", **choices, resume=True)
    assert parts.manifest().weights == whole.manifest().weights


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_soup_resumes_with_the_same_probe(
    jobs: int,
    tmp_path: Path,
    interrupted: Callable[[], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with quiet():
        whole = trained(tmp_path / "whole", soup=2, jobs=jobs)
        if jobs == 1:
            with interrupted():  # in the first training: the second has not begun
                trained(tmp_path / "parts", soup=2, jobs=1)
        monkeypatch.setattr(finetune_module, "probe_head", probe_head if jobs == 2 else None)
        parts = trained(tmp_path / "parts", soup=2, jobs=1, resume=True)
    assert parts.manifest().weights == whole.manifest().weights
    assert {path.name for path in parts.path.iterdir()} == {
        path.name for path in whole.path.iterdir()
    }


def test_an_overwritten_run_is_probed_again(
    tmp_path: Path, interrupted: Callable[[], AbstractContextManager[None]]
) -> None:
    with quiet():
        with interrupted():
            trained(tmp_path / "run", data=TEXTS[::-1], seed=5)
        again = trained(tmp_path / "run", overwrite=True)
        fresh = trained(tmp_path / "fresh")
    assert again.manifest().weights == fresh.manifest().weights


def test_a_restart_begins_with_the_same_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    too_high, learns = 100.0, 0.001
    monkeypatch.setattr(restarts, "LOWER", too_high / learns)
    lasting: dict[str, Any] = {
        "data": BINARY,
        "valid": [(text, label) for text, _ in BINARY[:4] for label in "ab"],
        "budget": "50steps",
        "recipe": SMALL.with_changes(["finetune.schedule=constant"]),
    }
    run = trained(tmp_path / "run", changes=[f"train.lr={too_high}"], **lasting)
    told = capsys.readouterr().err
    assert "starting again" in told and told.count("linear probe") == 1
    direct = trained(tmp_path / "direct", changes=[f"train.lr={learns}"], **lasting)
    assert run.manifest().weights == direct.manifest().weights


def test_the_head_of_the_same_task_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = trained(tmp_path / "first")
    capsys.readouterr()
    kept = trained(tmp_path / "kept", parent=first, recipe=None)
    assert "linear probe" not in capsys.readouterr().err
    assert kept.manifest().lineage.initial_head == head_hash(load_model(first))
    trained(tmp_path / "new", parent=first, recipe=None, new_head=True)
    assert "linear probe" in capsys.readouterr().err
