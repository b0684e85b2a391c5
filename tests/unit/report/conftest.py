"""A made-up study with realistic figures and texts that a page must survive."""

from __future__ import annotations

import numpy as np
import pytest

from greffe.doctor.finding import Finding
from greffe.evaluation.intervals import Estimate
from greffe.evaluation.paired import McNemar
from greffe.seeding import rng
from greffe.study.document import (
    Arm,
    ArmKind,
    CalibrationBin,
    Comparison,
    Cost,
    DataSummary,
    Disagreement,
    EpochPoint,
    Extrapolation,
    LabelCurves,
    LabelPoint,
    LayerMove,
    Marked,
    Matrix,
    ParameterRow,
    Part,
    Probe,
    Reading,
    Repeat,
    Sample,
    Saving,
    StudyDocument,
    TransferProof,
)
from greffe.study.run_document import MetricPoint, RunDocument

SEEDS = list(range(8))
LABELS = ["négatif", "positif"]
BASE_HASH = "9f7e1c11e20921f186e0b3fb16a08fd17fadcfce3a1e3ad2a3ad708d2c4ecab7"
ARMS: list[tuple[ArmKind, float, float]] = [
    ("pretrained", 0.813, 0.010),
    ("scratch", 0.751, 0.014),
    ("frozen", 0.744, 0.004),
    ("majority", 0.503, 0.0),
    ("tfidf", 0.796, 0.0),
    ("stacked", 0.842, 0.0),
]
NASTY = "<script>alert('x')</script> & \"quotes\" | `ticks` *stars*\nnext line"
ARABIC = "هذا الكتاب رائع جدا 👍🏽"
LONG_WORD = "anticonstitutionnellement" * 8


def estimate(mean: float, half: float, spread: float = 0.0, seeds: int = 8) -> Estimate:
    """Values around a mean, with an interval of a given half width."""
    draw = rng(int(mean * 1e6), "made-up values").standard_normal(seeds)
    values = mean + spread * (draw - draw.mean())
    deviation = float(values.std(ddof=1)) if seeds > 1 else None
    return Estimate(
        mean=mean,
        deviation=deviation,
        low=mean - half,
        high=mean + half,
        values=[float(value) for value in values],
    )


def comparison(
    first: str,
    second: str,
    mean: float,
    half: float,
    *,
    p: float,
    seeds: int = 8,
    is_significant: bool,
) -> Comparison:
    """One pair of arms."""
    return Comparison(
        first=first,
        second=second,
        difference=estimate(mean, half, 0.012, seeds),
        p=p,
        p_adjusted=p,
        smallest_p=2 / 2**seeds if seeds > 1 else 1.0,
        mcnemar=McNemar(only_first=181, only_second=76, p=0.0004),
        smallest_detectable=0.025,
        is_significant=is_significant,
    )


@pytest.fixture(scope="session")
def study() -> StudyDocument:
    """Six arms, eight seeds, labels, leaks, findings: pretraining is shown to be worth it."""
    return StudyDocument(
        name="livres <CLS> & co",
        data=_data(),
        arms=[_arm(kind, mean, spread) for kind, mean, spread in ARMS],
        comparisons=[
            comparison("pretrained", "scratch", 0.062, 0.021, p=0.0078, is_significant=True),
            comparison("pretrained", "tfidf", 0.017, 0.022, p=0.11, is_significant=False),
            comparison("stacked", "tfidf", 0.046, 0.014, p=0.0002, is_significant=True),
            comparison("stacked", "pretrained", 0.029, 0.018, p=0.016, is_significant=True),
        ],
        label_curves=_labels(),
        disagreements=_disagreements(),
        parameters={"runs/base": _parameters()},
        pictures=_pictures(),
        samples=_samples(),
        proof=_proof(),
        findings=_findings(),
        repeat=Repeat(
            command=["greffe", "compare", "runs/base", "--data", "my reviews.tsv", "--seeds", "8"],
            created="2026-11-16T05:00:00+00:00",
            versions={"python": "3.11.7", "greffe": "0.1.0", "torch": "2.13.0"},
            machine={"processor": "two cores", "threads": 2},
            seeds=SEEDS,
            recipe='name = "small"\n\n[train]\nbudget = "3epochs"\n',
            hashes={"base": BASE_HASH, "data": "ab" * 32},
        ),
    )


@pytest.fixture(scope="session")
def stacked_runs_study(study: StudyDocument) -> StudyDocument:
    """The same with a teacher, whose arm is best."""
    arm = _arm("stacked+runs", 0.871, 0.0).model_copy(update={"feature_runs": ["runs/teacher"]})
    pairs = [("tfidf", 0.075), ("stacked", 0.029)]
    more = [
        comparison("stacked+runs", name, gain, 0.01, p=0.01, is_significant=True)
        for name, gain in pairs
    ]
    return study.model_copy(
        update={"arms": [*study.arms, arm], "comparisons": [*study.comparisons, *more]}
    )


