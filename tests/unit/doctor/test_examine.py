"""The whole examination: a planted leak is found, clean data are left alone, files are read."""

from __future__ import annotations

import pytest

from greffe.api import doctor
from greffe.config.recipe import Recipe
from greffe.data.tables import Example
from greffe.doctor.examine import check_titles, examine
from greffe.errors import DataError, RunError
from greffe.progress import quiet
from greffe.run import Manifest, RunDirectory, new_lineage
from greffe.seeding import rng

LABELS = ("négatif", "positif")


def clean(purpose, count):
    """Texts of words drawn from so many that none repeats, labels drawn by lot."""
    draw = rng(0, purpose)
    return [
        Example(
            " ".join(f"mot{word}" for word in draw.integers(0, 5000, int(draw.integers(5, 30)))),
            LABELS[int(draw.integers(2))],
        )
        for _ in range(count)
    ]


@pytest.fixture
def parts():
    return {name: clean(name, 80) for name in ("train", "valid", "test")}


def kinds(findings):
    return [finding.kind for finding in findings]


def test_nothing_is_found_in_clean_data(parts):
    assert examine(parts) == []
    assert examine({"train": parts["train"]}) == []
    assert examine({}) == []


def test_planted_leaks_are_found_the_serious_first(parts):
    leaked = parts["train"][0]
    long = max(parts["valid"], key=lambda example: len(example.text))
    parts["test"] += [leaked, Example(f"{long.text} fin", long.label), Example("Nul", LABELS[0])]
    findings = examine(parts)
    assert kinds(findings) == ["leak", "near_leak", "short_texts"]
    leak, near, _ = findings
    assert (leak.where, leak.count, leak.total) == ("train and test", 1, 83)
    assert leak.example.startswith(leaked.text[:100])
    assert (near.where, near.count) == ("valid and test", 1)


def test_the_corpus_is_searched_for_the_last_part(parts, tmp_path):
    corpus = tmp_path / "corpus.txt"
    long = max(parts["test"], key=lambda example: len(example.text))
    corpus.write_text(f"{long.text}\n{parts['train'][0].text}", "utf-8")
    with quiet():
        (found,) = examine(parts, corpus=[corpus])
        assert (found.kind, found.where, found.count) == ("corpus_overlap", "test", 1)
        (found,) = examine({"train": parts["train"]}, corpus=[corpus])
        assert (found.where, found.count) == ("train", 1)


def test_a_tokenizer_adds_length_and_letters(parts, tiny_tokenizer):
    parts["test"][0] = Example("Совсем другая книга, которую я не читал", LABELS[0])
    assert examine(parts) == []
    assert kinds(examine(parts, tokenizer=tiny_tokenizer)) == ["unknown_script"]
    found = kinds(examine(parts, tokenizer=tiny_tokenizer, context=32))
    assert sorted(found) == ["long_texts"] * 3 + ["unknown_script"]


def test_examples_are_short(parts):
    parts["train"] = [Example("mot " * 500, LABELS[0])] * 40 + clean("more", 40)
    findings = examine(parts)
    assert {"duplicates", "order"} & set(kinds(findings))
    assert all(0 < len(finding.example) <= 160 for finding in findings)


def test_files(parts, tmp_path):
    paths = {}
    for name, examples in parts.items():
        paths[name] = tmp_path / f"{name}.tsv"
        lines = [f"{example.label}\t{example.text}\n" for example in examples]
        paths[name].write_text("".join(lines), "utf-8")
    assert doctor(paths["train"], valid=paths["valid"], test=paths["test"]) == []
    assert kinds(doctor(paths["train"], test=paths["train"])) == ["leak"]
    assert kinds(doctor(parts["train"], test=parts["train"])) == ["leak"]


def test_a_run_gives_tokenizer_and_context(parts, tmp_path, tiny_tokenizer):
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    tiny_tokenizer.save(run.tokenizer_path)
    run.write_recipe(Recipe().with_changes(["model.context=32"]))
    with pytest.raises(RunError, match="is not a run"):
        doctor(parts["train"], run=run.path)
    lineage = new_lineage(
        threads=1, initial_base="0", tokenizer=tiny_tokenizer.fingerprint, data={}
    )
    run.write_manifest(
        Manifest(
            kind="language-model",
            status="finished",
            vocab=tiny_tokenizer.size,
            heads={},
            directions=["causal"],
            lineage=lineage,
            weights="0",
        )
    )
    (found,) = doctor(parts["train"], run=run)
    assert (found.kind, found.detail["context"]) == ("long_texts", 32)


def test_a_table_without_rows_is_refused(tmp_path):
    empty = tmp_path / "a.csv"
    empty.write_text("text,label\n", "utf-8")
    with pytest.raises(DataError, match="no example"):
        doctor(empty)


def test_titles_of_the_checks_that_are_made():
    plain = check_titles(with_model=False, with_corpus=False)
    assert {"copies across parts", "contradictory labels", "empty texts"} <= set(plain)
    with_model = set(check_titles(with_model=True, with_corpus=False)) - set(plain)
    assert with_model == {"texts longer than the context", "unknown scripts"}
    with_corpus = set(check_titles(with_model=False, with_corpus=True)) - set(plain)
    assert with_corpus == {"overlap with the corpus"}
