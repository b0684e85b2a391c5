"""Train `greffe-fr`, the shipped base: corpus → held-out texts → tokenizer → base → package.

    python -m tools.make_base CORPUS

CORPUS is a folder of `.txt.xz` or `.txt` files with one paragraph per line. Every step keeps its
result in the work folder and is skipped the next time; an interrupted training resumes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from hashlib import md5
from itertools import islice
from pathlib import Path

from greffe import api
from greffe.config.options import Reading
from greffe.config.recipe_files import load_recipe
from greffe.config.sections import TokenizerSpec
from greffe.data.corpus import Corpus
from greffe.data.native_tokenizer import train_tokenizer
from greffe.data.text import find_sources, read_documents
from greffe.data.tokenizer import Tokenizer
from greffe.objectives.causal import Causal
from greffe.objectives.masked import Masked
from greffe.pipelines.corpus_batches import RowSource, evaluate_rows
from greffe.progress import notice
from greffe.storage import write_atomic
from greffe.training.checkpoint import write_half
from greffe.training.distributed import World

NAME = "greffe-fr"
HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "greffe" / "bases" / NAME
HELD_OUT = 100  # one document in 100
KINDS = {
    "novels": ("eltec_fra_novels", "cligs_fr_fiction"),
    "parliament": ("cv_debats-assemblee-nationale",),
    "everyday sentences": ("tatoeba_fr",),
}
"""Kinds of text that bits per byte are measured on, and the files of their held-out documents."""
PARAGRAPHS = ("eltec_fra_novels", "cligs_fr_fiction")
"""Files of consecutive paragraphs, which are joined into documents of MIN_WORDS words or more."""
MIN_WORDS = 150
TOKENIZER_STRIDE = 2  # the tokenizer is trained on every second document
MAX_ROWS = 512
CONTINUED_BUDGET = "6800steps"
CONTINUED = (
    "train.lr=0.0015",
    "train.evaluate_every=400steps",
    "objective.causal_fraction=0.25",
)
"""A second training continues from the recipe's own, with other rows and these changes: more rows
are masked, because fine-tuning reads both ways."""
APOSTROPHE = {"type": "Replace", "pattern": {"String": "’"}, "content": "'"}


def main() -> None:
    """Read the arguments, make the base, write it into the package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path, help="folder of .txt.xz or .txt files")
    parser.add_argument("--work", type=Path, default=Path("runs") / NAME)
    parser.add_argument("--out", type=Path, default=PACKAGE)
    parser.add_argument("--budget", help="instead of the recipe's, such as 20steps for a trial")
    chosen = parser.parse_args()
    make_base(chosen.corpus, chosen.work, chosen.out, chosen.budget)


def make_base(corpus: Path, work: Path, out: Path, budget: str | None = None) -> None:
    """Run all steps that are not done yet."""
    recipe = load_recipe(NAME)
    split(corpus, work)
    tokenizer = make_tokenizer(work, recipe.tokenizer)
    shards = api.prepare(
        work / "train", work / "corpus", tokenizer=tokenizer, valid=0.003, resume=True
    )
    first = api.pretrain(shards.path, work / "first", recipe=recipe, budget=budget, resume=True)
    run = api.pretrain(
        shards.path,
        work / "base",
        from_=first,
        seed=recipe.seed + 1,
        changes=CONTINUED,
        budget=budget or CONTINUED_BUDGET,
        resume=True,
    )
    figures = bits_per_byte(run, work)
    write_half(run, out)
    write_atomic(out / "README.md", model_card(first, run, shards, figures).encode())
    size = sum(path.stat().st_size for path in out.iterdir())
    notice(f"{NAME} written to {out}: {size / 1e6:.1f} MB")


