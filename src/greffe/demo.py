"""The demo: when transfer pays, on two data sets that ship. An interrupted demo resumes.

The base and its parameters → some more pretraining on unlabelled reviews → auxiliary labels → a
study of book reviews → a study of short sentences in three registers → predictions and a verdict.
"""

from __future__ import annotations

from pathlib import Path

from greffe.api import Run, Study, compare, finetune, pretrain
from greffe.api.runs import load_run
from greffe.config.options import Computing, Output
from greffe.errors import GreffeError
from greffe.model.parameters import account
from greffe.output_folder import OutputFolder, advise
from greffe.progress import notice
from greffe.run import RUN_FILE
from greffe.samples.registers import registers_folder
from greffe.samples.reviews import reviews_folder
from greffe.study.document import Arm, Comparison
from greffe.study.folder import STUDY_FILE

BASE = "greffe-fr"
BASE_FOLDER, AUXILIARY_FOLDER = "base", "auxiliary"
REVIEWS_FOLDER, REGISTERS_FOLDER = "study", "registers"
SEEDS = 8  # with which differences beside the main one can be significant after correction
STEPS = 20
AUXILIARY_EPOCHS = 1
AUXILIARY_BATCH = 16  # 1,946 texts are few steps with the recipe's 32
AUXILIARY_RATE = 10  # of the embedding; chosen on the training and validation reviews
AUXILIARY_SOUP = 3  # a single training on auxiliary labels varies by a point and a half
REGISTER_STEPS = 80
PROMPT = "Bonjour les"
MASKED = "Ce roman est vraiment <mask>."
SENTENCES = (
    "Une merveille, je l'ai offert à toute la famille.",
    "Des personnages creux, une fin bâclée : quel ennui.",
    "Je craignais le pire, et pourtant impossible de le refermer avant la fin.",
)
REGISTERS = (
    "Nul ne saurait dire quand il reviendra.",
    "Personne ne sait quand il reviendra.",
    "On sait pas trop quand il va se ramener, lui.",
)
WHY_THEY_DIFFER = (
    "Why they differ: the opinion of a long review is in a few telling words, which TF-IDF counts "
    "as well as anyone; it takes labels to learn them, your own or auxiliary ones. The register of "
    "a short sentence is in its grammar and in the company that words keep, which a language model "
    "has learned before it sees a label."
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
    reviews, registers = reviews_folder(), registers_folder()
    for name, marker in (
        (BASE_FOLDER, RUN_FILE),
        (AUXILIARY_FOLDER, RUN_FILE),
        (REVIEWS_FOLDER, STUDY_FILE),
        (REGISTERS_FOLDER, STUDY_FILE),
    ):
        # Refused now, not after the pretraining.
        OutputFolder(folder / name, markers=(marker,), overwrite=overwrite, resume=not overwrite)
    notice(
        f"greffe demo: what is {BASE}, a small French language model, worth? "
        "It takes two minutes or more.\n"
        f"Two tasks, {SEEDS} seeds each: book reviews (500 labels) and short sentences in three "
        f"registers (180 labels).\n"
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

    _heading("3. Auxiliary labels: reviews of films, restaurants, hotels, things")
    auxiliary = finetune(
        base,
        data=reviews / "auxiliary.tsv",
        valid=reviews / "valid.tsv",  # watched only: the last weights are kept
        output=Output(out=folder / AUXILIARY_FOLDER, overwrite=overwrite, resume=not overwrite),
        recipe="intermediate",
        budget=f"{AUXILIARY_EPOCHS}epochs",
        soup=AUXILIARY_SOUP,
        changes=[f"train.batch={AUXILIARY_BATCH}", f"train.embedding_rate={AUXILIARY_RATE}"],
        device=device,
        precision=precision,
    )

    _heading(f"4. Book reviews: 500 labels, with this transfer and from scratch, {SEEDS} seeds")
    of_reviews = compare(
        auxiliary,
        data=reviews / "train.tsv",
        valid=reviews / "valid.tsv",
        test=reviews / "test.tsv",
        aux_data=[reviews / "auxiliary.tsv"],
        out=folder / REVIEWS_FOLDER,
        recipe=BASE,
        seeds=SEEDS,
        overwrite=overwrite,
        device=device,
        precision=precision,
    )
    _show_arms(of_reviews)

    _heading("5. Short sentences: soutenu, courant or familier? 180 labels, no auxiliary ones")
    of_registers = compare(
        BASE,
        data=registers / "train.tsv",
        valid=registers / "valid.tsv",
        test=registers / "test.tsv",
        out=folder / REGISTERS_FOLDER,
        seeds=SEEDS,
        changes=[f"train.least_steps={REGISTER_STEPS}"],
        overwrite=overwrite,
        device=device,
        precision=precision,
    )
    _show_arms(of_registers)

    _heading("6. Predictions for new sentences (1: positive, 0: negative)")
    for study, sentences in ((of_reviews, SENTENCES), (of_registers, REGISTERS)):
        kept = _arms(study)["pretrained"].kept_run
        assert kept is not None
        classifier = load_run(study.path / kept, device=device, precision=precision)
        for text, prediction in zip(sentences, classifier.predict(sentences), strict=True):
            notice(f"   {prediction.label:<8}  {prediction.score:4.0%}  {text}")
    return _verdict(of_reviews, of_registers)


def _arms(study: Study) -> dict[str, Arm]:
    return {arm.name: arm for arm in study.results.arms}


def _show_arms(study: Study) -> None:
    """Print the accuracy of each arm, and its curve over the epochs, the first epoch apart."""
    for arm in study.results.arms:
        notice(f"   {arm.name:<12} {arm.accuracy.mean:6.1%}{_curve(arm)}")


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
    first, middle, last = arm.epochs[0], arm.epochs[len(arm.epochs) // 2], arm.epochs[-1]
    shown = " … ".join(f"{point.mean:.0%}" for point in (middle, last))
    return f"   after the first epoch {first.mean:.0%}, then {shown} (validation)"


def _verdict(of_reviews: Study, of_registers: Study) -> str:
    """Return what both studies found, why they differ, and the commands for own files."""
    reviews, registers = (
        f"{_difference(study, 'pretrained', 'scratch')} {_recommendation(study)}"
        for study in (of_reviews, of_registers)
    )
    why = _explanation(of_reviews, of_registers)
    return f"""
Book reviews: {reviews}
Short sentences: {registers}
{why}Reports, with the accuracy over the epochs: {of_reviews.report}
  and {of_registers.report}

With your own files:
  greffe fit --data my_labels.tsv --unlabelled my_texts.txt --budget 20m --out runs/clf
  greffe pretrain my_texts.txt --from {BASE} --budget 20m --out runs/base
  greffe compare runs/base --data my_labels.tsv --out runs/study"""


def _explanation(of_reviews: Study, of_registers: Study) -> str:
    """Return why the tasks differ, if the base is worth more on the sentences than on reviews."""
    reviews, registers = (
        max(arms["stacked"].accuracy.mean, arms["ensemble"].accuracy.mean)
        - arms["tfidf"].accuracy.mean
        for arms in (_arms(of_reviews), _arms(of_registers))
    )
    return f"{WHY_THEY_DIFFER}\n" if registers > max(reviews, 0.0) else ""


def _comparison(study: Study, first: str, second: str) -> Comparison | None:
    pairs = {(one.first, one.second): one for one in study.results.comparisons}
    return pairs.get((first, second))


def _difference(study: Study, first: str, second: str) -> str:
    """Return the difference of two arms as a sentence."""
    found = _comparison(study, first, second)
    assert found is not None
    arms, mean = _arms(study), found.difference.mean
    significant = "significant" if found.is_significant else "not significant"
    return (
        f"{arms[first].accuracy.mean:.1%} with transfer, {arms[second].accuracy.mean:.1%} from "
        f"scratch: {100 * mean:+.1f} points ({100 * found.difference.low:+.1f} to "
        f"{100 * found.difference.high:+.1f}), {significant}."
    )


def _recommendation(study: Study) -> str:
    """Return the best arm, and how it compares with TF-IDF."""
    arms = _arms(study)
    best = max(arms.values(), key=lambda arm: arm.accuracy.mean)
    if best.name == "tfidf":
        return f"TF-IDF is best: {best.accuracy.mean:.1%}."
    found = next(
        (
            one
            for one in study.results.comparisons
            if (one.first, one.second) == (best.name, "tfidf")
        ),
        None,
    )
    if found is None:
        return f"Recommended: {best.name}, {best.accuracy.mean:.1%}."
    significant = "significant" if found.is_significant else "not significant"
    return (
        f"Recommended: {best.name}, {best.accuracy.mean:.1%}; over TF-IDF "
        f"({arms['tfidf'].accuracy.mean:.1%}) {100 * found.difference.mean:+.1f} "
        f"({100 * found.difference.low:+.1f} to {100 * found.difference.high:+.1f}), {significant}."
    )
