"""The README.md of a finished run: what it says, and that a user's own file is never touched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import greffe
from greffe.config.option_groups import flat_keywords
from greffe.display import markdown_text
from greffe.output_folder import CARD_MARK, OutputFolder
from greffe.pipelines import finetune as finetune_module
from greffe.pipelines.model_card import write_model_card
from greffe.run import RunDirectory
from greffe.samples.toy import toy_documents, toy_reviews

finetune = flat_keywords(finetune_module.finetune)

TABLE = [(text, label) for label, text in toy_reviews(24, seed=1)]


def card(run: RunDirectory) -> str:
    return (run.path / "README.md").read_text("utf-8")


def test_card_of_a_language_model(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(toy_documents(100, seed=0)), "utf-8")
    run = greffe.pretrain(
        text, tmp_path / "base", recipe="tiny", objective="hybrid", budget="2steps"
    )
    written = card(run)
    assert written.startswith(f"{CARD_MARK}\n\n# base\n\nA language model with ")
    count = sum(parameter.numel() for parameter in run.model.parameters())
    assert f"{count:,} parameters" in written
    assert "greffe generate RUN" in written and "greffe fill RUN" in written
    lineage = run.manifest().lineage
    assert f"| corpus | {lineage.sizes['corpus']} | `{lineage.data['corpus']}` |" in written
    assert "documents" in lineage.sizes["corpus"]
    assert "| steps | 2 |" in written and lineage.initial_base in written


def test_card_of_a_classifier(fresh_run: Callable[..., RunDirectory], tmp_path: Path) -> None:
    parent = fresh_run("parent")
    run = finetune(TABLE, tmp_path / "clf", parent=parent, budget="1epochs")
    written = card(run)
    assert "A text classifier with" in written and "2 classes: négatif, positif" in written
    assert "greffe predict RUN" in written and "greffe generate" not in written
    assert "| train | 20 texts |" in written and "| valid | 4 texts |" in written
    assert f"| parent | {markdown_text(parent.name)} |" in written and "| macro F1 |" in written
    again = finetune(TABLE[:12], tmp_path / "more", parent=run, budget="1epochs")
    assert "| earlier train | 20 texts |" in card(again)


def test_cards_of_a_linear_run_and_an_ensemble(tmp_path: Path) -> None:
    runs = [greffe.linear(TABLE, tmp_path / name, seed=1) for name in ("a", "b")]
    written = card(runs[0])
    assert "A linear classifier on TF-IDF. It predicts 2 classes" in written
    assert "| train | 24 texts |" in written
    assert "An ensemble: the mean of 2 runs." in card(greffe.ensemble(runs, tmp_path / "mean"))


@pytest.mark.parametrize("is_users", [True, False])
def test_only_a_card_is_replaced_or_removed(tmp_path: Path, is_users: bool) -> None:
    run = greffe.linear(TABLE, tmp_path / "run")
    path = run.path / "README.md"
    before = "My notes.\n" if is_users else f"{CARD_MARK}\nold\n"
    path.write_text(before, "utf-8")
    write_model_card(run)
    assert (path.read_text("utf-8") == before) == is_users
    with OutputFolder(run.path, overwrite=True) as folder:
        folder.begin()
        assert path.exists() == is_users


def test_names_in_a_card_are_text(tmp_path: Path) -> None:
    labels = {"positif": "<script>alert(1)</script>", "négatif": "a\n# b"}
    table = [(text, labels[label]) for text, label in TABLE]
    written = card(greffe.linear(table, tmp_path / "<b>\n# x"))
    assert "<script>" not in written and "<b>" not in written
    assert "\n# b" not in written and "\n# x" not in written


def test_a_folder_whose_name_is_not_valid_unicode_has_a_card(tmp_path: Path) -> None:
    assert "A linear classifier" in card(greffe.linear(TABLE, tmp_path / "run\udcff"))
