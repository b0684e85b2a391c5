"""Question 1: answers that depend on the intervals; what is drawn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.builders import estimate
from tests.unit.lab.lab_answers import echoed

from greffe.config.spec import Spec
from greffe.lab.attention_sections import (
    attention_section,
    mask_answer,
    mask_section,
    order_answer,
    positions_section,
)
from greffe.lab.lab_document import Attention, LabDocument
from greffe.lab.lab_page import lab_catalog
from greffe.report.blocks import Code, Figure, Prose, SideBySide
from greffe.report.catalog import Catalog
from greffe.report.number_format import Language

ENGLISH = lab_catalog("en")


@pytest.fixture
def clear(document: LabDocument) -> Attention:
    return document.attention


@pytest.fixture
def unclear(clear: Attention) -> Attention:
    """The same with intervals that overlap."""

    def alike(arms: Sequence[Spec], **values: object) -> dict[str, list[Spec]]:
        return {"arms": [arm.model_copy(update=values) for arm in arms]}

    mask, order, chain = clear.mask, clear.order, clear.chain
    changed = {
        "mask": mask.model_copy(update=alike(mask.arms, past_bits=estimate(4.0, 0.5))),
        "order": order.model_copy(update=alike(order.arms, accuracy=estimate(0.6, 0.1))),
        "chain": chain.model_copy(update=alike(chain.arms, bits=estimate(1.0, 0.1))),
    }
    return clear.model_copy(update=changed)


def answers(attention: Attention, language: Language = "en") -> list[str]:
    """The short answers, then those of the sections."""

    def make(catalog: Catalog) -> list[str]:
        chain = positions_section(attention.order, attention.chain, catalog).blocks[-1]
        assert isinstance(chain, Prose)
        return [
            mask_answer(attention.mask, catalog, "lab.answer"),
            order_answer(attention.order, catalog, "lab.answer"),
            mask_answer(attention.mask, catalog, "lab.mask"),
            order_answer(attention.order, catalog, "lab.order"),
            chain.text,
        ]

    return echoed(make, language)


def test_clear_runs_are_called_so(clear: Attention) -> None:
    expected = [
        ("lab.answer.mask ", "past=7.43 bits"),
        ("lab.answer.positions ", "without=50.0%"),
        ("lab.mask.broken ", "blind=4.58 bits"),
        ("lab.order.broken ", "causal_without=97.0%"),
        ("lab.chain.worse ", "without=1.21 bits"),
    ]
    for answer, (ident, number) in zip(answers(clear), expected, strict=True):
        assert answer.startswith(ident) and number in answer


@pytest.mark.parametrize("language", ["en", "fr"])
def test_unclear_runs_claim_nothing(unclear: Attention, language: Language) -> None:
    assert [answer.split()[0] for answer in answers(unclear, language)] == [
        *("lab.answer.mask_unclear", "lab.answer.positions_unclear"),
        *("lab.mask.unclear", "lab.order.unclear", "lab.chain.unclear"),
    ]


def test_masks_are_side_by_side_and_positions_follow(clear: Attention) -> None:
    masks, positions = attention_section(clear, ENGLISH).blocks[1::2]
    assert isinstance(masks, SideBySide) and isinstance(positions, Figure)
    idents = [*(figure.ident for figure in masks.figures), positions.ident]
    assert idents == ["picture-1", "picture-2", "picture-3"]


def test_what_both_models_generate_is_shown(clear: Attention) -> None:
    curves, *_, code = mask_section(clear.mask, ENGLISH).blocks
    assert isinstance(curves, Figure) and isinstance(code, Code)
    assert len(curves.table.rows) == 6
    assert code.text.count("rafo tifu sagi") == 2
