"""The demo: what the shipped base is worth on the shipped reviews. An interrupted demo resumes.

The base and its parameters → a continued sentence → some more pretraining on unlabelled reviews →
a study with scratch and TF-IDF → predictions, a verdict and its report.
"""

from __future__ import annotations

from pathlib import Path

from greffe.api import Run, Study, compare, pretrain
from greffe.api.runs import load_run
from greffe.config.options import Computing, Output
from greffe.errors import GreffeError
from greffe.model.parameters import account
from greffe.output_folder import OutputFolder, advise
from greffe.progress import notice
from greffe.run import RUN_FILE
from greffe.samples.reviews import reviews_folder
from greffe.study.document import Arm
from greffe.study.folder import STUDY_FILE

BASE = "greffe-fr"
BASE_FOLDER, STUDY_FOLDER = "base", "study"
SEEDS = 6  # the smallest number with which a difference can be significant
STEPS = 20
PROMPT = "Bonjour les"
MASKED = "Ce roman est vraiment <mask>."
SENTENCES = (
    "Une merveille, je l'ai offert à toute la famille.",
    "Des personnages creux, une fin bâclée : quel ennui.",
    "Je craignais le pire, et pourtant impossible de le refermer avant la fin.",
)
BARS = "▁▂▃▄▅▆▇█"


def demo(out: str | Path, *, overwrite: bool = False, computing: Computing = Computing()) -> str:
    """Run all steps that are not done yet in the folder `out`; return the verdict in words."""
    try:
        return _run_steps(Path(out), overwrite, computing)
    except GreffeError as error:
        advise(error, "by default", overwrite=overwrite)  # the steps know their own commands only
        raise


def _run_steps(folder: Path, overwrite: bool, computing: Computing) -> str:
    device, precision = computing.device, computing.precision
    reviews = reviews_folder()
    for name, marker in ((BASE_FOLDER, RUN_FILE), (STUDY_FOLDER, STUDY_FILE)):
        # Refused now, not after the pretraining.
        OutputFolder(folder / name, markers=(marker,), overwrite=overwrite, resume=not overwrite)
    notice(
        f"greffe demo, one to two minutes: continue to pretrain {BASE}, a small French language "
        "model, on 300 book reviews;\nfine-tune it and the same network from scratch on 500 "
        f"labelled reviews, {SEEDS} times each; compare them on 400 others.\n"
    )

    _heading(f"1. The base: {BASE}")
    _introduce(load_run(BASE, device=device, precision=precision))

    _heading("2. A little more pretraining, on 300 reviews without labels")
    base = pretrain(
        reviews / "unlabelled.txt",
        output=Output(out=folder / BASE_FOLDER, overwrite=overwrite, resume=not overwrite),
        from_=BASE,
        budget=f"{STEPS}steps",
        valid=0.1,
        device=device,
        precision=precision,
        changes=["train.batch=8", "train.lr=5e-4", "train.evaluate_every=50%", "train.keep=last"],
    )
    notice(f"   loss {_loss_bars(base)}")

    _heading(f"3. Fine-tuning on 500 labels, pretrained and from scratch, {SEEDS} seeds each")
    study = compare(
        base,
        data=reviews / "train.tsv",
        valid=reviews / "valid.tsv",
        test=reviews / "test.tsv",
        out=folder / STUDY_FOLDER,
        seeds=SEEDS,
        overwrite=overwrite,
        device=device,
        precision=precision,
    )
    arms = {arm.name: arm for arm in study.results.arms}
    for arm in arms.values():
        notice(f"   {arm.name:<12} {arm.accuracy.mean:6.1%}{_curve(arm)}")

    _heading("4. Predictions for new sentences (1: positive, 0: negative)")
    kept = arms["pretrained"].kept_run
    assert kept is not None
    classifier = load_run(study.path / kept, device=device, precision=precision)
    predictions = classifier.predict(SENTENCES)
    for text, prediction in zip(SENTENCES, predictions, strict=True):
        notice(f"   {prediction.label}  {prediction.score:4.0%}  {text}")
    return _verdict(study)


def _introduce(base: Run) -> None:
    """Print its size, a continuation and a filled mask."""
    manifest = base.manifest()
    counted = account(base.recipe().model, manifest.vocab, manifest.heads).base
    notice(f"   {counted.counted:,} parameters: {counted.formula}")
    notice(f"   it continues: {base.generate(PROMPT, tokens=20, temperature=0.5, seed=1)}")
    words = ", ".join(f"{f.word} ({f.probability:.0%})" for f in base.fill(MASKED, top=5)[0])
    notice(f"   it fills “{MASKED}”: {words}")


def _loss_bars(run: Run) -> str:
    """Return the training loss as a row of bars between its first and last value."""
    losses = [line["loss"] for line in run.metrics() if line.get("kind") == "train"]
    low, high = min(losses), max(losses)
    heights = (round((len(BARS) - 1) * (loss - low) / max(high - low, 1e-9)) for loss in losses)
    return f"{losses[0]:.2f} {''.join(BARS[height] for height in heights)} {losses[-1]:.2f}"


def _heading(text: str) -> None:
    notice(f"\n{text}")


def _curve(arm: Arm) -> str:
    """Return the validation accuracy after the first, middle and last epoch."""
    if not arm.epochs:
        return ""
    shown = (arm.epochs[0], arm.epochs[len(arm.epochs) // 2], arm.epochs[-1])
    return "   validation " + " … ".join(f"{point.mean:.0%}" for point in shown)


def _verdict(study: Study) -> str:
    found = study.verdict_in("en")
    return (
        f"\n{found.headline}\n{' '.join(found.sentences[:2])}\n"
        f"Report: {study.report}\n\n"
        "With your own files:\n"
        f"  greffe pretrain my_texts.txt --from {BASE} --budget 20m --out runs/base\n"
        "  greffe compare runs/base --data my_labels.tsv --out runs/study\n"
        "  greffe finetune --from runs/base --data my_labels.tsv --out runs/clf"
    )