@pytest.fixture(scope="session")
def ensemble_study(study: StudyDocument) -> StudyDocument:
    """The same with the blend of the base and TF-IDF, which is best."""
    arm = _arm("ensemble", 0.856, 0.008)
    more = comparison("ensemble", "tfidf", 0.06, 0.01, p=0.01, is_significant=True)
    return study.model_copy(
        update={"arms": [*study.arms, arm], "comparisons": [*study.comparisons, more]}
    )


@pytest.fixture(scope="session")
def bare_study(study: StudyDocument) -> StudyDocument:
    """The least that a study has: two arms, nothing to add."""
    plain = {"epochs": [], "calibration": [], "confusion": [], "accuracy_everywhere": None}
    return study.model_copy(
        update={
            "arms": [arm.model_copy(update=plain) for arm in study.arms[:2]],
            "comparisons": study.comparisons[:1],
            "label_curves": None,
            "disagreements": [],
            "parameters": {},
            "pictures": [],
            "samples": [],
            "findings": [],
            "data": study.data.model_copy(update={"repeated": 0}),
            "proof": study.proof.model_copy(update={"moves": [], "probes": []}),
        }
    )


@pytest.fixture(scope="session")
def runs() -> list[RunDocument]:
    """A language model, and a classifier grown from it."""
    steps = range(0, 200, 10)
    base = RunDocument(
        name="runs/base",
        kind="language-model",
        status="finished",
        created="2026-11-16T05:00:00+00:00",
        command=["greffe", "pretrain", "--corpus", "my text.txt"],
        versions={"greffe": "0.1.0"},
        hashes={"initial base": BASE_HASH},
        result={"steps": 250, "loss": 2.3299, "best_step": None},
        loss=[MetricPoint(step=step, value=6 - step / 60) for step in steps],
        valid={
            "loss": [MetricPoint(step=100, value=4.2), MetricPoint(step=200, value=3.1)],
            "rows": [MetricPoint(step=100, value=16), MetricPoint(step=200, value=16)],
        },
        parameters=_parameters(),
        pictures=_pictures(),
        samples=_samples(),
        recipe='name = "tiny"\n',
    )
    tuned = base.model_copy(
        update={
            "name": "runs/<tuned>",
            "kind": "classifier",
            "labels": LABELS,
            "parent": "runs/base",
            "valid": {"accuracy": [MetricPoint(step=100, value=0.8)]},
            "samples": [],
        }
    )
    return [base, tuned]


# --- parts ----------------------------------------------------------------------------------------


