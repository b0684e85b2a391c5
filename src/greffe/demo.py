"""The demo: the whole flow on a small text that greffe makes itself. Interrupted, it goes on.

Text → shards → a base that reads both ways → a continued sentence, a filled gap → a study of what
the pretraining is worth, beside TF-IDF → predictions, a verdict and its report.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

from greffe.api import load, prepare, pretrain
from greffe.model.parameters import account
from greffe.progress import notice
from greffe.samples.toy import toy_documents, toy_reviews
from greffe.storage import write_atomic
from greffe.studies import Study, compare
from greffe.study.document import Arm

DOCUMENTS = 8_000
LABELS = 60
TEST_LABELS = 400
SEEDS = 8
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
        f"compare with the same from scratch on {LABELS} labels. It takes some minutes.\n"
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

    _say(f"3. Fine-tuning on {LABELS} labels, pretrained and from scratch, {SEEDS} seeds each")
    study = compare(
        base,
        data=folder / "train.tsv",
        valid=folder / "valid.tsv",
        test=folder / "test.tsv",
        out=folder / "study",
        seeds=SEEDS,
        budget="12epochs",
        overwrite=overwrite,
    )
    arms = {arm.name: arm for arm in study.found.arms}
    for arm in arms.values():
        notice(f"   {arm.name:<12} {arm.accuracy.mean:6.1%}{_curve(arm)}")

    _say("4. Predictions for new sentences")
    kept = arms["pretrained"].kept_run
    assert kept is not None
    predictions = load(study.path / kept).predict(SENTENCES)
    for text, prediction in zip(SENTENCES, predictions, strict=True):
        notice(f"   {prediction.label:<8} {prediction.score:4.0%}  {text}")
    return _verdict(study, folder)


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


def _curve(arm: Arm) -> str:
    """Validation accuracy at the first, middle and last epoch."""
    if not arm.epochs:
        return ""
    shown = (arm.epochs[0], arm.epochs[len(arm.epochs) // 2], arm.epochs[-1])
    return "   validation " + " … ".join(f"{point.mean:.0%}" for point in shown)


def _verdict(study: Study, folder: Path) -> str:
    found = study.verdict_in("en")
    return (
        f"\n{found.headline}\n{' '.join(found.sentences[:2])}\n"
        f"The whole report: {study.report}\n\n"
        "The same with your own files:\n"
        "  greffe pretrain my_texts.txt --objective hybrid --budget 20m --out runs/base\n"
        "  greffe compare runs/base --data my_labels.tsv --out runs/study\n"
        "  greffe finetune --from runs/base --data my_labels.tsv --out runs/clf\n"
        f"And look inside this one: greffe show {folder / 'base'}"
    )
