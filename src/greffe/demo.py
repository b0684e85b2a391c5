"""The demo: what a shipped base is worth on shipped reviews. Interrupted, it goes on.

The base and its parameters → a continued sentence → some more pretraining on unlabelled reviews →
a study beside scratch and TF-IDF → predictions, a verdict and its report.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from greffe.api import Run, Study, compare, load, pretrain
from greffe.model.parameters import account
from greffe.progress import notice
from greffe.samples.reviews import reviews_folder
from greffe.study.document import Arm

BASE = "greffe-fr"
SEEDS = 6  # the fewest with which a difference can be shown
STEPS = 20
PROMPT = "Bonjour les"
GAP = "Ce roman est vraiment <mask>."
SENTENCES = (
    "Une merveille, je l'ai offert à toute la famille.",
    "Des personnages creux, une fin bâclée : quel ennui.",
    "Je craignais le pire, et pourtant impossible de le refermer avant la fin.",
)
BARS = "▁▂▃▄▅▆▇█"


class Again(TypedDict, total=False):
    """What happens to runs that are already there."""

    overwrite: bool
    resume: bool


def demo(out: str | Path, *, overwrite: bool = False) -> str:
    """Run everything into the folder `out`, or what is left of it; returns the verdict in words."""
    again: Again = {"overwrite": True} if overwrite else {"resume": True}
    folder = Path(out)
    reviews = reviews_folder()
    notice(
        f"greffe demo, two to three minutes: look at {BASE}, a small French language model; let it "
        "read 300 book reviews;\nthen teach it, and the same network from scratch, 500 labelled "
        f"reviews, {SEEDS} times each, and compare on 400 others.\n"
    )

    _say(f"1. The base: {BASE}")
    _introduce(load(BASE))

    _say("2. A little more pretraining, on 300 reviews without labels")
    base = pretrain(
        reviews / "unlabelled.txt",
        folder / "base",
        from_=BASE,
        budget=f"{STEPS}steps",
        valid=0.1,
        changes=["train.batch=8", "train.lr=5e-4", "train.evaluate_every=50%", "train.keep=last"],
        **again,
    )
    notice(f"   loss {_falling(base)}")

    _say(f"3. Fine-tuning on 500 labels, pretrained and from scratch, {SEEDS} seeds each")
    study = compare(
        base,
        data=reviews / "train.tsv",
        valid=reviews / "valid.tsv",
        test=reviews / "test.tsv",
        out=folder / "study",
        seeds=SEEDS,
        overwrite=overwrite,
    )
    arms = {arm.name: arm for arm in study.found.arms}
    for arm in arms.values():
        notice(f"   {arm.name:<12} {arm.accuracy.mean:6.1%}{_curve(arm)}")

    _say("4. Predictions for new sentences (1: liked it, 0: did not)")
    kept = arms["pretrained"].kept_run
    assert kept is not None
    predictions = load(study.path / kept).predict(SENTENCES)
    for text, prediction in zip(SENTENCES, predictions, strict=True):
        notice(f"   {prediction.label}  {prediction.score:4.0%}  {text}")
    return _verdict(study)


def _introduce(base: Run) -> None:
    """Its size, a continuation and a filled gap."""
    manifest = base.manifest()
    counted = account(base.recipe().model, manifest.vocab, manifest.heads).base
    notice(f"   {counted.counted:,} parameters: {counted.formula}")
    notice(f"   it continues: {base.generate(PROMPT, tokens=20, temperature=0.5, seed=1)}")
    catalog = ", ".join(f"{f.word} ({f.probability:.0%})" for f in base.fill(GAP, top=5)[0])
    notice(f"   it fills “{GAP}”: {catalog}")


def _falling(run: Run) -> str:
    """The training loss as a row of bars between its first and last figure."""
    losses = [line["loss"] for line in run.metrics() if line["kind"] == "train"]
    low, high = min(losses), max(losses)
    heights = (round((len(BARS) - 1) * (loss - low) / max(high - low, 1e-9)) for loss in losses)
    return f"{losses[0]:.2f} {''.join(BARS[height] for height in heights)} {losses[-1]:.2f}"


def _say(text: str) -> None:
    notice(f"\n{text}")


def _curve(arm: Arm) -> str:
    """Validation accuracy at the first, middle and last epoch."""
    if not arm.epochs:
        return ""
    shown = (arm.epochs[0], arm.epochs[len(arm.epochs) // 2], arm.epochs[-1])
    return "   validation " + " … ".join(f"{point.mean:.0%}" for point in shown)


def _verdict(study: Study) -> str:
    found = study.verdict_in("en")
    return (
        f"\n{found.headline}\n{' '.join(found.sentences[:2])}\n"
        f"The whole report: {study.report}\n\n"
        "The same with your own files:\n"
        f"  greffe pretrain my_texts.txt --from {BASE} --budget 20m --out runs/base\n"
        "  greffe compare runs/base --data my_labels.tsv --out runs/study\n"
        "  greffe finetune --from runs/base --data my_labels.tsv --out runs/clf"
    )
