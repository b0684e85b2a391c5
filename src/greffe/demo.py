"""The demo: the whole flow on a small text that greffe makes itself. Interrupted, it goes on.

Text → shards → a base that reads both ways → a continued sentence, a filled gap → a classifier with
and without the pretraining, over seeds, beside TF-IDF → predictions.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import mean, stdev
from typing import TypedDict

from greffe.api import Run, finetune, prepare, pretrain
from greffe.data.tables import read_examples
from greffe.data.text import ReadOptions
from greffe.evaluation.baselines import tfidf_accuracy
from greffe.model.parameters import account
from greffe.progress import notice, quiet
from greffe.samples.toy import toy_documents, toy_reviews
from greffe.storage import write_atomic

DOCUMENTS = 8_000
LABELS = 60
TEST_LABELS = 400
SEEDS = (1, 2, 3)
BUDGET = "1500steps"
SENTENCES = (
    "Bonjour les amis, voici un roman magnifique.",
    "L'intrigue est insipide et la fin ridicule.",
    "Je l'ai lu dans le train, ce récit fascine et amuse tout le monde.",
)


class Again(TypedDict, total=False):
    """What happens to runs that are already there."""

    overwrite: bool
    resume: bool


def demo(out: str | Path, *, overwrite: bool = False) -> str:
    """Run everything into the folder `out`, or what is left of it; returns the verdict in words."""
    again: Again = {"overwrite": True} if overwrite else {"resume": True}
    folder = Path(out)
    notice(
        "greffe demo: grow a base on made-up French reviews, graft a classifier onto it, and "
        f"compare with the same from scratch on {LABELS} labels. About two minutes on two cores.\n"
    )
    _write_samples(folder)

    _say("1. Text to shards")
    corpus = prepare(folder / "corpus.txt", folder / "corpus", vocab=1_200, **again)

    _say("2. Pretraining: one set of weights, left to right and masked (objective: hybrid)")
    base = pretrain(
        corpus.path,
        folder / "base",
        recipe="tiny",
        objective="hybrid",
        budget=BUDGET,
        changes=["model.width=96", "model.feed_forward=192", "train.batch=32"],
        **again,
    )
    recipe, manifest = base.recipe(), base.manifest()
    counted = account(recipe.model, manifest.vocab, manifest.heads).base
    _say(f"The base has {counted.counted:,} parameters: {counted.formula}")
    notice(f"   it continues: {base.generate('Bonjour les', tokens=24, seed=3)}")
    gap = "Voici un roman vraiment <mask>."
    words = ", ".join(f"{f.word} ({f.probability:.0%})" for f in base.fill(gap, top=5)[0])
    notice(f"   it fills “{gap}”: {words}")

    _say(f"3. Fine-tuning on {LABELS} labels, pretrained and from scratch, {len(SEEDS)} seeds each")
    options = ReadOptions()
    train = list(read_examples(folder / "train.tsv", options))
    test = list(read_examples(folder / "test.tsv", options))
    scores: dict[str, list[float]] = {"pretrained": [], "from scratch": []}
    best: Run | None = None
    for seed in SEEDS:
        for arm in scores:
            is_scratch = arm == "from scratch"
            with quiet():
                run = finetune(
                    None if is_scratch else base,
                    scratch=is_scratch,
                    like=base if is_scratch else None,
                    data=folder / "train.tsv",
                    valid=folder / "valid.tsv",
                    out=folder / f"{arm.replace(' ', '-')}-{seed}",
                    budget="12epochs",
                    seed=seed,
                    **again,
                )
                scores[arm].append(run.evaluate(test).accuracy)
            notice(f"   seed {seed}, {arm}: {_curve(run)} → test {scores[arm][-1]:.1%}")
            best = best if is_scratch else run
    baseline = tfidf_accuracy(train, test)

    _say("4. Predictions for new sentences")
    assert best is not None
    for text, prediction in zip(SENTENCES, best.predict(SENTENCES), strict=True):
        notice(f"   {prediction.label:<8} {prediction.score:4.0%}  {text}")
    return _verdict(scores, baseline, folder)


def _write_samples(folder: Path) -> None:
    """Unlabelled text and three labelled tables; what is already there stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {
        "train.tsv": (LABELS, 1),
        "valid.tsv": (100, 2),
        "test.tsv": (TEST_LABELS, 3),
    }
    _write_lines(folder / "corpus.txt", toy_documents(DOCUMENTS, seed=0))
    for name, (count, seed) in tables.items():
        lines = (f"{label}\t{text}" for label, text in toy_reviews(count, seed=seed))
        _write_lines(folder / name, lines)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    if not path.exists():
        write_atomic(path, "".join(f"{line}\n" for line in lines).encode())


def _say(text: str) -> None:
    notice(f"\n{text}")


def _curve(run: Run) -> str:
    """Validation accuracy at the first, middle and last epoch."""
    looks = [line["accuracy"] for line in run.metrics() if line["kind"] == "valid"]
    shown = (looks[0], looks[len(looks) // 2], looks[-1])
    return "validation " + " … ".join(f"{value:.0%}" for value in shown)


def _verdict(scores: dict[str, list[float]], baseline: float, folder: Path) -> str:
    gains = [
        100 * (pretrained - scratch)
        for pretrained, scratch in zip(scores["pretrained"], scores["from scratch"], strict=True)
    ]
    arms = "\n".join(
        f"  {arm:<28} {mean(values):.1%} ± {stdev(values):.1%}" for arm, values in scores.items()
    )
    return (
        f"\nAccuracy on {TEST_LABELS} test reviews, {LABELS} labels, {len(SEEDS)} seeds\n{arms}\n"
        f"  {'TF-IDF + logistic regression':<28} {baseline:.1%}\n"
        f"The pretraining was worth {mean(gains):+.1f} points "
        f"({', '.join(f'{gain:+.1f}' for gain in gains)} by seed) over the same from scratch.\n\n"
        "The same with your own files:\n"
        "  greffe pretrain my_texts.txt --objective hybrid --budget 20m --out runs/base\n"
        "  greffe finetune --from runs/base --data my_labels.tsv --out runs/clf\n"
        f"  greffe predict runs/clf --input new_texts.txt      (now: greffe show {folder / 'base'})"
    )
