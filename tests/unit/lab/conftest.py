"""A made-up lab document with round figures: every sentence of the page has its case."""

from __future__ import annotations

import pytest
from tests.builders import arm, comparison, estimate, study_document

from greffe.config.recipe_files import load_recipe
from greffe.inference.matrices import Matrix
from greffe.lab.counting import count_parameters
from greffe.lab.lab_document import (
    Attention,
    ChainArm,
    ChainTask,
    CurvePoint,
    Heads,
    HeadShapes,
    LabData,
    LabDocument,
    MaskArm,
    MaskTask,
    NextWords,
    OrderArm,
    OrderTask,
    TwoAnswers,
    Untrained,
)
from greffe.model.diagrams import ADDED_TO_EMBEDDING, KEY, QUERY, Label
from greffe.study.document import StudyDocument

SENTENCE = "Un <roman> & « beau »"


@pytest.fixture(scope="session")
def document() -> LabDocument:
    """What a lab on the sample finds when everything is clear."""
    return LabDocument(
        data=LabData(
            is_sample=True,
            corpus="corpus.txt",
            corpus_is_reviews=False,
            documents=8000,
            budget="800steps",
            recipe="lab",
        ),
        attention=Attention(
            pictures=_pictures(), mask=_mask_task(), order=_order_task(), chain=_chain_task()
        ),
        heads=_heads(),
        counting=count_parameters(load_recipe("lab")),
        study=_study(),
        causal_arm="pretrained",
        masked_arm="masked",
    )


def _pictures() -> list[Matrix]:
    def matrix(title: str, values: list[list[float]], is_choice: bool) -> Matrix:
        return Matrix(
            title=Label(title, title),
            meaning=Label("may_attend", "may attend") if is_choice else ADDED_TO_EMBEDDING,
            row_label=QUERY,
            column_label=KEY,
            low=0.0 if is_choice else -1.0,
            high=1.0,
            is_choice=is_choice,
            values=values,
        )

    return [
        matrix("causal_mask", [[1, 0], [1, 1]], True),
        matrix("bidirectional_mask", [[1, 1], [1, 1]], True),
        matrix("sinusoidal_positions", [[0, 1, 0, 1], [0.84, 0.54, 0.01, 1]], False),
    ]


def _mask_task() -> MaskTask:
    def mask_arm(has_mask: bool, whole: float, past: float, possible: float) -> MaskArm:
        curve = [
            CurvePoint(step=step, mean=whole + 1 / step, low=whole, high=whole + 2 / step)
            for step in (10, 20, 30)
        ]
        return MaskArm(
            has_mask=has_mask,
            curve=curve,
            whole_bits=estimate(whole, seeds=5),
            past_bits=estimate(past, seeds=5),
            possible=estimate(possible, seeds=5),
            written="rafo tifu sagi",
        )

    return MaskTask(
        words=24,
        followers=3,
        best_bits=1.36,
        blind_bits=4.58,
        steps=300,
        seeds=5,
        arms=[mask_arm(True, 1.37, 1.37, 0.97), mask_arm(False, 0.09, 7.43, 0.23)],
    )


def _order_task() -> OrderTask:
    accuracies = {
        ("bidirectional", True): 0.99,
        ("bidirectional", False): 0.5,
        ("causal", True): 0.98,
        ("causal", False): 0.97,
    }
    return OrderTask(
        tokens=12,
        steps=120,
        seeds=5,
        texts=500,
        arms=[
            OrderArm(reading=reading, has_positions=has, accuracy=estimate(accuracy, seeds=5))
            for (reading, has), accuracy in accuracies.items()
        ],
    )


def _chain_task() -> ChainTask:
    return ChainTask(
        words=8,
        best_bits=0.88,
        last_word_bits=2.04,
        blind_bits=3.0,
        steps=300,
        seeds=5,
        arms=[
            ChainArm(has_positions=True, bits=estimate(0.95, seeds=5)),
            ChainArm(has_positions=False, bits=estimate(1.21, seeds=5)),
        ],
    )


def _heads() -> Heads:
    return Heads(
        shapes=HeadShapes(
            recipe="lab",
            tokens=12,
            vocab=50_001,
            classes=2,
            ids=[1, 12],
            hidden=[1, 12, 200],
            next_token_weight=[50_001, 200],
            next_token_scores=[1, 12, 50_001],
            next_token_targets=[1, 11],
            next_token_parameters=10_050_201,
            classification_weight=[2, 200],
            classification_scores=[1, 2],
            classification_targets=[1],
            classification_parameters=402,
        ),
        untrained=Untrained(
            next_token=10.86,
            next_token_guess=10.82,
            classification=0.7,
            classification_guess=0.69,
        ),
        answers=TwoAnswers(
            sentence=SENTENCE,
            pieces=["<sos>", "Un", "roman", "<eos>"],
            next_words=[
                NextWords(piece="<sos>", expected=[("Un", 0.4), ("Le", 0.2)]),
                NextWords(piece="Un", expected=[("roman", 0.6), ("<b>", 0.1)]),
            ],
            classes=[("négatif", 0.08), ("positif", 0.92)],
        ),
    )


def _study() -> StudyDocument:
    """Three transformers and two baselines, every difference significant."""
    arms = [
        arm("pretrained", 0.82, 0.01),
        arm("scratch", 0.74, 0.01),
        arm("pretrained", 0.86, 0.01, name="masked"),
        arm("majority", 0.5),
        arm("tfidf", 0.71),
    ]
    pairs = [
        ("pretrained", "scratch", 0.08),
        ("pretrained", "tfidf", 0.11),
        ("masked", "pretrained", 0.04),
    ]
    comparisons = [
        comparison(first, second, mean, 0.01, p=0.008, is_significant=True)
        for first, second, mean in pairs
    ]
    return study_document().model_copy(update={"arms": arms, "comparisons": comparisons})
