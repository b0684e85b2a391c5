"""Questions 4 and 5: which answer, with which numbers; budgets in words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.builders import estimate
from tests.unit.lab.lab_answers import echoed

from greffe.lab.lab_document import LabDocument
from greffe.lab.lab_page import lab_catalog
from greffe.lab.pretraining_sections import (
    budget_text,
    objectives_answer,
    objectives_section,
    pretraining_answer,
    pretraining_section,
)
from greffe.report.blocks import Figure, Section
from greffe.report.number_format import Language


def answers(document: LabDocument, language: Language = "en") -> list[str]:
    """The answers to both questions."""
    return echoed(
        lambda catalog: [
            pretraining_answer(document.study, catalog),
            objectives_answer(document, catalog),
        ],
        language,
    )


def with_results(document: LabDocument, *numbers: int, **changes: object) -> LabDocument:
    """The document with some comparisons changed."""
    study = document.study
    comparisons = [
        one.model_copy(update=changes) if number in numbers else one
        for number, one in enumerate(study.comparisons)
    ]
    return document.model_copy(
        update={"study": study.model_copy(update={"comparisons": comparisons})}
    )


def test_the_last_answer_names_whoever_was_better(document: LabDocument) -> None:
    lost = with_results(document, 2, difference=estimate(-0.05, 0.02), is_significant=True)
    assert "objectives_significant winner=lab.answer.causal " in answers(lost)[1]
    assert "difference=5.0 points interval=3.0 to 7.0" in answers(lost)[1]
    assert "winner=lab.answer.masked " in answers(document)[1]


def test_the_last_answer_does_not_depend_on_the_order_of_the_pair(document: LabDocument) -> None:
    turned = with_results(
        document, 2, first="pretrained", second="masked", difference=estimate(-0.04)
    )
    assert answers(turned, "fr") == answers(document, "fr")


def test_differences_that_are_not_significant_are_called_so(document: LabDocument) -> None:
    same = with_results(document, 0, 1, 2, difference=estimate(0.004, 0.02), is_significant=False)
    pretraining, objectives = answers(same)
    assert "verdict.not_significant " in pretraining
    assert "lab.answer.objectives_not_significant " in objectives
    assert "difference=+0.4 points interval=−1.6 to +2.4" in objectives


@pytest.mark.parametrize(
    ("make", "name", "arms"),
    [(pretraining_section, "pretraining", 2), (objectives_section, "objectives", 3)],
)
def test_each_question_draws_its_arms(
    document: LabDocument, make: Callable[..., Section], name: str, arms: int
) -> None:
    epochs, test = (
        one for one in make(document, lab_catalog("en")).blocks if isinstance(one, Figure)
    )
    assert (epochs.ident, test.ident) == (f"{name}-epochs", f"{name}-test")
    assert len(epochs.table.rows) == 6 * arms and len(test.table.rows) == arms


def test_budgets_in_words() -> None:
    english, french = lab_catalog("en"), lab_catalog("fr")
    assert budget_text("800steps", english) == english.counted(800, "step")
    assert budget_text("10m", french) == french.duration(600)
    assert budget_text("1epochs", french) == french.counted(1, "epoch")
    assert budget_text("2Mtokens", english) == "2,000,000\u00a0tokens"
