"""The public functions: signatures, checks before any work, and what a report is built from."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import greffe
from greffe import api
from greffe.errors import InputError, RecipeError, RunError
from greffe.run import RunDirectory

VERBS = ("prepare", "pretrain", "finetune", "linear", "ensemble", "compare", "doctor")


@pytest.mark.parametrize("verb", VERBS)
def test_options_are_keywords_with_documentation(verb: str) -> None:
    function = getattr(greffe, verb)
    parameters = inspect.signature(function).parameters
    assert not {"output", "training", "reading", "tables"} & parameters.keys()
    text = inspect.getdoc(function)
    assert text is not None and "Options:" in text
    with pytest.raises(TypeError, match=rf"{verb}\(\) got an unexpected keyword argument 'nope'"):
        function(nope=1)


def test_a_misspelled_keyword_is_explained() -> None:
    with pytest.raises(TypeError, match=r"did you mean 'budget'\?"):
        greffe.finetune(bugdet="1m")


@pytest.mark.parametrize(
    ("verb", "excluded"),
    [
        ("prepare", "label_column"),
        ("pretrain", "soup"),
        ("finetune", "objective"),
        ("linear", "resume"),
        ("compare", "seed"),
    ],
)
def test_a_verb_takes_only_options_that_have_an_effect(verb: str, excluded: str) -> None:
    assert excluded not in inspect.signature(getattr(greffe, verb)).parameters


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"base": "greffe-fr", "scratch": True}, "mutually exclusive"),
        ({"base": "greffe-fr", "like": "greffe-fr"}, "--like has no effect"),
        ({}, "no base to fine-tune"),
        ({"scratch": True}, "nothing to fine-tune"),
    ],
)
def test_a_finetuning_needs_one_start(
    choices: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(RecipeError, match=message):
        api.finetune(**choices, data=[("a", "0"), ("b", "1")], out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_report_needs_a_study_or_runs(
    tmp_path: Path, fresh_run: Callable[..., RunDirectory]
) -> None:
    with pytest.raises(RunError, match="neither a study nor a run"):
        api.report(tmp_path)
    with pytest.raises(InputError, match="part of the package"):
        api.report("greffe-fr")
    run = fresh_run("run")
    study = tmp_path / "study"
    study.mkdir()
    (study / "study.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="one study, or about runs"):
        api.report([study, run.path])


def test_a_single_text_gives_one_prediction(tmp_path: Path) -> None:
    table = [(f"{word} {n}", str(n % 2)) for n in range(12) for word in ("une fleur", "un roi")]
    run = api.linear(table, tmp_path / "run")
    assert [one.label in run.labels for one in run.predict("une fleur")] == [True]
    with pytest.raises(InputError, match="reads the whole text"):
        run.predict("une fleur", long="cut")
