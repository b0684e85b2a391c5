"""Builders that tests share: estimates, comparisons, arms, studies, run documents, toy runs.

The study has realistic figures, and texts that a page must survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from greffe.data.shard_writer import ShardWriter
from greffe.data.shards import ShardInfo
from greffe.doctor.finding import Finding
from greffe.evaluation.intervals import Estimate
from greffe.evaluation.paired import McNemar
from greffe.inference.language_samples import LanguageSample
from greffe.inference.matrices import Matrix
from greffe.model.diagrams import ADDED_TO_EMBEDDING, DIMENSION, KEY, POSITION, QUERY, Label
from greffe.model.parameters import ParameterRow
from greffe.seeding import rng
from greffe.study.document import (
    Arm,
    ArmPrediction,
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
    Part,
    Probe,
    Repeat,
    Saving,
    StudyDocument,
    TransferProof,
)
from greffe.study.run_document import MetricPoint, RunDocument

if TYPE_CHECKING:
    from greffe.data.tokenizer import Tokenizer
    from greffe.run import RunDirectory

SEEDS = list(range(8))
LABELS = ["négatif", "positif"]
BASE_HASH = "9f7e1c11e20921f186e0b3fb16a08fd17fadcfce3a1e3ad2a3ad708d2c4ecab7"
ARMS: list[tuple[str, float, float]] = [
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


def estimate(mean: float, half: float = 0.01, spread: float = 0.0, seeds: int = 8) -> Estimate:
    """Return values around a mean, with an interval of a given half width."""
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
    """Return one pair of arms."""
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


def study_document() -> StudyDocument:
    """Return a study of six arms and eight seeds in which pretraining helps significantly."""
    return StudyDocument(
        name="livres <CLS> & co",
        data=data_summary(),
        arms=[arm(kind, mean, spread) for kind, mean, spread in ARMS],
        comparisons=[
            comparison("pretrained", "scratch", 0.062, 0.021, p=0.0078, is_significant=True),
            comparison("pretrained", "tfidf", 0.017, 0.022, p=0.11, is_significant=False),
            comparison("stacked", "tfidf", 0.046, 0.014, p=0.0002, is_significant=True),
            comparison("stacked", "pretrained", 0.029, 0.018, p=0.016, is_significant=True),
        ],
        label_curves=label_curves(),
        disagreements=disagreements(),
        parameters={"runs/base": parameter_rows()},
        pictures=pictures(),
        samples=samples(),
        proof=transfer_proof(),
        findings=findings(),
        repeat=Repeat(
            command=["greffe", "compare", "runs/base", "--data", "my reviews.tsv", "--seeds", "8"],
            created="2026-11-16T05:00:00+00:00",
            versions={"python": "3.11.7", "greffe": "0.2.0", "torch": "2.13.0"},
            machine={"processor": "two cores", "threads": 2},
            seeds=SEEDS,
            recipe='name = "small"\n\n[train]\nbudget = "3epochs"\n',
            hashes={"base": BASE_HASH, "data": "ab" * 32},
        ),
    )


def run_documents() -> list[RunDocument]:
    """Return a language model and a classifier fine-tuned from it."""
    steps = range(0, 200, 10)
    base = RunDocument(
        name="runs/base",
        kind="language-model",
        status="finished",
        created="2026-11-16T05:00:00+00:00",
        command=["greffe", "pretrain", "--corpus", "my text.txt"],
        versions={"greffe": "0.2.0"},
        hashes={"initial base": BASE_HASH},
        result={"steps": 250, "loss": 2.3299, "best_step": None},
        loss=[MetricPoint(step=step, value=6 - step / 60) for step in steps],
        valid={
            "loss": [MetricPoint(step=100, value=4.2), MetricPoint(step=200, value=3.1)],
            "rows": [MetricPoint(step=100, value=16), MetricPoint(step=200, value=16)],
        },
        parameters=parameter_rows(),
        pictures=pictures(),
        samples=samples(),
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


# --- parts of a study -----------------------------------------------------------------------------


def data_summary() -> DataSummary:
    """Return three parts, some test texts repeated."""
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


def arm(kind: str, mean: float, spread: float = 0.0, *, name: str | None = None) -> Arm:
    """Return an arm; without a spread it has one seed, as a deterministic arm has."""
    is_trained = kind in ("pretrained", "scratch")
    seeds = SEEDS if spread else [0]
    start = {"pretrained": 0.70, "scratch": 0.56}.get(kind, 0.5)
    right = 973 * mean
    wrong = 973 - right
    return Arm(
        name=name or kind,
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


def label_curves() -> LabelCurves:
    """Return curves of three arms over six numbers of labels."""
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


def disagreements() -> list[Disagreement]:
    """Return texts with marked words, markup, another script and an endless word."""
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
            label="négatif",
            predictions=[
                ArmPrediction(arm="pretrained", label="positif", probability=0.83, words=marked),
                ArmPrediction(arm="scratch", label="négatif", probability=0.61, words=marked),
                ArmPrediction(arm="tfidf", label="négatif", probability=0.58, words=[]),
            ],
        ),
        *(
            Disagreement(
                text=text,
                label="positif",
                predictions=[
                    ArmPrediction(arm="tfidf", label="négatif", probability=0.9, words=[])
                ],
            )
            for text in (NASTY, ARABIC, LONG_WORD)
        ),
    ]


def parameter_rows() -> list[ParameterRow]:
    """Return the parameters of the lab's model."""
    rows = [
        ("embedding", "50,001 × 200", 10_000_200, False),
        ("attention_qkv", "3 × (200 × 200 + 200)", 120_600, False),
        ("all_layers", "4 × 242,000", 968_000, False),
        ("final_norm", "0", 0, False),
        ("base", "10,000,200 + 968,000", 10_968_200, True),
        ("classification_head", "2 × 200 + 2", 402, False),
        ("next_token_head", "50,001", 50_001, False),
        ("base+classification_head", "10,968,200 + 402", 10_968_602, True),
    ]
    return [
        ParameterRow(
            block=block,
            formula=formula,
            closed=count,
            counted=count,
            note="tied" if block == "next_token_head" else "",
            is_total=is_total,
        )
        for block, formula, count, is_total in rows
    ]


