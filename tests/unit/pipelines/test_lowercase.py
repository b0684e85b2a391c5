"""Lowercased texts: the tokenizer of a classifier, of its base and of runs based on it."""

from __future__ import annotations

from pathlib import Path

import pytest

import greffe
from greffe.baselines.features import BaseReader
from greffe.config.option_groups import flat_keywords
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.pipelines import finetune as finetune_module
from greffe.run import RunDirectory
from greffe.training.checkpoint import load_classification_tokenizer, load_tokenizer

finetune = flat_keywords(finetune_module.finetune)


TEXTS = [
    (f"Un Roman {word} et sa suite {word} ENCORE", label)
    for word, label in [("SUPERBE", "1"), ("Pénible", "0"), ("drôle", "1"), ("Fade", "0")] * 4
]


def small(*changes: str) -> Recipe:
    shape = ["model.width=16", "model.heads=2", "model.feed_forward=16", "finetune.batch=8"]
    return load_recipe("tiny").with_changes(["tokenizer.vocab=400", *shape, *changes])


def classifier_of(out: Path, *changes: str, parent: RunDirectory | None = None) -> RunDirectory:
    recipe = None if parent is not None else small()
    return finetune(
        TEXTS,
        out,
        recipe=recipe,
        parent=parent,
        valid=TEXTS[:4],
        budget="2steps",
        changes=[f"classification.{change}" for change in changes],
    )


def lowercase_base(folder: Path) -> RunDirectory:
    return greffe.pretrain(
        _corpus(folder),
        folder / "base",
        recipe=small("classification.lowercase=true"),
        budget="2steps",
    )


def scores(run: RunDirectory, *texts: str) -> list[dict[str, float]]:
    return [one.probabilities for one in greffe.load(run.path).predict(list(texts))]


def test_capitals_change_nothing_for_a_lowercased_classifier(tmp_path: Path) -> None:
    run = classifier_of(tmp_path / "small", "lowercase=true")
    first, second = scores(run, "Un ROMAN Superbe", "un roman superbe")
    assert first == second
    plain = classifier_of(tmp_path / "plain")
    first, second = scores(plain, "Un ROMAN Superbe", "un roman superbe")
    assert first != second


def test_a_new_vocabulary_is_trained_on_lowercase_text(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(classifier_of(tmp_path / "small", "lowercase=true"))
    assert tokenizer.id_of("▁superbe") is not None
    assert tokenizer.id_of("▁SUPERBE") is None


def test_the_vocabulary_of_a_base_is_kept_and_later_runs_lowercase_too(tmp_path: Path) -> None:
    base = classifier_of(tmp_path / "base")
    before = load_tokenizer(base)
    run = classifier_of(tmp_path / "small", "lowercase=true", parent=base)
    tokenizer = load_tokenizer(run)
    assert tokenizer.encode("SUPERBE") == before.encode("superbe") != before.encode("SUPERBE")
    again = classifier_of(tmp_path / "again", "lowercase=true", parent=run)
    assert load_tokenizer(again).fingerprint == tokenizer.fingerprint
    assert load_tokenizer(base).fingerprint == before.fingerprint


def test_features_of_a_base_use_the_tokenizer_of_its_classifiers(tmp_path: Path) -> None:
    run = lowercase_base(tmp_path)
    assert load_tokenizer(run).encode("SUPERBE") != load_tokenizer(run).encode("superbe")
    assert load_classification_tokenizer(run).encode("SUPERBE") == load_tokenizer(run).encode(
        "superbe"
    )
    upper, lower = BaseReader.of(run).features(["UN ROMAN", "un roman"])
    assert upper.tolist() == lower.tolist()


def _corpus(folder: Path) -> Path:
    path = folder / "texts.txt"
    path.write_text("".join(f"{text} {number}\n" for number in range(20) for text, _ in TEXTS))
    return path


def test_a_classifier_keeps_its_tokenizer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = lowercase_base(tmp_path)
    as_written = classifier_of(tmp_path / "as written", "lowercase=false", parent=base)
    assert as_written.recipe().classification.lowercase
    assert not load_classification_tokenizer(as_written).lowercases
    reads_small = classifier_of(tmp_path / "small", parent=base)
    assert load_classification_tokenizer(reads_small).lowercases
    capsys.readouterr()
    inherits = classifier_of(tmp_path / "inherits", "lowercase=false", parent=reads_small)
    assert load_tokenizer(inherits).lowercases
    assert "lowercases its texts" in capsys.readouterr().err


def test_a_linear_run_contains_the_tokenizer_of_its_features(tmp_path: Path) -> None:
    base = lowercase_base(tmp_path)
    run = greffe.linear(TEXTS, tmp_path / "stacked", base=base, tfidf=False)
    assert load_tokenizer(run).lowercases
    first, second = scores(run, "Un ROMAN Superbe", "un roman superbe")
    assert first == second


def test_a_notice_says_that_a_base_lowercases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classifier = classifier_of(tmp_path / "small", "lowercase=true")
    greffe.pretrain(
        _corpus(tmp_path),
        tmp_path / "more",
        from_=classifier,
        objective="masked",
        budget="2steps",
    )
    assert "the base will generate lowercase text only" in capsys.readouterr().err