def _data() -> DataSummary:
    sizes = {"train": 1600, "valid": 400, "test": 2000}
    return DataSummary(
        labels=LABELS,
        parts=[
            Part(
                name=name,
                source=f"{name}.tsv",
                texts=texts,
                by_label={"négatif": texts // 2, "positif": texts - texts // 2},
                digest="cd" * 32,
            )
            for name, texts in sizes.items()
        ],
        repeated=54,
        scored=1946,
    )


def _arm(kind: ArmKind, mean: float, spread: float) -> Arm:
    is_trained = kind in ("pretrained", "scratch")
    seeds = SEEDS if spread else [0]
    start = {"pretrained": 0.70, "scratch": 0.56}.get(kind, 0.5)
    right = 973 * mean
    wrong = 973 - right
    return Arm(
        name=kind,
        kind=kind,
        run=None if kind in ("majority", "tfidf") else "runs/base",
        seeds=seeds,
        accuracy=estimate(mean, 0.02, spread, len(seeds)),
        accuracy_everywhere=estimate(mean + 0.006, 0.02, spread, len(seeds)),
        macro_f1=estimate(mean - 0.004, 0.01),
        log_loss=estimate(1.1 - mean, 0.02),
        calibration_error=estimate(0.05, 0.01),
        epochs=[
            EpochPoint(
                epoch=epoch,
                mean=(middle := mean - (mean - start) * 0.6**epoch),
                low=middle - 0.015,
                high=middle + 0.015,
                values=[middle - 0.01, middle + 0.01],
            )
            for epoch in range(1, 7)
        ]
        if is_trained
        else [],
        confusion=[[round(right, 1), round(wrong, 1)], [round(wrong, 1), round(right, 1)]],
        calibration=[
            CalibrationBin(confidence=sure, accuracy=0.9 * sure + 0.02, count=int(400 * sure))
            for sure in (0.55, 0.65, 0.75, 0.85, 0.95)
        ]
        if kind != "majority"
        else [],
        cost=Cost(
            seconds=95.4 if is_trained else 3.2,
            tokens=1_240_000 if is_trained else 0,
            memory_bytes=812_000_000 if is_trained else None,
            parameters=10_968_602 if is_trained else 312_004,
            pretraining_seconds=1200.0 if kind == "pretrained" else None,
            pretraining_tokens=48_000_000 if kind == "pretrained" else None,
        ),
        initial_base=BASE_HASH if kind == "pretrained" else None,
    )


def _labels() -> LabelCurves:
    counts = [50, 100, 200, 400, 800, 1600]
    ends = {"pretrained": (0.66, 0.813), "scratch": (0.52, 0.751), "tfidf": (0.60, 0.796)}
    points = [
        LabelPoint(
            arm=arm,
            labels=count,
            accuracy=estimate(low + (high - low) * np.log2(count / 50) / 5, 0.025, 0.01),
        )
        for arm, (low, high) in ends.items()
        for count in counts
    ]
    saving = {"arm": "pretrained", "against": "scratch", "most": 1600}
    return LabelCurves(
        points=points,
        savings=[
            Saving(labels=50, equivalent=420.0, low=260.0, high=640.0, **saving),
            Saving(labels=200, equivalent=812.4, low=500.0, high=1400.0, **saving),
            Saving(labels=800, equivalent=None, low=1300.0, high=None, **saving),
        ],
        extrapolations=[
            Extrapolation(
                arm="pretrained", labels=1600, more=200, gain=0.011, low=0.002, high=0.023
            )
        ],
    )


def _disagreements() -> list[Disagreement]:
    marked = [
        Marked(text="Un <b>roman</b> ", weight=0.2),
        Marked(text="magnifique", weight=1.0),
        Marked(text=", mais ", weight=0.0),
        Marked(text="ennuyeux", weight=-0.7),
        Marked(text=" & long…", weight=-0.1),
    ]
    return [
        Disagreement(
            text="".join(piece.text for piece in marked),
            targets="négatif",
            readings=[
                Reading(arm="pretrained", label="positif", probability=0.83, words=marked),
                Reading(arm="scratch", label="négatif", probability=0.61, words=marked),
                Reading(arm="tfidf", label="négatif", probability=0.58, words=[]),
            ],
        ),
        *(
            Disagreement(
                text=text,
                targets="positif",
                readings=[Reading(arm="tfidf", label="négatif", probability=0.9, words=[])],
            )
            for text in (NASTY, ARABIC, LONG_WORD)
        ),
    ]


def _parameters() -> list[ParameterRow]:
    rows = [
        ("embedding", "50,001 × 200", 10_000_200, False),
        ("attention: query, key, value", "3 × (200 × 200 + 200)", 120_600, False),
        ("all layers", "4 × 242,000", 968_000, False),
        ("final norm", "none", 0, False),
        ("base", "10,000,200 + 968,000", 10_968_200, True),
        ("classification head", "2 × 200 + 2", 402, False),
        ("next-token head", "50,001 (the matrix is the embedding)", 50_001, False),
        ("base + classification head", "10,968,200 + 402", 10_968_602, True),
    ]
    return [
        ParameterRow(block=block, formula=formula, closed=count, counted=count, is_total=is_total)
        for block, formula, count, is_total in rows
    ]


def _pictures() -> list[Matrix]:
    places = np.arange(64)[:, None] / 10_000 ** (np.arange(128)[None, :] / 128)
    return [
        Matrix(
            title="Causal attention mask",
            meaning="may look",
            row_label="token that reads",
            column_label="token it may look at",
            low=0.0,
            high=1.0,
            is_choice=True,
            values=np.tril(np.ones((16, 16))).tolist(),
        ),
        Matrix(
            title="Sinusoidal positions",
            meaning="added to the embedding",
            row_label="position",
            column_label="column of the token's vector",
            low=-1.0,
            high=1.0,
            is_choice=False,
            values=np.round(np.sin(places), 4).tolist(),
        ),
    ]


def _samples() -> list[Sample]:
    return [
        Sample(
            run="runs/base",
            kind="generated",
            prompt="Bonjour les",
            text="Bonjour les amis, ce livre est <très> beau & je le relirai.",
        ),
        Sample(
            run="runs/base",
            kind="filled",
            prompt="Ce roman est <mask> et long.",
            text="",
            words=[("beau", 0.41), ("triste", 0.22), ("« drôle »", 0.07)],
        ),
    ]


def _proof() -> TransferProof:
    parts = ["embedding", "block 1", "block 2", "block 3", "block 4", "final norm"]
    return TransferProof(
        taken=[f"base.blocks.{number}.attention.qkv.weight" for number in range(4)],
        new=["heads.classification.weight", "heads.classification.bias"],
        left=["heads.next_token.bias"],
        base_hash=BASE_HASH,
        initial_hashes={
            "pretrained": [BASE_HASH] * 8,
            "scratch": [f"{seed:02x}" * 32 for seed in SEEDS],
        },
        moves=[
            LayerMove(
                part=part,
                tensors=12,
                moved={"pretrained": 0.02 + 0.02 * place, "scratch": 0.3 + 0.05 * place},
            )
            for place, part in enumerate(parts)
        ],
        probes=[
            Probe(name="pretrained", accuracy=estimate(0.74, 0.02, 0.01, 5)),
            Probe(name="random", accuracy=estimate(0.61, 0.02, 0.01, 5)),
        ],
    )


def _findings() -> list[Finding]:
    return [
        Finding(
            kind="imbalance",
            severity="note",
            count=1100,
            total=1600,
            where="train",
            example="",
            detail={"label": "positif", "share": 0.69},
        ),
        Finding(
            kind="leak",
            severity="serious",
            count=54,
            total=2000,
            where="train and test",
            example=NASTY,
        ),
    ]