def pictures() -> list[Matrix]:
    """Return a causal mask and sinusoidal positions."""
    angles = np.arange(64)[:, None] / 10_000 ** (np.arange(128)[None, :] / 128)
    return [
        Matrix(
            title=Label("causal_mask", "Causal attention mask"),
            meaning=Label("may_attend", "may attend"),
            row_label=QUERY,
            column_label=KEY,
            low=0.0,
            high=1.0,
            is_choice=True,
            values=np.tril(np.ones((16, 16))).tolist(),
        ),
        Matrix(
            title=Label("sinusoidal_positions", "Sinusoidal positions"),
            meaning=ADDED_TO_EMBEDDING,
            row_label=POSITION,
            column_label=DIMENSION,
            low=-1.0,
            high=1.0,
            is_choice=False,
            values=np.round(np.sin(angles), 4).tolist(),
        ),
    ]


def samples() -> list[LanguageSample]:
    """Return a generated text and a filled mask."""
    return [
        LanguageSample(
            run="runs/base",
            kind="generated",
            prompt="Bonjour les",
            text="Bonjour les amis, ce livre est <très> beau & je le relirai.",
        ),
        LanguageSample(
            run="runs/base",
            kind="filled",
            prompt="Ce roman est <mask> et long.",
            text="",
            words=[("beau", 0.41), ("triste", 0.22), ("« drôle »", 0.07)],
        ),
    ]


def transfer_proof() -> TransferProof:
    """Return the proof of a transfer that took place."""
    parts = ["embedding", "block_1", "block_2", "block_3", "block_4", "final_norm"]
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
                moved={"pretrained": 0.02 + 0.02 * number, "scratch": 0.3 + 0.05 * number},
            )
            for number, part in enumerate(parts)
        ],
        probes=[
            Probe(name="pretrained", accuracy=estimate(0.74, 0.02, 0.01, 5)),
            Probe(name="random", accuracy=estimate(0.61, 0.02, 0.01, 5)),
        ],
    )


def findings() -> list[Finding]:
    """Return a note, then something serious."""
    return [
        Finding(
            kind="imbalance",
            severity="note",
            count=1100,
            total=1600,
            where="train",
            example="",
            detail={"label": "positif"},
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


# --- runs -----------------------------------------------------------------------------------------


def toy_run(path: Path, tokenizer: Tokenizer, labels: Sequence[str] = ()) -> RunDirectory:
    """Write a finished run with fresh weights: a causal language model, or a classifier."""
    from greffe.config.recipe import Recipe
    from greffe.model.heads.classification_head import ClassificationHead
    from greffe.model.model import build_model
    from greffe.model.weights import base_hash, save_tensors
    from greffe.run import Manifest, RunDirectory, new_lineage

    changes = ["model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=32"]
    recipe = Recipe().with_changes([*changes, "model.context=32"]).with_vocab(tokenizer.size)
    heads = {"classification": ClassificationHead(classes=len(labels))} if labels else {}
    model = build_model(recipe.model, tokenizer.size, heads, seed=0)
    run = RunDirectory(path)
    run.path.mkdir()
    run.write_recipe(recipe)
    tokenizer.save(run.tokenizer_path)
    run.write_manifest(
        Manifest(
            kind="classifier" if labels else "language-model",
            status="finished",
            vocab=tokenizer.size,
            heads=dict(heads),
            directions=["bidirectional" if labels else "causal"],
            labels=list(labels),
            direction="bidirectional" if labels else None,
            lineage=new_lineage(
                threads=1,
                initial_base=base_hash(model),
                tokenizer=tokenizer.fingerprint,
                data={},
            ),
            weights=save_tensors(run.weights_path, model.state_dict()),
        )
    )
    return run


def write_shard(
    folder: Path, name: str, documents: Sequence[Sequence[int]], dtype: str = "uint16"
) -> ShardInfo:
    """Write one token shard."""
    writer = ShardWriter(folder, name, dtype)
    for ids in documents:
        writer.add(np.array(ids, dtype), np.array([len(ids)]), text_bytes=len(ids))
    return writer.close()