def split(corpus: Path, work: Path) -> None:
    """Write `train/NAME.txt` and `held-out/NAME.txt` for every file, split by the texts' hashes."""
    for source in find_sources([corpus]):
        name = Path(source).name.removesuffix(".xz").removesuffix(".txt")
        parts: dict[str, list[str]] = {"train": [], "held-out": []}
        if all((work / part / f"{name}.txt").exists() for part in parts):
            continue
        lines = read_documents(source, Reading())
        for text in documents(lines, MIN_WORDS if name in PARAGRAPHS else 0):
            is_held_out = int(md5(text.encode()).hexdigest(), 16) % HELD_OUT == 0
            parts["held-out" if is_held_out else "train"].append(text)
        for part, texts in parts.items():
            (work / part).mkdir(parents=True, exist_ok=True)
            write_atomic(work / part / f"{name}.txt", "".join(f"{t}\n" for t in texts).encode())


def documents(lines: Iterable[str], words: int) -> Iterator[str]:
    """Join lines until a document has enough words; make apostrophes straight."""
    pending: list[str] = []
    for line in lines:
        text = line.strip().replace("’", "'")
        if not text:
            continue
        pending.append(text)
        if sum(len(part.split()) for part in pending) >= words:
            yield " ".join(pending)
            pending = []
    if pending:
        yield " ".join(pending)


def make_tokenizer(work: Path, spec: TokenizerSpec) -> Tokenizer:
    """Train a tokenizer that reads typographic apostrophes as straight ones."""
    path = work / "tokenizer.json"
    if not path.exists():
        texts = (
            text
            for source in find_sources([work / "train"])
            for text in islice(read_documents(source, Reading()), 0, None, TOKENIZER_STRIDE)
        )
        # Added after the training, as for the shipped base.
        train_tokenizer(texts, spec).with_character_steps([APOSTROPHE]).save(path)
    return Tokenizer.load(path)


def bits_per_byte(run: api.Run, work: Path) -> dict[str, tuple[float, float]]:
    """Return causal and masked bits per byte for each kind of held-out text."""
    figures = {}
    for kind, names in KINDS.items():
        files = [work / "held-out" / f"{name}.txt" for name in names]
        folder = work / "measured" / kind.replace(" ", "-")
        held_out = api.prepare(files, folder, tokenizer=run.tokenizer, valid=0.0, resume=True)
        causal, masked = (_bits(run, held_out, spec) for spec in (Causal(), Masked()))
        figures[kind] = (causal, masked)
        notice(f"{kind}: {causal:.3f} bits per byte causal, {masked:.3f} masked")
    return figures


def _bits(run: api.Run, held_out: Corpus, spec: Causal | Masked) -> float:
    objective = spec.build(run.tokenizer, tied=run.recipe().model.tied)
    source = RowSource(held_out.train, objective, run.recipe().model.context, seed=0)
    found = evaluate_rows(run.model, objective, source, MAX_ROWS, World())
    return float(found.metrics["bits_per_byte"])


def model_card(
    first: api.Run, run: api.Run, shards: Corpus, figures: dict[str, tuple[float, float]]
) -> str:
    """Fill the figures into `model_card.md`."""
    manifests = [part.manifest() for part in (first, run)]
    rows = "\n".join(
        f"| {kind} | {causal:.2f} | {masked:.2f} |" for kind, (causal, masked) in figures.items()
    )
    greetings = "\n".join(
        f"> {run.generate('Bonjour les', tokens=24, seed=seed)}\n>" for seed in range(3)
    )
    return (
        (HERE / "model_card.md")
        .read_text()
        .format(
            parameters=sum(p.numel() for p in run.model.parameters()),
            vocabulary=run.manifest().vocab,
            corpus_tokens=shards.manifest.tokens / 1e6,
            tokens=sum(manifest.figure("tokens") for manifest in manifests) / 1e6,
            steps=manifests[0].figure("steps"),
            continued_steps=manifests[1].figure("steps"),
            minutes=sum(manifest.figure("seconds") for manifest in manifests) / 60,
            continued="\n".join((f"train.budget={run.recipe().train.budget}", *CONTINUED)),
            threads=run.manifest().lineage.threads,
            rows=rows,
            greetings=greetings,
            recipe=first.recipe().to_toml().strip(),
        )
    )


if __name__ == "__main__":
    main()
