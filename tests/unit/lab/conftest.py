"""A made-up lab document with round figures: every sentence of the page has its case."""

from __future__ import annotations

import pytest

from greffe.config.recipe_files import load_recipe
from greffe.evaluation.intervals import Estimate
from greffe.evaluation.paired import McNemar
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
from greffe.study.document import (
    Arm,
    ArmKind,
    Comparison,
    Cost,
    DataSummary,
    EpochPoint,
    Matrix,
    Part,
    Repeat,
    StudyDocument,
    TransferProof,
)

SEEDS = [1, 2, 3, 4, 5, 6, 7, 8]
SENTENCE = "Un <roman> & « beau »"


def estimate(mean: float, half: float = 0.01, seeds: int = 8) -> Estimate:
    """A mean between its bounds, the same for all seeds."""
    return Estimate(
        mean=mean, deviation=0.0, low=mean - half, high=mean + half, values=[mean] * seeds
    )


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
            title=title,
            meaning="may look" if is_choice else "added to the embedding",
            row_label="token that reads",
            column_label="token it may look at",
            low=0.0 if is_choice else -1.0,
            high=1.0,
            is_choice=is_choice,
            values=values,
        )

    return [
        matrix("Causal attention mask", [[1, 0], [1, 1]], True),
        matrix("Bidirectional attention mask", [[1, 1], [1, 1]], True),
        matrix("Sinusoidal positions", [[0, 1, 0, 1], [0.84, 0.54, 0.01, 1]], False),
    ]


def _mask_task() -> MaskTask:
    def arm(has_mask: bool, whole: float, past: float, possible: float) -> MaskArm:
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
        arms=[arm(True, 1.37, 1.37, 0.97), arm(False, 0.09, 7.43, 0.23)],
    )


def _order_task() -> OrderTask:
    shares = {
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
            OrderArm(reading=reading, has_positions=has, accuracy=estimate(share, seeds=5))
            for (reading, has), share in shares.items()
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


def _arm(name: str, kind: ArmKind, mean: float) -> Arm:
    is_trained = kind in ("pretrained", "scratch")
    return Arm(
        name=name,
        kind=kind,
        run="runs/base" if is_trained else None,
        seeds=SEEDS,
        accuracy=estimate(mean),
        accuracy_everywhere=None,
        macro_f1=estimate(mean),
        log_loss=estimate(1 - mean),
        calibration_error=estimate(0.05),
        epochs=[
            EpochPoint(epoch=epoch, mean=mean - 0.1 / epoch, low=0.5, high=0.9, values=[mean] * 8)
            for epoch in (1, 2, 3)
        ]
        if is_trained
        else [],
        confusion=[[1.0, 0.0], [0.0, 1.0]],
        calibration=[],
        cost=Cost(
            seconds=3.0,
            tokens=1000 if is_trained else 0,
            memory_bytes=None,
            parameters=100,
            pretraining_seconds=30.0 if kind == "pretrained" else None,
            pretraining_tokens=1_638_400 if kind == "pretrained" else None,
        ),
        initial_base=None,
    )


def _comparison(first: str, second: str, mean: float, is_significant: bool) -> Comparison:
    return Comparison(
        first=first,
        second=second,
        difference=estimate(mean),
        p=0.008,
        p_adjusted=0.008,
        smallest_p=0.0078,
        mcnemar=McNemar(only_first=30, only_second=10, p=0.002),
        smallest_detectable=0.02,
        is_significant=is_significant,
    )


def _study() -> StudyDocument:
    sizes = {"train": 60, "valid": 100, "test": 400}
    return StudyDocument(
        name="study",
        data=DataSummary(
            labels=["négatif", "positif"],
            parts=[
                Part(name=name, source="x.tsv", texts=count, by_label={}, digest="ab")
                for name, count in sizes.items()
            ],
            repeated=0,
            scored=400,
        ),
        arms=[
            _arm("pretrained", "pretrained", 0.82),
            _arm("scratch", "scratch", 0.74),
            _arm("masked", "pretrained", 0.86),
            _arm("majority", "majority", 0.5),
            _arm("tfidf", "tfidf", 0.71),
        ],
        comparisons=[
            _comparison("pretrained", "scratch", 0.08, True),
            _comparison("pretrained", "tfidf", 0.11, True),
            _comparison("masked", "pretrained", 0.04, True),
        ],
        label_curves=None,
        disagreements=[],
        parameters={},
        pictures=[],
        samples=[],
        proof=TransferProof(
            taken=[], new=[], left=[], base_hash="ab", initial_hashes={}, moves=[], probes=[]
        ),
        findings=[],
        repeat=Repeat(
            command=["greffe", "lab"],
            created="2026-11-16",
            versions={},
            machine={},
            seeds=SEEDS,
            recipe="",
            hashes={},
        ),
    )
